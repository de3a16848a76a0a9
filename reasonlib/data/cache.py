"""Locating a corpus, and putting archives into the cache: the whole corpus or nothing."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reasonlib.data.archives import unpack
from reasonlib.data.checks import MANIFEST, damage, differences, digest, missing, refuse, version
from reasonlib.data.places import absence, cache_folder, entry_of, source_of
from reasonlib.data.registry import Corpus
from reasonlib.errors import DataError

__all__ = ["install", "locate", "version_if_here", "workplace"]


def locate(corpus: Corpus, *, cache: str | os.PathLike[str] | None = None) -> Path:
    """Give the folder with the files of a corpus that is on this machine.

    An archive in ``REASONLIB_DATA`` is checked and unpacked into the cache; its folder there is the answer.
    An unpacked folder is taken as it is, provided that it holds ``corpus.files``.

    Parameters
    ----------
    corpus
        Entry of the registry.
    cache
        Folder of the cache; by default ``REASONLIB_CACHE`` or the user's own cache folder.

    Raises
    ------
    DataError
        If the corpus is not here or not whole; the message names the file and what to do.
    """
    source = source_of(corpus, cache=cache)
    if source is None:
        raise DataError(absence(corpus))
    if source.kind == "folder":
        refuse(missing(corpus, source.path), f"unpack {corpus.archive} there again")
        return source.path
    if source.kind == "archive":
        return _from_archive(corpus, source.path, cache_folder(cache))
    refuse(damage(corpus, source.path, deep=False), f"run `reasonlib data fetch {corpus.name}`")
    return source.path


def version_if_here(corpus: Corpus) -> str | None:
    """Name the content of a corpus as `version` does; None where it is not on this machine."""
    try:
        return version(locate(corpus))
    except DataError:
        return None


def _from_archive(corpus: Corpus, archive: Path, root: Path) -> Path:
    """Unpack an archive the user has put into ``REASONLIB_DATA``, unless its content is in the cache."""
    remedy = f"replace it with {corpus.url}"
    refuse(differences(corpus, archive), remedy)
    checksum = corpus.sha256 or digest(archive)
    folder = entry_of(corpus, root, checksum) / corpus.folder
    if folder.is_dir() and not damage(corpus, folder, deep=False):
        return folder
    with workplace(root) as work:
        return install(corpus, archive, checksum, root, work, label=str(archive))


def install(corpus: Corpus, archive: Path, checksum: str, root: Path, work: Path, label: str) -> Path:
    """Unpack into `work`, then rename into place; another process may have been faster."""
    staged = work / "entry"
    staged.mkdir()
    files = unpack(archive, staged, label)
    remedy = "report it: the registry is wrong" if corpus.sha256 else f"get it again from {corpus.url}"
    refuse(missing(corpus, staged / corpus.folder, label), remedy)
    manifest = {
        "corpus": corpus.name,
        "archive": corpus.archive,
        "sha256": checksum,
        "licence": corpus.licence,
        "files": files,
    }
    (staged / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    entry = entry_of(corpus, root, checksum)
    folder = entry / corpus.folder
    if entry.exists() and damage(corpus, folder, deep=True):
        with contextlib.suppress(FileNotFoundError):  # another process took it away
            entry.rename(work / "damaged")
    try:
        staged.rename(entry)
    except OSError:
        if not entry.exists() and (work / "damaged").exists():
            (work / "damaged").rename(entry)
        if damage(corpus, folder, deep=True):
            raise
    return folder


@contextlib.contextmanager
def workplace(root: Path) -> Iterator[Path]:
    """Give an empty folder in the cache, gone afterwards; a failure also removes a cache made for it."""
    created = [path for path in (root, *root.parents) if not path.exists()]
    try:
        try:
            root.mkdir(parents=True, exist_ok=True)
            work = Path(tempfile.mkdtemp(prefix=".part-", dir=root))
        except OSError as error:
            raise DataError(
                f"{root}: cannot write to the cache ({error.strerror or error}); "
                "set REASONLIB_CACHE to a folder you can write to"
            ) from error
        try:
            yield work
        except OSError as error:
            raise DataError(
                f"{error.filename or root}: cannot be written ({error.strerror or error}); "
                "make room, or set REASONLIB_CACHE to another folder"
            ) from error
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except BaseException:
        for path in created:
            with contextlib.suppress(OSError):
                path.rmdir()  # only if empty: another process may use it by now
        raise
