"""From the settings of a row to the fields of a config."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

__all__ = ["select_fields"]


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
