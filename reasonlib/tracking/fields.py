"""Check mappings that were read from a file: known fields, each of the right type."""

import math
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

__all__ = ["check_fields", "check_value", "inside", "shorten"]

_WORDS = {
    date: "a date",
    str: "text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    Mapping: "a mapping",
    type(None): "null",
    list: "a list",
}


def check_fields(values: Any, kinds: Mapping[str, tuple[type, ...]], what: str) -> dict[str, Any]:
    """Check that a mapping has known fields of the right types."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{what} must be a mapping, got {values!r}")
    for name, value in values.items():
        if name not in kinds:
            raise ValueError(f"unknown field {name!r}; known: {', '.join(kinds)}")
        check_value(name, value, kinds[name])
    return dict(values)


def check_value(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    """Raise ValueError unless a value has one of some types and is neither empty nor infinite."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        expected = " or ".join(dict.fromkeys(_WORDS[kind] for kind in kinds))
        hint = " (YAML reads 1e-3 as text: write 0.001)" if kinds[0] is int and isinstance(value, str) else ""
        raise ValueError(f"{name} must be {expected}, got {value!r}{hint}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value}")
    if isinstance(value, str) and not value.strip():
        raise ValueError(f"{name} must not be empty")


def inside(what: str, make: Callable[[Any], Any], values: Any) -> Any:
    """Call `make` and say of what its error is."""
    try:
        return make(values)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def shorten(said: object, most: int = 600) -> str:
    """Return a text, cut in its middle where a damaged file made it long."""
    text = str(said)
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"
