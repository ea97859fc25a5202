"""Says before the tests start what will be skipped here, and how to get it."""

from __future__ import annotations

import shutil


def main() -> None:
    if not any(shutil.which(browser) for browser in ("chromium", "google-chrome", "chromium-browser")):
        print(
            "No Chromium found: the browser tests of the report are skipped. "
            "Install it (Debian, Ubuntu: apt-get install chromium) and run `make test` again."
        )


if __name__ == "__main__":
    main()
