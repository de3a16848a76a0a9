"""The records that pages show were made by the code of today, or it is said why not."""

from collections.abc import Mapping
from functools import cache

import yaml

from reasonlib.tracking import records
from reasonlib.tracking.experiment import experiments

ADVICE = """
The code, the settings or the data behind these records changed:
  {stale}
If the code was only rewritten and gives the same bits (renamed settings: records/renames.yaml first):
  python tools/same_bits.py --experiment {names}
If it computes something else, measure again (reasonlib run), or say in records/stale.yaml why they stay."""


groups = cache(records.groups)
"""Both tests read every record."""


def stale_rows() -> dict[str, dict[str, str]]:
    """Map an experiment to its rows of which even the best records are stale, and to the reason."""
    stale: dict[str, dict[str, str]] = {}
    for experiment in experiments().values():
        best: dict[str, records.Group] = {}
        for group in groups(experiment.name):  # the best of each row comes first
            best.setdefault(group.row, group)
        rows = {row: group.stale for row, group in best.items() if group.stale is not None}
        rows = {row: reason for row, reason in rows.items() if row in experiment.rows}
        if rows:
            stale[experiment.name] = rows
    return stale


def test_the_records_that_count_are_not_stale():
    stale = stale_rows()
    accepted = yaml.safe_load((records.folder() / "stale.yaml").read_text(encoding="utf-8")) or {}
    assert set(accepted) <= set(stale), "no longer stale, take them out of records/stale.yaml"
    new = {name: rows for name, rows in stale.items() if name not in accepted}
    lines = [
        f"{name}: {len(rows)} rows, such as {row} ({reason})"
        for name, rows in new.items()
        for row, reason in [next(iter(rows.items()))]
    ]
    assert not new, ADVICE.format(stale="\n  ".join(lines), names=" ".join(new))


def test_what_counts_as_a_share_of_examples_is_one():
    """A share of n examples is a whole number of n-ths.

    Left out: hidden characters, of which there are more than n, and labels whose number is that of one scale.
    """
    wrong = []
    for experiment in experiments().values():
        for group in groups(experiment.name):
            if group.stale is not None or isinstance(group.records[0].details.get("examples"), Mapping):
                continue
            for metric in group.metrics:
                count = group.examples(metric)
                if count is None or metric.startswith(("mlm.", "gate.")):
                    continue
                whole = [record.metrics[metric] * count for record in group.records]
                if any(abs(value - round(value)) > 1e-4 for value in whole):  # means of 32 bits
                    wrong.append(f"{experiment.name} {group.row}: {metric} is no share of {count} examples")
    assert not wrong, "say so in the experiment's shares:\n  " + "\n  ".join(wrong)
