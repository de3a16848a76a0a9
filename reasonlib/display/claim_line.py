"""One claim as it is shown: what the source states, the numbers beside it, and the verdict, in words.

    row of `reasonlib claims --json` -> Line

Tables, the scoreboard and charts show it; `reasonlib.display.findings` has the tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reasonlib.display import strip
from reasonlib.tracking.experiment import part
from reasonlib.tracking.published import PLACES

__all__ = ["GLYPHS", "GOAL_WORDS", "Line", "figures", "line", "vocabulary"]

NOTHING = 1e-9  # what is smaller is written as 0
GLYPHS = {
    "reproduced": "✓",
    "exceeded": "▲",
    "supported": "↗",
    "inconclusive": "≈",
    "challenged": "↘",
    "contradicted": "✗",
    "not run": "○",
}
"""The sign of each verdict, which says without colour what the colour says."""

GOAL_WORDS = {
    "reproduced": "reached",
    "exceeded": "reached",
    "supported": "reached",
    "challenged": "missed",
    "contradicted": "missed",
    "inconclusive": "open",
}
"""What the verdict on a goal of the book is called: a goal is no claim that could be reproduced."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One claim, as it is shown.

    Attributes
    ----------
    id
        Of the claim.
    statement
        What the source states.
    locator
        Where it states it.
    measured
        For each quantity its name, and below it pairs such as ``("tanh", "0.962 ± 0.006")``.
    origin
        Scale, data and runs of these numbers; empty where there are none.
    verdict
        One of `reasonlib.tracking.judging.VERDICTS`.
    goal
        Whether it is a goal of the book and no claim of a source.
    why
        The reason beside a claim that did not hold, and what else a reader should know.
    conditions
        How our runs differ from the source's.
    changed
        What was changed of the claim after results existed.
    command
        What to run to settle it; empty where running would not help.
    picture
        The strip; empty where nothing was measured.
    """

    id: str
    statement: str
    locator: str = ""
    measured: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    origin: str = ""
    verdict: str
    goal: bool = False
    why: str = ""
    conditions: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    command: str = ""
    picture: str = ""

    @property
    def word(self) -> str:
        """The verdict as it is called here."""
        return GOAL_WORDS.get(self.verdict, self.verdict) if self.goal else self.verdict

    def numbers(self) -> list[str]:
        """Return what was measured, a text for each quantity and one for where it comes from."""
        texts = [
            f"{phrase}: " + ", ".join(" ".join(filter(None, pair)) for pair in pairs)
            for phrase, pairs in self.measured
        ]
        return [*texts, f"({self.origin})"] if self.origin else texts or ["–"]


def vocabulary(topic: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return what a topic calls its metrics and its rows; empty for one without ``page.labels``."""
    own = part(topic, "page.labels")
    return ({}, {}) if own is None else (own.METRICS, own.ROWS)


def line(row: Mapping[str, Any], *, command: str = "") -> Line:
    """Bring a claim, as ``reasonlib claims --json`` has it, into words and numbers."""
    topic = str(row.get("topic") or str(row["id"]).partition("/")[0])
    words, names = vocabulary(topic) if row.get("sides") else ({}, {})
    sides = row.get("sides") or ()
    alike: dict[str, list[Mapping[str, Any]]] = {}
    for side in sides:
        experiment = side["experiment"].partition("/")[2]
        metric = side["metric"]
        phrase = words.get(f"{experiment}@{metric}") or words.get(metric) or metric.replace("_", " ")
        alike.setdefault(phrase, []).append(side)
    measured = []
    for phrase, members in alike.items():
        texts = figures([side["mean"] for side in members])
        pairs = [
            (_row_name(names, experiment, side["row"]), text + _spread(side))
            for side, text in zip(members, texts, strict=True)
        ]
        measured.append((phrase, tuple(pairs)))
    criterion = _asked(row)
    if criterion and measured:
        measured[0] = (measured[0][0], (*measured[0][1], criterion))
    elif criterion:
        measured = [(str(row.get("metric") or row.get("unit") or "").replace("_", " "), (criterion,))]
    against = row["verdict"] in ("contradicted", "challenged", "exceeded")
    reason = [str(row["reason"])] if row.get("reason") and (against or row.get("illegible")) else []
    notes = [f"{note[0].upper()}{note[1:]}." for note in row.get("notes") or ()]
    return Line(
        id=str(row["id"]),
        statement=str(row.get("text") or row.get("row") or row["id"]),
        locator=_locator(row),
        measured=tuple(measured),
        origin=_origin(row),
        verdict=row["verdict"],
        goal=bool(row.get("goal")),
        why=" ".join(dict.fromkeys([*reason, *notes])),
        conditions=tuple(_condition(condition) for condition in row.get("conditions") or ()),
        changed=tuple(
            f"{change['date']}: from {change['from']}, to {change['to']}; {change['why']}"
            for change in row.get("changed") or ()
        ),
        command=command,
        picture=strip.draw(row),
    )


def figures(values: Sequence[float], digits: int = 3) -> list[str]:
    """Write numbers so that those that differ look different: as few digits as that takes.

    >>> figures([0.9037, 0.9045, 0.9055]), figures([500.0, 32.0]), figures([1e-12, 0.000264])
    (['0.9037', '0.9045', '0.9055'], ['500', '32'], ['0', '0.000264'])
    """
    if all(value == int(value) and abs(value) >= 1 for value in values):
        return [f"{value:,.0f}".replace("-", "−") for value in values]
    while True:
        texts = [_figure(value, digits) for value in values]
        if digits >= 6 or len(set(texts)) == len({round(value, 12) for value in values}):
            return texts
        digits += 1


def _figure(value: float, digits: int) -> str:
    if abs(value) < NOTHING:
        return "0"
    if abs(value) < 1e-4:
        return f"{value:.1e}".replace("-", "−")
    if abs(value) >= 10**digits:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:#.{digits}g}".rstrip(".").replace("-", "−")


def _row_name(names: Mapping[str, str], experiment: str, row: str) -> str:
    return names.get(f"{experiment}@{row}") or names.get(row, row.replace("-", " "))


def _spread(side: Mapping[str, Any]) -> str:
    """Write the standard deviation over runs, where it is not lost beside the mean."""
    sd = side.get("sd")
    if not sd or sd < max(NOTHING, 1e-3 * abs(side["mean"])):
        return ""
    return f" ± {_figure(sd, 2)}"


def _asked(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what the source published, or the bounds and distances that stand for what it said."""
    agreement = row.get("agreement") or {}
    bounds = (("at least", agreement.get("at_least")), ("at most", agreement.get("at_most")))
    text = ", ".join(f"{sense} {value:g}" for sense, value in bounds if value is not None)
    if row.get("published") is not None and not row.get("goal"):
        return "published", f"{row['published']:g}"
    if row.get("illegible"):
        return "published", "illegible"
    margins = [_margin(order) for order in agreement.get("order") or ()]
    text = ", ".join(dict.fromkeys(filter(None, [text, *margins])))
    return ("asked for", text.replace("-", "−")) if text else None


def _margin(order: Mapping[str, Any]) -> str:
    """Write the distance that an ordering names; empty where it names none."""
    by = order.get("by")
    if not by:
        return ""
    words = {"near": "a difference of at most {}", "not-below": "a deficit of at most {}"}
    return words.get(order["relation"], "a lead of at least {}").format(f"{by:g}")


def _origin(row: Mapping[str, Any]) -> str:
    data, sides = row.get("data") or {}, row.get("sides") or ()
    if not sides:
        return ""
    name, kind = data.get("name"), data.get("kind")
    counts = sorted({side["n"] for side in sides})
    runs = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    runs += " run" if counts == [1] else " runs"
    if row.get("deterministic"):
        runs = "the same in every run"
    return f"{row.get('scale')}, {name}{'' if name == kind else f' ({kind})'}, {runs}"


def _condition(condition: Mapping[str, Any]) -> str:
    from reasonlib.tracking.conditions import Condition

    return str(Condition(**condition))


def _locator(row: Mapping[str, Any]) -> str:
    """Say where the source makes the claim; empty for a goal, which is the book's own."""
    if row.get("goal"):
        return ""
    kind = next((kind for kind in PLACES if row.get(kind)), None)
    locator = str(row[kind]) if kind else ""
    if locator and not locator.lower().startswith(f"{kind} ") and locator[0].isdigit():
        locator = f"{kind} {locator}"
    label = (
        str(row["row"]) if row.get("row") and row.get("row") != (row.get("text") or row.get("row")) else ""
    )
    lines = str(row.get("lines") or "")
    if lines[:1].isdigit():
        lines = f"{'line' if lines.isdigit() else 'lines'} {lines}"
    outside = "another paper's" if row.get("outside") else ""
    return "; ".join(part for part in (locator, label, lines, outside) if part)
