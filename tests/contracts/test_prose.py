"""Numbers and verdicts in the prose of pages are those of the records; `prose.yaml` lists them."""

import functools
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml

from reasonlib.display.claim_line import GOAL_WORDS
from reasonlib.tracking import claims, records

ROOT = Path(__file__).resolve().parents[2]
STATED = yaml.safe_load(Path(__file__).with_name("prose.yaml").read_text(encoding="utf-8"))
WORDS = (
    "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
).split()

verdicts = functools.cache(claims.verdicts)


def fitting(patterns: str) -> list[str]:
    """The verdicts, as a page writes them, on all claims that fit the patterns; at least one for each."""
    labels = []
    for pattern in patterns.split():
        fits = [each for each in verdicts(pattern.partition("/")[0]) if fnmatchcase(each.claim.id, pattern)]
        assert fits, pattern
        labels += [GOAL_WORDS[each.verdict] if each.claim.goal else each.verdict for each in fits]
    return labels


def values(
    run: str, *, seeds: bool = False, data: str | None = None, scale: str | None = None
) -> list[float]:
    """What the records say, in ascending order: the mean of each row, or each seed of one row."""
    experiment, rows, metric = run.split()
    groups = [records.best(experiment, row, data=data, scale=scale) for row in rows.split(",")]
    if seeds:
        return sorted(record.metrics[metric] for record in groups[0].records)
    return sorted(group.summary(metric).mean for group in groups)


def written(source: Mapping[str, Any]) -> str:
    """What a page should say in one place."""
    if "verdict" in source:
        (verdict,) = set(fitting(source["verdict"]))
        return verdict
    if "count" in source:
        return WORDS[fitting(source["count"]).count(source["as"])]
    seeds, filters = source.get("seeds", False), {name: source.get(name) for name in ("data", "scale")}
    value = values(source["run"], seeds=seeds, **filters)[source.get("pick", 0)]
    if "less" in source:
        experiment, _, metric = source["run"].split()
        value -= values(f"{experiment} {source['less']} {metric}", **filters)[0]
    exact = Decimal(str(round(value * source.get("times", 1), 9)))
    number = exact.quantize(Decimal(1).scaleb(-source.get("digits", 0)), ROUND_HALF_UP)
    return WORDS[int(number)] if source.get("words") else str(number)


@pytest.mark.parametrize("stated", STATED, ids=lambda stated: f"{stated['page']}: {stated['says'][:40]}")
def test_prose_says_what_the_records_say(stated):
    page = " ".join((ROOT / "book" / f"{stated['page']}.md").read_text(encoding="utf-8").split())
    says = stated["says"].format(*map(written, stated["by"]))
    assert says.lower() in page.lower(), f"{stated['page']}.md should say: {says}"
