"""From the settings of a row to the fields of a config."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

__all__ = ["construct", "select_fields", "with_defaults"]


Config = TypeVar("Config")


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


def construct(config: type[Config], settings: Mapping[str, Any], **values: Any) -> Config:
    """Construct a config or a recipe from the settings of a row that are its fields, and from other values.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> construct(make_dataclass("Config", ["width", "words"]), {"width": 32, "tasks": (1, 2)}, words=100)
    Config(width=32, words=100)
    """
    return config(**{**select_fields(config, settings), **values})


def with_defaults(settings: Mapping[str, Any], *configs: type) -> dict[str, Any]:
    """Return settings with the defaults of config classes for what they leave out."""
    defaults = {
        field.name: field.default
        for config in configs
        for field in fields(config)
        if field.default is not MISSING
    }
    return {**defaults, **settings}
