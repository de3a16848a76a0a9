"""Exact match, of all questions and by module."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

__all__ = ["by_module", "exact_match"]


def exact_match(written: Sequence[str], answers: Sequence[str]) -> float:
    """Return the share of answers that were written character for character (section 5.3.3).

    >>> exact_match(["4", "x + 1"], ["4", "1 + x"])
    0.5

    Raises
    ------
    ValueError
        If there are no answers, or not one for each.
    """
    if len(written) != len(answers) or not answers:
        raise ValueError(
            f"written and answers must be as many, at least 1; got {len(written)}, {len(answers)}"
        )
    return sum(a == b for a, b in zip(written, answers, strict=True)) / len(answers)


def by_module(written: Sequence[str], answers: Sequence[str], modules: Sequence[str]) -> Mapping[str, float]:
    """Return the exact match of each module, in alphabetical order."""
    groups: dict[str, list[int]] = defaultdict(list)
    for item, module in enumerate(modules):
        groups[module].append(item)
    return {
        module: exact_match([written[item] for item in items], [answers[item] for item in items])
        for module, items in sorted(groups.items())
    }
