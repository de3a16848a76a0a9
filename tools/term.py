"""Freeze the assignments of a term, so that a class works with one edition however the book goes on.

    python tools/term.py freeze 2026-autumn               # tag the commit: term-2026-autumn
    python tools/term.py write 2026-autumn [--to FOLDER]  # assignments and teacher's edition of that tag

The notebooks that ``write`` leaves in FOLDER/assignments fetch the library of the tag on Colab.
FOLDER/TERM.json names the tag and its commit. Nothing in the working tree is touched.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from address import BRANCH
from chapters import BUILD, ROOT

NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,40}")
PARTS = ("assignments", "teaching")


class TermError(Exception):
    """What stops it, in one line."""


def git(*arguments: str, root: Path = ROOT) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise TermError(f"git {arguments[0]}: {lines[-1] if lines else 'failed'}")
    return done.stdout


def tag_of(term: str) -> str:
    """The tag of a term.

    Raises
    ------
    TermError
        If the name is none that a tag can have.
    """
    if not NAME.fullmatch(term) or ".." in term or term.endswith((".", ".lock")):
        raise TermError(
            f"a term is small letters, digits, dots and dashes, such as 2026-autumn; got {term!r}"
        )
    return f"term-{term}"


def exists(tag: str, root: Path = ROOT) -> bool:
    return bool(git("tag", "--list", tag, root=root).strip())


def freeze(term: str, root: Path = ROOT) -> str:
    """Tag the present commit; return the tag.

    Raises
    ------
    TermError
        If the term is frozen already, or files are not committed.
    """
    tag = tag_of(term)
    if exists(tag, root):
        raise TermError(f"{tag} exists: a frozen term does not change; take another name")
    if changed := git("status", "--porcelain", "--untracked-files=no", root=root).decode().splitlines():
        raise TermError(
            f"{len(changed)} files are not committed, {changed[0][3:]} first; commit them, then freeze"
        )
    git("tag", "--annotate", "--message", f"Assignments of {term}", tag, root=root)
    return tag


def write(term: str, folder: Path, root: Path = ROOT) -> list[Path]:
    """Write assignments and teacher's edition as they were; return the notebooks.

    Raises
    ------
    TermError
        If the term was never frozen, or the folder has another one.
    """
    tag = tag_of(term)
    if not exists(tag, root):
        raise TermError(f"there is no tag {tag}; freeze the term first, or fetch the tags (git fetch --tags)")
    commit = git("rev-parse", f"{tag}^{{commit}}", root=root).decode().strip()
    note = folder / "TERM.json"
    if folder.is_dir() and any(folder.iterdir()):
        kept = json.loads(note.read_text(encoding="utf-8")) if note.is_file() else {}
        if kept.get("commit") != commit:
            raise TermError(f"{folder} holds something else; name an empty folder")
    archive = io.BytesIO(git("archive", "--format=tar", commit, *PARTS, root=root))
    with tarfile.open(fileobj=archive) as tar:
        tar.extractall(folder, filter="data")
    notebooks = sorted((folder / "assignments").rglob("*.ipynb"))
    for path in notebooks:
        text = path.read_text(encoding="utf-8")
        path.write_text(
            text.replace(f"/archive/refs/heads/{BRANCH}.zip", f"/archive/refs/tags/{tag}.zip"),
            encoding="utf-8",
        )
    note.write_text(
        json.dumps({"term": term, "tag": tag, "commit": commit}, indent=1) + "\n", encoding="utf-8"
    )
    return notebooks


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("freeze", "write"))
    parser.add_argument("term")
    parser.add_argument("--to", type=Path)
    given = parser.parse_args()
    try:
        if given.what == "freeze":
            print(f"{freeze(given.term)}: publish it with git push origin {tag_of(given.term)}")
        else:
            folder = given.to or BUILD / "terms" / given.term
            print(f"{len(write(given.term, folder))} assignments of {tag_of(given.term)} in {folder}")
    except TermError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
