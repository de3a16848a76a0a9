"""Orderings as claims write them: ``a above b by 0.05``, read into pairs of sides."""

import re
from collections.abc import Mapping
from typing import Any

from reasonlib.tracking.published import TOLERANT, Order, Side

__all__ = ["parse_order"]

_SIDE = re.compile(r"(?:(?P<experiment>[^\s:@]+/[^\s:@]+):)?(?P<row>[^\s:@]+)?(?:@(?P<metric>[^\s:@]+))?")


def parse_order(text: str, claim: Mapping[str, Any]) -> Order:
    """Read ``a above b [above c ...] [by 0.05]``, ``a near b by 0.05`` or ``a not-below b by 0.05``."""
    body, _, margin = text.strip().partition(" by ")
    words = body.split()
    relations = words[1::2]
    tolerant = len(relations) == 1 and relations[0] in TOLERANT
    if len(words) < 3 or len(words) % 2 == 0 or (set(relations) - {"above", "below"} and not tolerant):
        raise ValueError(
            "an ordering reads 'a above b', 'a below b by 0.05', 'a near b by 0.05' or "
            f"'a not-below b by 0.05', got {text!r}"
        )
    try:
        by = float(margin) if margin else 0.0
    except ValueError:
        by = -1.0
    if not 0 <= by < float("inf"):
        raise ValueError(f"after 'by' stands a number of at least 0, got {margin!r}")
    if tolerant and not by:
        raise ValueError(f"{relations[0]!r} needs its distance, as in 'a near b by 0.05', got {text!r}")
    sides = [_side(word, claim) for word in words[0::2]]
    pairs = tuple(
        (right, left) if relation == "below" else (left, right)
        for left, relation, right in zip(sides, relations, sides[1:], strict=False)
    )
    if any(high == low for high, low in pairs):
        raise ValueError(f"an ordering compares two different things, got {text!r}")
    return Order(
        text=" ".join(text.split()), pairs=pairs, by=by, relation=relations[0] if tolerant else "above"
    )


def _side(word: str, claim: Mapping[str, Any]) -> Side:
    match = _SIDE.fullmatch(word)
    parts = match.groupdict() if match else {}
    values = {name: str(parts.get(name) or claim.get(name) or "") for name in ("experiment", "row", "metric")}
    if not any(parts.values()) or "" in values.values():
        raise ValueError(f"a side of an ordering is [experiment:]row[@metric], got {word!r}")
    return Side(**values)
