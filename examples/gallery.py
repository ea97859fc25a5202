"""Regenerates the gallery of the documentation: one report for each campaign file in ``examples/gallery``."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import tightrope as tr

HERE = Path(__file__).parent


def say(progress: tr.Progress) -> None:
    if progress.finished == progress.total:
        print(f"  {progress.stage}: {progress.note}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/gallery"), help="where the run folders go")
    parser.add_argument("--copy-to", type=Path, help="also copy each report here, as NAME.html")
    parser.add_argument("names", nargs="*", help="which ones; default: all")
    options = parser.parse_args()
    for file in sorted((HERE / "gallery").glob("*.yaml")):
        if options.names and file.stem not in options.names:
            continue
        print(file.stem, flush=True)
        # As it is given from the repository's root: a report is read elsewhere than it was made.
        command = f"tightrope run {file.relative_to(HERE.parent)}"
        run = tr.run_campaign(tr.load_config(file), options.out / file.stem, on_progress=say, command=command)
        if options.copy_to is not None:
            options.copy_to.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(run.report_path, options.copy_to / f"{file.stem}.html")
        print(f"  report: {run.report_path}")


if __name__ == "__main__":
    main()
