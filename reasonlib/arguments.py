"""Check arguments and settings: the error names the one that is out of range and says what is allowed."""

from collections.abc import Collection
from typing import Any

__all__ = ["check_at_least", "check_choice"]


def check_at_least(config: Any, least: float, *names: str) -> None:
    """Compare some attributes of a configuration with the lowest value that makes sense.

    Raises
    ------
    ValueError
        For the first that is lower, or not a number.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_at_least(SimpleNamespace(width=64, hops=0), 1, "width", "hops")
    Traceback (most recent call last):
    ValueError: hops must be at least 1, got 0
    """
    for name in names:
        value = getattr(config, name)
        if not value >= least:
            raise ValueError(f"{name} must be at least {least}, got {value}")


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Compare an argument with the words that it may be.

    Raises
    ------
    ValueError
        If it is none of them.

    Examples
    --------
    >>> check_choice("norm", "middle", ("pre", "post"))
    Traceback (most recent call last):
    ValueError: norm must be one of pre, post, got 'middle'
    """
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
