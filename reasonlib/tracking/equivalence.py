"""Code that was shown to compute the same numbers: ``records/equivalent.jsonl``, appended and never edited.

    {"experiment": "story_qa/joint", "before": "9f86d081884c7d65", "after": "60303ae22b998861", ...}

`before` and `after` are fingerprints of one experiment's run function. A record that was made by the code of
one of them counts as made by the other, and so on from line to line. ``tools/same_bits.py`` adds lines after
it has trained both and compared every metric bit for bit.

Records from before fingerprints followed references keep a hash for each of several modules; they are named
in `before` by `key`.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from reasonlib.errors import DataError
from reasonlib.tracking.renames import Renames

__all__ = ["FILE", "RUN", "Equivalence", "Equivalences", "append", "key", "load", "read"]

FILE = "equivalent.jsonl"
RUN = "run"
"""Under this key a record's `code` keeps the fingerprint of its run function."""


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """Two fingerprints of one experiment that stand for the same numbers, and how that is known."""

    experiment: str
    before: str
    after: str
    evidence: str


def key(code: Mapping[str, str], commit: str | None) -> str:
    """Return the name of the code that made a record.

    Its fingerprint; for an older record a hash of the hashes it keeps, and the commit, which says the rest.
    """
    if set(code) == {RUN}:
        return code[RUN]
    digest = sha256(json.dumps(dict(code), sort_keys=True).encode()).hexdigest()[:16]
    return f"{digest}@{(commit or '').partition('+')[0][:12]}"


class Equivalences:
    """Sets of equal fingerprints, for each experiment apart; `same` names each set by one of its members."""

    def __init__(self, lines: list[Equivalence], renames: Renames) -> None:
        self._parents: dict[tuple[str, str], str] = {}
        self._renames = renames
        for line in lines:
            experiment = renames.experiment(line.experiment)
            before, after = self.same(experiment, line.before), self.same(experiment, line.after)
            if before != after:
                self._parents[experiment, before] = after

    def same(self, experiment: str, fingerprint: str) -> str:
        """Return the one fingerprint that stands for all that are equal to this one."""
        experiment = self._renames.experiment(experiment)
        while (experiment, fingerprint) in self._parents:
            fingerprint = self._parents[experiment, fingerprint]
        return fingerprint

    def code(self, experiment: str, code: Mapping[str, str], commit: str | None) -> Mapping[str, str]:
        """Return what a record's `code` reads as; unchanged if nothing is known of it."""
        name = key(code, commit)
        same = self.same(experiment, name)
        return {RUN: same} if same != name else code


def load(folder: Path, renames: Renames) -> Equivalences:
    """Read the equivalences of a folder of records; none if it has no such file.

    Raises
    ------
    DataError
        If a line is not one; names the file and the line.
    """
    file = folder / FILE
    try:
        status = file.stat()
    except OSError:
        return Equivalences([], renames)
    return _load(file, renames, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _load(file: Path, renames: Renames, mtime: int, size: int) -> Equivalences:
    return Equivalences(read(file), renames)


def append(folder: Path, line: Equivalence) -> Path:
    """Append a line to the file of a folder of records, and return the file."""
    file = folder / FILE
    text = json.dumps(asdict(line), ensure_ascii=False) + "\n"
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)
    return file


def read(file: Path) -> list[Equivalence]:
    """Read the lines of a file."""
    lines = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
            if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
                raise ValueError("it must be an object of texts")
            lines.append(Equivalence(**values))
        except (ValueError, TypeError) as error:
            raise DataError(f"{file}:{number}: not an equivalence: {error}; restore it from git") from error
    return lines
