"""Unpacking archives: nothing leaves its folder, no link is followed on the disk, and sizes are bounded."""

import errno
import hashlib
import lzma
import posixpath
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from reasonlib.data.registry import stays_inside
from reasonlib.errors import DataError

__all__ = ["RATIO", "UNPACKED", "one_line", "unpack", "what_is_wrong"]

BLOCK = 1 << 20  # bytes read at a time
UNPACKED = 1 << 30  # bytes that any archive may hold
RATIO = 100  # times its own size, that a larger one may


def unpack(archive: Path, into: Path, label: str) -> dict[str, dict[str, Any]]:
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
            f"{label}: cannot be unpacked ({one_line(error)}); the archive is broken, get it again"
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
    if plain != "." and not stays_inside(plain):
        subject = f"link {link!r} to {name!r}" if link else f"member {name!r}"
        raise DataError(f"{label}: {subject} would leave its folder; do not use this archive")
    return plain


def one_line(error: BaseException) -> str:
    """Return what an error says in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def what_is_wrong(path: Path, error: BaseException) -> str:
    """Return in one line why NumPy could not read an archive of arrays.

    NumPy takes what is no archive for a pickle or for one array, and its versions say so in different words.
    """
    if isinstance(error, OSError) or zipfile.is_zipfile(path):
        return one_line(error)
    return "not an archive of arrays"
