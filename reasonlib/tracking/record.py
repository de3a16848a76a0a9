"""One measured run, and what must be in it: a line of JSON to a `Record` and back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

__all__ = ["ENDINGS", "KINDS", "OLD_KINDS", "SCALES", "Data", "Record", "Steps"]

SCALES = ("smoke", "quick", "paper")
KINDS = ("released", "regenerated", "mixed", "stand-in")
"""Of data: the source's own files; made by its published procedure, agreement in distribution tested; partly
the one and partly ours; ours in place of data that is not available, or invented inputs."""
OLD_KINDS = {"real": "released", "simulated": "stand-in"}  # as records before November 2026 say it
ENDINGS = ("finished", "early", "minutes")


@dataclass(frozen=True, kw_only=True)
class Data:
    """The examples a run saw: their name, one of `KINDS`, and their version where one is known.

    What counts is the kind that the experiment declares today, see `groups`: the bytes are the version's
    business.
    """

    name: str
    kind: str
    version: str | None = None


@dataclass(frozen=True, kw_only=True)
class Steps:
    """How far a run came.

    Attributes
    ----------
    done, planned
        Optimiser steps, or whatever unit the experiment counts in.
    stopped
        ``finished``, ``early`` (validation stopped improving) or ``minutes`` (the budget was spent).
    """

    done: int
    planned: int
    stopped: str = "finished"

    @property
    def complete(self) -> bool:
        """Whether the run ended by itself and not because its time was up."""
        return self.stopped != "minutes"


@dataclass(frozen=True, kw_only=True)
class Record:
    """One measured run.

    Attributes
    ----------
    experiment, row, scale, seed
        What was run; `experiment` is ``topic/word``.
    data
        On which examples.
    metrics
        Name to value; None where the value was not a finite number.
    config
        The settings of the row and the scale, merged, as JSON values.
    steps
        How far it came.
    seconds
        Wall clock of training and measuring, over all sessions of a run that was resumed. It includes what
        stages took that another row had trained, which ``details["shared_seconds"]`` names.
    device
        ``cpu (...)`` or ``cuda (name of the card)``.
    versions
        Of Python, this package and the libraries that make the number.
    commit
        Git commit of the code, with ``+dirty`` where the package had uncommitted changes; None outside git.
    code
        ``{"run": fingerprint}``, of all library code that the run function can reach; see
        `reasonlib.tracking.fingerprint`. Older records kept a hash for each of some modules.
    when
        UTC time at the end of the run, ISO 8601.
    details
        Anything else an experiment wants to keep, as JSON values.
    location
        ``records/<topic>/<word>.jsonl:<line>`` once read from a file; not written.
    """

    experiment: str
    row: str
    scale: str
    seed: int
    data: Data
    metrics: Mapping[str, float | None]
    config: Mapping[str, Any]
    steps: Steps
    seconds: float
    device: str
    versions: Mapping[str, str]
    commit: str | None
    code: Mapping[str, str]
    when: str
    details: Mapping[str, Any] = field(default_factory=dict)
    location: str | None = field(default=None, compare=False)

    @property
    def topic(self) -> str:
        """The word before the slash of the experiment's name."""
        return self.experiment.partition("/")[0]

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain JSON values, without `location`."""
        values = asdict(self)
        del values["location"]
        return values

    @classmethod
    def from_json(cls, values: Any, *, location: str | None = None) -> "Record":
        """Build a record from parsed JSON.

        Raises
        ------
        ValueError
            If a field is missing or is not what it should be. Fields this version does not know are ignored.
        """
        if not isinstance(values, Mapping):
            raise ValueError(f"a record must be a JSON object, got {type(values).__name__}")
        for name, kinds in _FIELDS.items():
            if name not in values:
                if name == "details":
                    continue
                raise ValueError(f"field {name!r} is missing")
            _expect(name, values[name], kinds)
        metrics = {name: _number(f"metrics.{name}", value) for name, value in values["metrics"].items()}
        field_names = {f.name for f in fields(cls)} - {"location", "data", "steps", "metrics"}
        record = cls(
            **{name: value for name, value in values.items() if name in field_names},
            metrics=metrics,
            data=_part(
                Data, "data", values["data"], {"name": (str,), "kind": (str,), "version": (str, type(None))}
            ),
            steps=_part(
                Steps, "steps", values["steps"], {"done": (int,), "planned": (int,), "stopped": (str,)}
            ),
            location=location,
        )
        for name, value, allowed in (
            ("scale", record.scale, SCALES),
            ("data.kind", record.data.kind, (*KINDS, *OLD_KINDS)),
            ("steps.stopped", record.steps.stopped, ENDINGS),
        ):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        if "/" not in record.experiment:
            raise ValueError(f"experiment must be topic/word, got {record.experiment!r}")
        return record


_FIELDS: dict[str, tuple[type, ...]] = {
    "experiment": (str,),
    "row": (str,),
    "scale": (str,),
    "seed": (int,),
    "data": (Mapping,),
    "metrics": (Mapping,),
    "config": (Mapping,),
    "steps": (Mapping,),
    "seconds": (int, float),
    "device": (str,),
    "versions": (Mapping,),
    "commit": (str, type(None)),
    "code": (Mapping,),
    "when": (str,),
    "details": (Mapping,),
}


def _expect(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        expected = " or ".join("null" if kind is type(None) else kind.__name__.lower() for kind in kinds)
        raise ValueError(f"{name} must be {expected}, got {value!r}")


def _number(name: str, value: Any) -> float | None:
    _expect(name, value, (int, float, type(None)))
    return None if value is None else float(value)


def _part(cls: type, name: str, values: Mapping, kinds: Mapping[str, tuple[type, ...]]) -> Any:
    for key, allowed in kinds.items():
        if key not in values:
            raise ValueError(f"field '{name}.{key}' is missing")
        _expect(f"{name}.{key}", values[key], allowed)
    return cls(**{key: values[key] for key in kinds})
