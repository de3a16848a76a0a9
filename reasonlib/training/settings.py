"""From the settings of a row to the fields of a config."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

__all__ = ["select_fields", "with_defaults"]


def select_fields(config: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the settings that are fields of a dataclass, to construct it from.

    Parameters
    ----------
    config
        A dataclass.
    settings
        Name to value; may hold more than the dataclass has.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> select_fields(make_dataclass("Config", ["width"]), {"width": 32, "tasks": (1, 2)})
    {'width': 32}
    """
    names = {field.name for field in fields(config)}
    return {name: value for name, value in settings.items() if name in names}


def with_defaults(settings: Mapping[str, Any], *configs: type) -> dict[str, Any]:
    """Return settings with the defaults of config classes for what they leave out."""
    defaults = {
        field.name: field.default
        for config in configs
        for field in fields(config)
        if field.default is not MISSING
    }
    return {**defaults, **settings}
