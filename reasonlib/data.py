"""Real corpora: where they come from, and how they are downloaded, verified and cached.

::

    REASONLIB_DATA/<archive> or <folder> --+
                                           +--> locate --> folder of text files --> a topic's `corpus` reader
    url --fetch: size, SHA-256--> cache ---+

Every topic lists its corpora as ``CORPORA`` in its ``corpus`` module; `corpora` finds them all. Nothing is
downloaded unless `fetch` is called.

The cache holds one folder for each archive, ``<name>-<start of its SHA-256>``, with the unpacked files and a
manifest that lists the size and SHA-256 of each. The folder is filled beside its place and then renamed:
whatever goes wrong, and however many processes fetch at once, a reader finds the whole corpus or nothing.
``REASONLIB_CACHE`` puts the cache elsewhere.
"""

import contextlib
import errno
import hashlib
import importlib
import importlib.util
import json
import lzma
import os
import posixpath
import re
import shutil
import stat
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any, Literal
from urllib.parse import unquote, urlsplit

import reasonlib
from reasonlib.errors import DataError, UserError

__all__ = [
    "Corpus",
    "DataError",
    "Source",
    "Verification",
    "corpora",
    "fetch",
    "find",
    "locate",
    "source_of",
    "verify",
    "version",
    "version_if_here",
]

ARCHIVES = (".tar.gz", ".tgz", ".tar.xz", ".zip")
MANIFEST = ".manifest.json"
TIMEOUT = 30  # seconds without a byte before a server counts as silent
BLOCK = 1 << 20  # bytes read at a time
UNPACKED = 1 << 30  # bytes that any archive may hold
RATIO = 100  # times its own size, that a larger one may

Manifest = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """One released archive of real data, pinned.

    Attributes
    ----------
    name
        What the command line calls it: small letters, digits, ``_`` and ``-``.
    url
        Address of the archive: a ``.tar.gz``, ``.tgz``, ``.tar.xz`` or ``.zip`` over http or https.
    sha256
        Checksum of the archive in hexadecimal; ``None`` where none could be verified: then `fetch` refuses.
    size
        Bytes of the archive; ``None`` only where `sha256` is ``None``.
    licence
        Of the data.
    citation
        Key of the work in the book's bibliography.
    folder
        Folder inside the archive that holds the files, with ``/`` between its parts; ``.`` for its top.
    aliases
        What else the unpacked folder may be called in ``REASONLIB_DATA``.
    files
        Files that a reader cannot do without, relative to `folder`.
    others
        Further files of the release that a reader uses where they are there, relative to `folder`.
    mirrors
        Other addresses of the same bytes, tried in order when `url` fails.

    Raises
    ------
    ValueError
        If an attribute breaks its rule.
    """

    name: str
    url: str
    sha256: str | None
    size: int | None
    licence: str
    citation: str
    folder: str
    aliases: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    mirrors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", self.name):
            raise ValueError(f"name must be small letters, digits, _ and -, got {self.name!r}")
        for url in (self.url, *self.mirrors):
            if urlsplit(url).scheme not in ("http", "https"):
                raise ValueError(f"url must start with http:// or https://, got {url!r}")
        if not self.archive.endswith(ARCHIVES):
            raise ValueError(f"url must end in one of {', '.join(ARCHIVES)}, got {self.url!r}")
        if self.sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", self.sha256):
            raise ValueError(f"sha256 must be 64 small hexadecimal digits or None, got {self.sha256!r}")
        if self.size is None and self.sha256 is not None:
            raise ValueError("size must be given beside sha256, got None")
        if self.size is not None and self.size < 1:
            raise ValueError(f"size must be at least 1 byte, got {self.size}")
        paths = {
            "folder": (self.folder,) * (self.folder != "."),
            "aliases": self.aliases,
            "files": self.files,
        }
        for label, path in ((label, path) for label, those in paths.items() for path in those):
            if not _inside(path):
                raise ValueError(f"{label} must be a relative path with / between its parts, got {path!r}")

    @property
    def archive(self) -> str:
        """File name of the archive, the last part of `url`."""
        return PurePosixPath(unquote(urlsplit(self.url).path)).name


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


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What `verify` found.

    Attributes
    ----------
    corpus
        Name of the corpus.
    source
        Where it lies.
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


# The registry


def corpora() -> dict[str, Corpus]:
    """Collect the corpora of every topic.

    A topic is a subpackage with a ``claims.yaml``; its ``corpus`` module, if it has one, is imported here.

    Returns
    -------
    dict
        Corpora by name, topics in alphabetical order.

    Raises
    ------
    ValueError
        If two topics use one name, or an entry is filed under another name than its own.
    """
    found: dict[str, Corpus] = {}
    for root in map(Path, reasonlib.__path__):
        for claims in sorted(root.glob("*/claims.yaml")):
            module = f"reasonlib.{claims.parent.name}.data.corpus"
            if not (claims.parent / "data" / "corpus.py").is_file():
                continue
            for name, corpus in getattr(importlib.import_module(module), "CORPORA", {}).items():
                if name != corpus.name:
                    raise ValueError(f"{module}: corpus {corpus.name!r} is filed under {name!r}")
                if found.get(name, corpus) != corpus:
                    raise ValueError(f"{module}: another topic has a different corpus {name!r}")
                found[name] = corpus
    return found


def find(name: str) -> Corpus:
    """Give the corpus of that name.

    Raises
    ------
    UserError
        If no topic has it; the message lists the names there are.
    """
    known = corpora()
    if name not in known:
        raise UserError(f"corpus must be one of {', '.join(sorted(known)) or '(none)'}, got {name!r}")
    return known[name]


# On this machine


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
    data = _data_folder()
    if data is not None:
        for name in (corpus.folder, *corpus.aliases):
            if name != "." and (data / name).is_dir():
                return Source(kind="folder", path=data / name)
        if (data / corpus.archive).is_file():
            return Source(kind="archive", path=data / corpus.archive)
    if corpus.sha256 is not None:
        entry = _entry(corpus, _cache_folder(cache), corpus.sha256)
        if entry.is_dir():
            return Source(kind="cache", path=entry / corpus.folder)
    return None


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
        raise DataError(_absent(corpus))
    if source.kind == "folder":
        _refuse(_missing(corpus, source.path), f"unpack {corpus.archive} there again")
        return source.path
    if source.kind == "archive":
        return _from_archive(corpus, source.path, _cache_folder(cache))
    _refuse(_damage(corpus, source.path, deep=False), f"run `reasonlib data fetch {corpus.name}`")
    return source.path


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
        raise DataError(_absent(corpus))
    problems: Sequence[str]
    absent: list[str] = []
    if source.kind == "folder":
        checked = f"{len(corpus.files)} required files are present (an unpacked folder has no checksum)"
        problems = _missing(corpus, source.path)
        absent = [file for file in corpus.others if not (source.path / file).is_file()]
    elif source.kind == "archive":
        pinned = corpus.sha256 is not None
        checked = "size and SHA-256 of the archive" if pinned else "nothing: no checksum is registered"
        problems = _differences(corpus, source.path)
    else:
        checked = "size and SHA-256 of every unpacked file"
        problems = _damage(corpus, source.path, deep=True)
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
        total.update(f"{_digest(root / path)} {path.as_posix()}\n".encode())
    return total.hexdigest()[:12]


def version_if_here(corpus: Corpus) -> str | None:
    """Name the content of a corpus as `version` does; None where it is not on this machine."""
    try:
        return version(locate(corpus))
    except DataError:
        return None


# From elsewhere


def fetch(
    corpus: Corpus, *, cache: str | os.PathLike[str] | None = None, progress: bool | None = None
) -> Path:
    """Bring a corpus to this machine, unless it is here whole, and give the folder with its files.

    The archive is downloaded with `pooch`, its size and SHA-256 are compared with the registered ones, and it
    is unpacked; only then does it enter the cache, in one step. After an error the cache is what it was.

    Parameters
    ----------
    corpus
        Entry of the registry.
    cache
        Folder of the cache; by default ``REASONLIB_CACHE`` or the user's own cache folder.
    progress
        Whether to draw a progress bar on standard error; by default if that is a terminal.

    Raises
    ------
    DataError
        If the archive is not available, is not the registered one, or cannot be unpacked or stored.
    """
    source = source_of(corpus, cache=cache)
    if source is not None and source.kind != "cache":
        return locate(corpus, cache=cache)
    if source is not None and not _damage(corpus, source.path, deep=True):
        return source.path
    if corpus.sha256 is None:
        raise DataError(
            f"{corpus.name}: no checksum is registered, so a download cannot be trusted; {_by_hand(corpus)}"
        )
    root = _cache_folder(cache)
    failures = []
    with _workplace(root) as work:
        archive = work / corpus.archive
        for url in (corpus.url, *corpus.mirrors):
            try:
                _download(corpus, url, archive, sys.stderr.isatty() if progress is None else progress)
            except DataError as error:
                failures.append(str(error))
                continue
            if problems := _differences(corpus, archive, label=url):
                failures += problems
                continue
            return _install(corpus, archive, corpus.sha256, root, work, label=url)
        raise DataError(f"{', '.join(failures)}; try again later, or {_by_hand(corpus)}")


def _download(corpus: Corpus, url: str, archive: Path, progress: bool) -> None:
    """Write what the server sends to a file, as far as the registered size."""
    import pooch
    from requests import exceptions
    from tqdm import tqdm

    assert corpus.size is not None
    host = urlsplit(url).netloc
    with (
        open(archive, "wb") as file,
        tqdm(total=corpus.size, desc=corpus.name, unit="B", unit_scale=True, disable=not progress) as bar,
    ):
        capped = _Capped(file, corpus.size)
        download = pooch.HTTPDownloader(
            progressbar=bar if progress else False,
            chunk_size=1 << 16,
            timeout=TIMEOUT,
            headers={"Accept-Encoding": "identity"},  # archives stay packed on the way
        )
        try:
            download(url, capped, None)
        except _TooLongError:
            reason = f"the server sends more than the registered {corpus.size} bytes"
        except exceptions.HTTPError as error:
            answer = error.response
            reason = "the server refuses" if answer is None else f"the server answers {answer.status_code}"
        except exceptions.SSLError:
            reason = f"{host} does not prove who it is"
        except exceptions.Timeout:
            reason = f"{host} is silent for {TIMEOUT} s"
        except exceptions.ConnectionError:
            reason = "the download broke off" if capped.written else f"cannot reach {host}"
        except exceptions.ChunkedEncodingError:
            reason = f"the download broke off before all {corpus.size} bytes were here"
        except exceptions.RequestException as error:
            reason = f"cannot be downloaded ({_one_line(error)})"
        else:
            return
    raise DataError(f"{url}: {reason}")


class _TooLongError(Exception):
    """The server sends more bytes than were registered."""


class _Capped:
    """A file that accepts at most `most` bytes."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self.file, self.most, self.written = file, most, 0

    def write(self, block: bytes) -> int:
        self.written += len(block)
        if self.written > self.most:
            raise _TooLongError
        return self.file.write(block)

    def flush(self) -> None:
        self.file.flush()


# Into the cache


def _from_archive(corpus: Corpus, archive: Path, root: Path) -> Path:
    """Unpack an archive the user has put into ``REASONLIB_DATA``, unless its content is in the cache."""
    remedy = f"replace it with {corpus.url}"
    _refuse(_differences(corpus, archive), remedy)
    checksum = corpus.sha256 or _digest(archive)
    folder = _entry(corpus, root, checksum) / corpus.folder
    if folder.is_dir() and not _damage(corpus, folder, deep=False):
        return folder
    with _workplace(root) as work:
        return _install(corpus, archive, checksum, root, work, label=str(archive))


def _install(corpus: Corpus, archive: Path, checksum: str, root: Path, work: Path, label: str) -> Path:
    """Unpack into `work`, then rename into place; another process may have been faster."""
    made = work / "entry"
    made.mkdir()
    files = _unpack(archive, made, label)
    remedy = "report it: the registry is wrong" if corpus.sha256 else f"get it again from {corpus.url}"
    _refuse(_missing(corpus, made / corpus.folder, label), remedy)
    manifest = {
        "corpus": corpus.name,
        "archive": corpus.archive,
        "sha256": checksum,
        "licence": corpus.licence,
        "files": files,
    }
    (made / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    entry = _entry(corpus, root, checksum)
    folder = entry / corpus.folder
    if entry.exists() and _damage(corpus, folder, deep=True):
        with contextlib.suppress(FileNotFoundError):  # another process took it away
            entry.rename(work / "damaged")
    try:
        made.rename(entry)
    except OSError:
        if not entry.exists() and (work / "damaged").exists():
            (work / "damaged").rename(entry)
        if _damage(corpus, folder, deep=True):
            raise
    return folder


@contextlib.contextmanager
def _workplace(root: Path) -> Iterator[Path]:
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


def _unpack(archive: Path, into: Path, label: str) -> dict[str, dict[str, Any]]:
    """Write every file of an archive below `into` and list their sizes and checksums."""
    files: dict[str, dict[str, Any]] = {}
    members = _zip_members if archive.name.endswith(".zip") else _tar_members
    most, total = max(UNPACKED, RATIO * archive.stat().st_size), 0
    try:
        for name, stream in members(archive, label):
            target = into.joinpath(*PurePosixPath(name).parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            checksum, size = hashlib.sha256(), 0
            with stream, open(target, "wb") as file:
                while block := stream.read(BLOCK):
                    checksum.update(block)
                    size += len(block)
                    total += len(block)
                    if total > most:
                        raise DataError(
                            f"{label}: holds more than {most} bytes, which no corpus of its size does"
                        )
                    file.write(block)
            files[name] = {"size": size, "sha256": checksum.hexdigest()}
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        OSError,
        RuntimeError,
        UnicodeError,
    ) as error:
        # A broken stream has no error number, a broken offset is an invalid argument; the rest is the disk.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise DataError(
            f"{label}: cannot be unpacked ({_one_line(error)}); the archive is broken, get it again"
        ) from error
    return files


def _tar_members(archive: Path, label: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Give the files of a tar archive; a link is followed inside the archive, never on the disk."""
    with tarfile.open(archive, mode="r:*") as tar:
        for member in tar:
            name = _safe(member.name, label)
            if member.isdir():
                continue
            if member.issym() or member.islnk():
                start = posixpath.dirname(name) if member.issym() else ""
                _safe(posixpath.normpath(posixpath.join(start, member.linkname)), label, link=name)
            elif not member.isreg():
                raise DataError(
                    f"{label}: member {name!r} is neither file nor folder; do not use this archive"
                )
            try:
                stream = tar.extractfile(member)
            except (KeyError, RecursionError):
                stream = None
            if stream is None:
                raise DataError(
                    f"{label}: link {name!r} leads to no file of the archive; do not use this archive"
                )
            yield name, stream
        # A tar may end before its compressed stream does; reading on makes the stream check itself.
        while tar.fileobj is not None and tar.fileobj.read(BLOCK):
            pass


def _zip_members(archive: Path, label: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Give the files of a zip archive."""
    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.infolist():
            name = _safe(member.filename, label)
            if member.is_dir():
                continue
            if stat.S_ISLNK(member.external_attr >> 16):
                raise DataError(f"{label}: member {name!r} is a link; do not use this archive")
            yield name, zipped.open(member)


def _safe(name: str, label: str, link: str | None = None) -> str:
    """Give the plain form of a member's path, which must stay below the folder it is unpacked into."""
    plain = posixpath.normpath(name)
    if plain != "." and not _inside(plain):
        what = f"link {link!r} to {name!r}" if link else f"member {name!r}"
        raise DataError(f"{label}: {what} would leave its folder; do not use this archive")
    return plain


def _inside(path: str) -> bool:
    """Whether a path is relative, in plain form, and stays below where it starts, on every system."""
    windows = PureWindowsPath(path)
    return (
        path not in ("", ".")
        and posixpath.normpath(path) == path
        and not path.startswith("/")
        and ".." not in path.split("/")
        and "\\" not in path
        and not (windows.drive or windows.root)
    )


# Comparing


def _missing(corpus: Corpus, folder: Path, label: str | None = None) -> list[str]:
    """List the required files that are not there."""
    where = f"{label}: " if label else ""
    if not folder.is_dir():
        return [f"{where}{corpus.folder if label else folder}: no such folder"]
    shown = corpus.folder if label else folder
    return [f"{where}{shown}/{file}: missing" for file in corpus.files if not (folder / file).is_file()]


def _differences(corpus: Corpus, archive: Path, label: str | None = None) -> list[str]:
    """Compare an archive with its registered size and checksum."""
    name = label or archive
    size = archive.stat().st_size
    if corpus.size is not None and size != corpus.size:
        return [f"{name}: {size} bytes, but {corpus.size} are registered"]
    if corpus.sha256 is not None and (checksum := _digest(archive)) != corpus.sha256:
        return [f"{name}: SHA-256 {checksum[:12]}..., but {corpus.sha256[:12]}... is registered"]
    return []


def _damage(corpus: Corpus, folder: Path, *, deep: bool) -> list[str]:
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
        elif (found := path.stat().st_size) != size:
            problems.append(f"{path}: {found} bytes, but {size} were unpacked")
        elif deep and _digest(path) != checksum:
            problems.append(f"{path}: changed since it was unpacked")
    return problems or _missing(corpus, folder)


def _refuse(problems: Sequence[str], remedy: str) -> None:
    """Raise the first problem, and how many more there are."""
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise DataError(f"{problems[0]}{more}; {remedy}")


def _digest(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); make it readable for you") from error


# Places and words


def _cache_folder(cache: str | os.PathLike[str] | None) -> Path:
    chosen = cache or os.environ.get("REASONLIB_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import pooch

    return Path(pooch.os_cache("reasonlib"))


def _data_folder() -> Path | None:
    chosen = os.environ.get("REASONLIB_DATA")
    if not chosen:
        return None
    folder = Path(chosen).expanduser().absolute()
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; set REASONLIB_DATA to one that exists, or unset it")
    return folder


def _entry(corpus: Corpus, root: Path, checksum: str) -> Path:
    return root / f"{corpus.name}-{checksum[:16]}"


def _absent(corpus: Corpus) -> str:
    data = _data_folder()
    looked = f" ({data} holds neither {corpus.archive} nor {_unpacked(corpus)}/)" if data else ""
    fetching = f"run `reasonlib data fetch {corpus.name}`, or " if corpus.sha256 else ""
    return f"{corpus.name}: not on this machine{looked}; {fetching}{_by_hand(corpus)}"


def _unpacked(corpus: Corpus) -> str:
    """Name the folder that may lie in ``REASONLIB_DATA``."""
    return next((name for name in (corpus.folder, *corpus.aliases) if name != "."), corpus.name)


def _by_hand(corpus: Corpus) -> str:
    return (
        f"put {corpus.archive} or {_unpacked(corpus)}/ (from {corpus.url}) into a folder "
        "and set REASONLIB_DATA to that folder"
    )


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
