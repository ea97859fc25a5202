"""What the documentation site adds to this folder: other files of the repository, and the list of public names."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
PAGES = {"README.md": "index.md"}
"""Files of the repository that have another name on the site."""
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s#]+)")
PUBLIC = re.compile(r"^from ([\w.]+) import \w+ as (\w+)$", re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add what pages link to outside of this folder, beginning with the project's own pages."""
    added = [
        ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")
    ]
    own = [Path(file.abs_src_path) for file in files.documentation_pages() if file.abs_src_path]
    waiting = [*added, *own]
    for page in waiting:
        for target in _linked_files(page):
            if not target.is_relative_to(config["docs_dir"]) and target not in added:
                added.append(target)
                waiting.append(target)
    for path in added:
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, PAGES.get(name, name), abs_src_path=str(path)))
    files.append(File.generated(config, "api.md", content=_public_names()))
    return files


def _linked_files(page: Path) -> list[Path]:
    if page.suffix != ".md":
        return []
    targets = [(page.parent / link).resolve() for link in LINK.findall(page.read_text(encoding="utf-8"))]
    return [target for target in targets if target.is_file()]


def on_page_markdown(markdown: str, page: Any, **more: Any) -> str:
    """Links as they are on the site, where this folder is the root."""
    source = Path(page.file.abs_src_path or ROOT / "docs" / page.file.src_uri)

    def moved(match: re.Match[str]) -> str:
        target = (source.parent / match[1]).resolve()
        if not target.is_relative_to(ROOT) or not target.exists():
            return match[1]
        name = target.relative_to(ROOT).as_posix()
        place = PAGES.get(name, name.removeprefix("docs/"))
        return "../" * page.file.src_uri.count("/") + place

    return LINK.sub(moved, markdown)


def _public_names() -> str:
    """One section for each package, with the signature and the description of each of its public names."""
    by_home = defaultdict(list)
    for home, name in PUBLIC.findall((ROOT / "src/tightrope/__init__.pyi").read_text(encoding="utf-8")):
        by_home[home.split(".")[1]].append(f"::: {home}.{name}")
    sections = (f"## {home}\n\n" + "\n\n".join(names) for home, names in sorted(by_home.items()))
    return "# Public names\n\nAll of these are names of `tightrope`: `import tightrope as tr`.\n\n" + "\n\n".join(
        sections
    )
