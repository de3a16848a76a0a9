"""Whether our runs have the source's conditions: computed from what it prints and what a record says.

What a source prints beside a table stands in ``claims.yaml`` (`reasonlib.tracking.published`). A record says
on which data it was made, with which settings, how far it came. Each difference between the two is a
`Condition`; a claim without any has the source's conditions. Nothing is asserted: a setting that the source
prints and that neither the record nor its experiment's `resolve` knows is a difference, too.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from reasonlib.tracking.published import Claim, Side, Table
from reasonlib.tracking.records import Group

if TYPE_CHECKING:
    from reasonlib.tracking.experiment import Experiment

SOURCE_KINDS = ("released", "regenerated")  # of data: the source's own files, or its own procedure


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One way in which our runs differ from the source's.

    Attributes
    ----------
    what
        ``data``, ``scale``, ``end``, ``note``, or the name of a setting.
    source, ours
        What the source says and what ours is, as text; None where there is nothing to say.
    lines
        Where the source prints it.
    """

    what: str
    source: str | None = None
    ours: str | None = None
    lines: str | None = None

    def __str__(self) -> str:
        """Say it in a few words."""
        if self.what == "note":
            return str(self.ours)
        name = self.what.replace("_", " ")
        if self.source is None:
            return f"{name}: {self.ours}"
        return f"{name}: {self.ours or 'not recorded'} here, {self.source} in the source"

    def to_json(self) -> dict[str, str | None]:
        """Return the fields."""
        return asdict(self)


def differences(
    claim: Claim, groups: Mapping[Side, Group], experiments: Mapping[str, "Experiment"]
) -> tuple[Condition, ...]:
    """Return every way in which the runs that answer a claim differ from the source's, each once."""
    conditions: list[Condition] = []
    for side, group in groups.items():
        conditions += _data(claim, group)
        conditions += _end(claim.table, group)
        conditions += _settings(claim.table, side, group, experiments.get(side.experiment))
    return tuple(dict.fromkeys(conditions))


def _data(claim: Claim, group: Group) -> Iterable[Condition]:
    name, kind = group.data.name, group.data.kind
    foreign = claim.made_on not in (None, name)
    if kind not in SOURCE_KINDS or foreign:
        source = claim.made_on if foreign else "its own"
        yield Condition(what="data", source=source, ours=name if name == kind else f"{name} ({kind})")
    if group.scale != "paper":
        yield Condition(what="scale", ours=f"{group.scale}, a smaller run")


def _end(table: Table, group: Group) -> Iterable[Condition]:
    stopped = {record.steps.stopped for record in group.records}
    if "minutes" in stopped:
        steps = [record.steps for record in group.records if not record.steps.complete]
        share = min(step.done / max(step.planned, 1) for step in steps)
        yield Condition(
            what="end",
            source="all steps",
            ours=f"stopped by its time budget after {100 * share:.0f} % of its steps",
        )
    if "early" in stopped and table.ends != "early":
        yield Condition(what="end", source="all planned steps", ours="stopped early by its validation set")


def _settings(table: Table, side: Side, group: Group, experiment: "Experiment | None") -> Iterable[Condition]:
    ours = _resolved(group, side, experiment)
    for printed in table.settings:
        if not printed.concerns(side):
            continue
        if printed.differs is not None:
            yield Condition(what="note", ours=printed.differs, lines=printed.lines)
        for name, value in printed.values.items():
            if name not in ours:
                yield Condition(what=name, source=_text(value), lines=printed.lines)
            elif _text(ours[name]) != _text(value):
                yield Condition(what=name, source=_text(value), ours=_text(ours[name]), lines=printed.lines)


def _resolved(group: Group, side: Side, experiment: "Experiment | None") -> Mapping[str, Any]:
    """Return all settings that make a metric, defaults filled in where the experiment tells them."""
    config = dict(group.records[-1].config)
    if experiment is None or experiment.resolve is None:
        return config
    return experiment.resolve(config, side.metric)


def _text(value: Any) -> str:
    """Write a setting so that equal values read alike: 1 and 1.0, (1, 2) and [1, 2]."""
    if isinstance(value, float) and value == int(value):
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
