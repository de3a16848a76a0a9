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

from reasonlib.data.cache import locate, version_if_here
from reasonlib.data.checks import Verification, verify, version
from reasonlib.data.download import fetch
from reasonlib.data.places import Source, source_of
from reasonlib.data.registry import Corpus, corpora, find
from reasonlib.errors import DataError

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
