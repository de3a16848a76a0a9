"""Where a corpus may lie on this machine, and what to say where it does not."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reasonlib.data.registry import Corpus
from reasonlib.errors import DataError

__all__ = ["Source", "absence", "by_hand", "cache_folder", "data_folder", "entry_of", "source_of"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a corpus lies on this machine.

    Attributes
    ----------
    kind
        ``"folder"`` or ``"archive"`` in ``REASONLIB_DATA``, or ``"cache"``.
    path
        The folder with the files, or the archive.
    """

    kind: Literal["folder", "archive", "cache"]
    path: Path


def source_of(corpus: Corpus, *, cache: str | os.PathLike[str] | None = None) -> Source | None:
    """Say where a corpus lies, without opening or writing anything.

    ``REASONLIB_DATA`` comes before the cache, and in it an unpacked folder before an archive.

    Returns
    -------
    Source or None
        ``None`` if the corpus is not on this machine.

    Raises
    ------
    DataError
        If ``REASONLIB_DATA`` names no folder.
    """
    data = data_folder()
    if data is not None:
        for name in (corpus.folder, *corpus.aliases):
            if name != "." and (data / name).is_dir():
                return Source(kind="folder", path=data / name)
        if (data / corpus.archive).is_file():
            return Source(kind="archive", path=data / corpus.archive)
    if corpus.sha256 is not None:
        entry = entry_of(corpus, cache_folder(cache), corpus.sha256)
        if entry.is_dir():
            return Source(kind="cache", path=entry / corpus.folder)
    return None


def cache_folder(cache: str | os.PathLike[str] | None) -> Path:
    """Return the folder of the cache: the given one, ``REASONLIB_CACHE``, or the user's own."""
    chosen = cache or os.environ.get("REASONLIB_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import pooch

    return Path(pooch.os_cache("reasonlib"))


def data_folder() -> Path | None:
    """Return the folder that ``REASONLIB_DATA`` names, if it names one."""
    chosen = os.environ.get("REASONLIB_DATA")
    if not chosen:
        return None
    folder = Path(chosen).expanduser().absolute()
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; set REASONLIB_DATA to one that exists, or unset it")
    return folder


def entry_of(corpus: Corpus, root: Path, checksum: str) -> Path:
    """Return the folder of an archive in the cache."""
    return root / f"{corpus.name}-{checksum[:16]}"


def absence(corpus: Corpus) -> str:
    """Say that a corpus is not on this machine, where it was looked for, and how to get it."""
    data = data_folder()
    searched = f" ({data} holds neither {corpus.archive} nor {_unpacked(corpus)}/)" if data else ""
    fetching = f"run `reasonlib data fetch {corpus.name}`, or " if corpus.sha256 else ""
    return f"{corpus.name}: not on this machine{searched}; {fetching}{by_hand(corpus)}"


def by_hand(corpus: Corpus) -> str:
    """Say how to put a corpus on this machine without `fetch`."""
    return (
        f"put {corpus.archive} or {_unpacked(corpus)}/ (from {corpus.url}) into a folder "
        "and set REASONLIB_DATA to that folder"
    )


def _unpacked(corpus: Corpus) -> str:
    """Name the folder that may lie in ``REASONLIB_DATA``."""
    return next((name for name in (corpus.folder, *corpus.aliases) if name != "."), corpus.name)
