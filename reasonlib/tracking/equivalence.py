"""Code that was shown to compute the same numbers: ``records/equivalent.jsonl``, appended and never edited.

    {"experiment": "story_qa/joint", "before": "9f86d081884c7d65", "after": "60303ae22b998861", ...}

`before` and `after` are fingerprints of one experiment's run function. A record that was made by the code of
one of them counts as made by the other, and so on from line to line. ``tools/same_bits.py`` adds lines after
it has trained both and compared every metric bit for bit. Rows that were meant to change are named in `but`:
for these the line says nothing, and their records stay stale until they are measured again.

Records from before fingerprints followed references keep a hash for each of several modules; they are named
in `before` by `key`.
"""

import json
import os
from collections import defaultdict
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
    but: str = ""  # rows that it does not speak of, with commas between them

    @property
    def left_out(self) -> list[str]:
        """Rows that it does not speak of."""
        return self.but.split(", ") if self.but else []


def key(code: Mapping[str, str], commit: str | None) -> str:
    """Return the name of the code that made a record.

    Its fingerprint; for an older record a hash of the hashes it keeps, and the commit, which says the rest.
    """
    if set(code) == {RUN}:
        return code[RUN]
    digest = sha256(json.dumps(dict(code), sort_keys=True).encode()).hexdigest()[:16]
    return f"{digest}@{(commit or '').partition('+')[0][:12]}"


class Equivalences:
    """Sets of equal fingerprints, for each row of an experiment; `same` names each by one of its members."""

    def __init__(self, lines: list[Equivalence], renames: Renames) -> None:
        self._renames = renames
        self._lines: dict[str, list[Equivalence]] = defaultdict(list)
        self._parents: dict[tuple[str, str], dict[str, str]] = {}
        for line in lines:
            self._lines[renames.experiment(line.experiment)].append(line)

    def same(self, experiment: str, row: str, fingerprint: str) -> str:
        """Return the one fingerprint that stands for all that are equal to this one, for a row."""
        experiment = self._renames.experiment(experiment)
        if (experiment, row) not in self._parents:
            parents = self._parents[experiment, row] = {}
            for line in self._lines[experiment]:
                before, after = _last(parents, line.before), _last(parents, line.after)
                if before != after and row not in [
                    self._renames.row(experiment, row_name) for row_name in line.left_out
                ]:
                    parents[before] = after
        return _last(self._parents[experiment, row], fingerprint)

    def code(
        self, experiment: str, row: str, code: Mapping[str, str], commit: str | None
    ) -> Mapping[str, str]:
        """Return what a record's `code` reads as; unchanged if nothing is known of it."""
        name = key(code, commit)
        same = self.same(experiment, row, name)
        return {RUN: same} if same != name else code


def _last(parents: Mapping[str, str], fingerprint: str) -> str:
    while fingerprint in parents:
        fingerprint = parents[fingerprint]
    return fingerprint


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
    text = (
        json.dumps({name: value for name, value in asdict(line).items() if value}, ensure_ascii=False) + "\n"
    )
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
