"""Fetching a corpus from its address."""

import os
import sys
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from reasonlib.data.archives import one_line
from reasonlib.data.cache import install, locate, workplace
from reasonlib.data.checks import damage, differences
from reasonlib.data.places import by_hand, cache_folder, source_of
from reasonlib.data.registry import Corpus
from reasonlib.errors import DataError

__all__ = ["fetch"]

TIMEOUT = 30  # seconds without a byte before a server counts as silent


def fetch(
    corpus: Corpus, *, cache: str | os.PathLike[str] | None = None, progress: bool | None = None
) -> Path:
    """Bring a corpus to this machine, unless it is here whole, and give the folder with its files.

    The archive is downloaded with `pooch`, its size and SHA-256 are compared with the registered ones, and it
    is unpacked; only then does it enter the cache, in one step. After an error the cache is what it was.

    Parameters
    ----------
    corpus, cache
        As for `locate`.
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
    if source is not None and not damage(corpus, source.path, deep=True):
        return source.path
    if corpus.sha256 is None:
        raise DataError(
            f"{corpus.name}: no checksum is registered, so a download cannot be trusted; {by_hand(corpus)}"
        )
    root = cache_folder(cache)
    failures = []
    with workplace(root) as work:
        archive = work / corpus.archive
        for url in (corpus.url, *corpus.mirrors):
            try:
                _download(corpus, url, archive, sys.stderr.isatty() if progress is None else progress)
            except DataError as error:
                failures.append(str(error))
                continue
            if problems := differences(corpus, archive, label=url):
                failures += problems
                continue
            return install(corpus, archive, corpus.sha256, root, work, label=url)
        raise DataError(f"{', '.join(failures)}; try again later, or {by_hand(corpus)}")


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
            reason = f"cannot be downloaded ({one_line(error)})"
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
