"""The registry: corpora pinned by address, size and checksum, which topics list."""

import importlib
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from urllib.parse import unquote, urlsplit

import reasonlib
from reasonlib.errors import UserError

__all__ = ["ARCHIVES", "Corpus", "corpora", "find", "stays_inside"]

ARCHIVES = (".tar.gz", ".tgz", ".tar.xz", ".zip")


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """One released archive of real data, pinned.

    Attributes
    ----------
    name
        Small letters, digits, ``_`` and ``-``, for the command line.
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
            "folder": () if self.folder == "." else (self.folder,),
            "aliases": self.aliases,
            "files": self.files,
        }
        for label, path in ((label, path) for label, those in paths.items() for path in those):
            if not stays_inside(path):
                raise ValueError(f"{label} must be a relative path with / between its parts, got {path!r}")

    @property
    def archive(self) -> str:
        """File name of the archive, the last part of `url`."""
        return PurePosixPath(unquote(urlsplit(self.url).path)).name


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
    registry: dict[str, Corpus] = {}
    for root in map(Path, reasonlib.__path__):
        for claims in sorted(root.glob("*/claims.yaml")):
            module = f"reasonlib.{claims.parent.name}.data.corpus"
            if not (claims.parent / "data" / "corpus.py").is_file():
                continue
            for name, corpus in getattr(importlib.import_module(module), "CORPORA", {}).items():
                if name != corpus.name:
                    raise ValueError(f"{module}: corpus {corpus.name!r} is filed under {name!r}")
                if registry.get(name, corpus) != corpus:
                    raise ValueError(f"{module}: another topic has a different corpus {name!r}")
                registry[name] = corpus
    return registry


def find(name: str) -> Corpus:
    """Give the corpus of that name.

    Raises
    ------
    UserError
        If no topic has it; the message lists the names there are.
    """
    registry = corpora()
    if name not in registry:
        raise UserError(f"corpus must be one of {', '.join(sorted(registry)) or '(none)'}, got {name!r}")
    return registry[name]


def stays_inside(path: str) -> bool:
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
