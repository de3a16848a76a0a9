"""Try every link that leads outside, and say which do not answer.

Reads the README, the chapters and the bibliography; needs the network, so it is no part of `make test`.
"""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATTERN = re.compile(r"https?://[^\s<>\"'`)\]}|]+")
AGENT = {"User-Agent": "Mozilla/5.0 (link check of an open book)"}
TIMEOUT = 20  # seconds


def links(root: Path = ROOT) -> dict[str, list[str]]:
    """Address -> the files that name it."""
    files_by_url: dict[str, list[str]] = {}
    paths = [
        *root.glob("*.md"),
        *root.glob("book/**/*.md"),
        root / "book" / "references.bib",
        *root.glob("reasonlib/**/*.py"),
    ]
    for path in paths:
        for url in PATTERN.findall(path.read_text(encoding="utf-8")):
            if "..." not in url and "127.0.0.1" not in url and "OWNER" not in url:
                files_by_url.setdefault(url.rstrip(".,;:"), []).append(str(path.relative_to(root)))
    return files_by_url


def problem(url: str) -> str | None:
    """Why an address does not answer; None if it does."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=AGENT), timeout=TIMEOUT):
            return None
    except urllib.error.HTTPError as error:
        return (
            None if error.code in (403, 405, 429) else f"answers {error.code}"
        )  # alive, but shy of programs
    except (OSError, ValueError) as error:
        return str(error)


def main() -> int:
    files_by_url = links()
    with ThreadPoolExecutor(8) as pool:
        problems = dict(zip(files_by_url, pool.map(problem, files_by_url), strict=True))
    for url, why in problems.items():
        if why:
            print(f"{url}: {why} (in {', '.join(sorted(set(files_by_url[url])))})")
    dead = sum(why is not None for why in problems.values())
    print(f"{len(files_by_url)} links, {dead} dead")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
