"""Comparing what is on this machine with what was released."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from reasonlib.data.places import Source, absence, source_of
from reasonlib.data.registry import Corpus
from reasonlib.errors import DataError

__all__ = [
    "MANIFEST",
    "Verification",
    "damage",
    "differences",
    "digest",
    "missing",
    "refuse",
    "verify",
    "version",
]

MANIFEST = ".manifest.json"

Manifest = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What `verify` found.

    Attributes
    ----------
    corpus, source
        Its name in the registry, and the archive, unpacked folder or cache that was checked.
    checked
        What was compared, in words.
    problems
        One line for each difference; empty if there is none.
    absent
        Files of the release that an unpacked folder lacks without being worse for it (`Corpus.others`).
    """

    corpus: str
    source: Source
    checked: str
    problems: tuple[str, ...]
    absent: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.problems


def verify(corpus: Corpus, *, cache: str | os.PathLike[str] | None = None) -> Verification:
    """Compare what is on this machine with what was released, byte for byte where that is known.

    Files in the cache are compared with the manifest written when the verified archive was unpacked; an
    archive with its registered size and SHA-256; an unpacked folder can only be searched for missing files,
    of which those that a reader can do without are named but are no difference.

    Raises
    ------
    DataError
        If the corpus is not on this machine.
    """
    source = source_of(corpus, cache=cache)
    if source is None:
        raise DataError(absence(corpus))
    problems: Sequence[str]
    absent: list[str] = []
    if source.kind == "folder":
        checked = f"{len(corpus.files)} required files are present (an unpacked folder has no checksum)"
        problems = missing(corpus, source.path)
        absent = [file for file in corpus.others if not (source.path / file).is_file()]
    elif source.kind == "archive":
        pinned = corpus.sha256 is not None
        checked = "size and SHA-256 of the archive" if pinned else "nothing: no checksum is registered"
        problems = differences(corpus, source.path)
    else:
        checked = "size and SHA-256 of every unpacked file"
        problems = damage(corpus, source.path, deep=True)
    return Verification(
        corpus=corpus.name, source=source, checked=checked, problems=tuple(problems), absent=tuple(absent)
    )


def version(folder: str | os.PathLike[str]) -> str:
    """Name the exact content of an unpacked corpus, for a record.

    Returns
    -------
    str
        First 12 hexadecimal digits of a SHA-256 over the paths and bytes of all files, hidden ones left out.
        Equal content gives the same version wherever it lies.

    Raises
    ------
    DataError
        If the folder is absent or holds no file.
    """
    root = Path(folder)
    total = hashlib.sha256()
    files = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
    files = [path for path in files if not any(part.startswith(".") for part in path.parts)]
    if not files:
        raise DataError(f"{root}: holds no files; locate or fetch the corpus first")
    for path in sorted(files, key=PurePosixPath):
        total.update(f"{digest(root / path)} {path.as_posix()}\n".encode())
    return total.hexdigest()[:12]


def missing(corpus: Corpus, folder: Path, label: str | None = None) -> list[str]:
    """List the required files that are not there."""
    prefix = f"{label}: " if label else ""
    if not folder.is_dir():
        return [f"{prefix}{corpus.folder if label else folder}: no such folder"]
    shown = corpus.folder if label else folder
    return [f"{prefix}{shown}/{file}: missing" for file in corpus.files if not (folder / file).is_file()]


def differences(corpus: Corpus, archive: Path, label: str | None = None) -> list[str]:
    """Compare an archive with its registered size and checksum."""
    name = label or archive
    size = archive.stat().st_size
    if corpus.size is not None and size != corpus.size:
        return [f"{name}: {size} bytes, but {corpus.size} are registered"]
    if corpus.sha256 is not None and (checksum := digest(archive)) != corpus.sha256:
        return [f"{name}: SHA-256 {checksum[:12]}..., but {corpus.sha256[:12]}... is registered"]
    return []


def damage(corpus: Corpus, folder: Path, *, deep: bool) -> list[str]:
    """Compare a folder in the cache with its manifest: presence and sizes, and checksums if `deep`."""
    entry = folder
    for _ in PurePosixPath(corpus.folder).parts:
        entry = entry.parent
    try:
        listed: Manifest = json.loads((entry / MANIFEST).read_text(encoding="utf-8"))
        files = {
            str(name): (int(file["size"]), str(file["sha256"])) for name, file in listed["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [f"{entry / MANIFEST}: missing or broken"]
    problems = []
    for name, (size, checksum) in files.items():
        path = entry / name
        if not path.is_file():
            problems.append(f"{path}: missing")
        elif (actual := path.stat().st_size) != size:
            problems.append(f"{path}: {actual} bytes, but {size} were unpacked")
        elif deep and digest(path) != checksum:
            problems.append(f"{path}: changed since it was unpacked")
    return problems or missing(corpus, folder)


def refuse(problems: Sequence[str], remedy: str) -> None:
    """Raise the first problem, and how many more there are."""
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise DataError(f"{problems[0]}{more}; {remedy}")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); make it readable for you") from error
