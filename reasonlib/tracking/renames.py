"""Old names in records, read as today's: the map ``records/renames.yaml``, whose head says how it is written.

{"row": "full", "config": {"told": 0.1}}  ->  {"row": "complete", "config": {"evidence_loss_weight": 0.1}}
"""

import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from reasonlib.errors import DataError

__all__ = ["FILE", "Renames", "load"]

FILE = "renames.yaml"
EVERY = "*"
"""Section of what holds for every experiment."""


@dataclass(frozen=True)
class Section:
    """What was renamed for one experiment, one topic, or all; the fields are the keys of the file."""

    name: str | None = None
    rows: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str | None] = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    added: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, str | None] = field(default_factory=dict)
    details: Mapping[str, str | None] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)


class Renames:
    """All that was renamed; `apply` gives a record today's names.

    Parameters
    ----------
    sections
        ``*``, a topic or an experiment to its `Section`.

    Raises
    ------
    ValueError
        If experiments are renamed in a circle.
    """

    def __init__(self, sections: Mapping[str, Section]) -> None:
        self._sections = dict(sections)
        self._merged: dict[str, Section] = {}
        for name in self._sections:
            self.experiment(name)

    def experiment(self, name: str) -> str:
        """Return today's name of an experiment."""
        return self._names(name)[-1]

    def former(self, experiment: str) -> list[str]:
        """Return the names an experiment had before, oldest rename first."""
        return [name for name in self._sections if name != experiment and self.experiment(name) == experiment]

    def row(self, experiment: str, name: str) -> str:
        """Return what a row is called today."""
        return _renamed(name, self._section(experiment).rows)

    def apply(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record, as JSON values of the right form, with today's names."""
        section = self._section(record["experiment"])
        data = {**record["data"], "name": _renamed(record["data"]["name"], section.data)}
        data["kind"] = section.kinds.get(data["name"], section.kinds.get(data["kind"], data["kind"]))
        config = _keys(record["config"], section.settings)
        return {
            **record,
            "experiment": self.experiment(record["experiment"]),
            "row": _renamed(record["row"], section.rows),
            "scale": _renamed(record["scale"], section.scales),
            "data": data,
            "config": {**section.added, **_values(config, section.values)},
            "metrics": _keys(record["metrics"], section.metrics),
            "details": _keys(record.get("details", {}), section.details),
        }

    def _names(self, name: str) -> list[str]:
        """Return an experiment's names from this one to today's."""
        names = [name]
        while (section := self._sections.get(names[-1])) is not None and section.name is not None:
            if section.name in names:
                raise ValueError(f"{' -> '.join((*names, section.name))} is a circle")
            names.append(section.name)
        return names

    def _section(self, experiment: str) -> Section:
        """Join what holds for an experiment; the more particular section wins."""
        if experiment not in self._merged:
            names = self._names(experiment)
            keys = (EVERY, *dict.fromkeys(name.partition("/")[0] for name in names), *names)
            parts = [self._sections[key] for key in keys if key in self._sections]
            merged: dict[str, Any] = {
                f.name: {old: new for part in parts for old, new in getattr(part, f.name).items()}
                for f in fields(Section)
                if f.name != "name"
            }
            merged["values"] = {
                setting: {old: new for part in parts for old, new in part.values.get(setting, {}).items()}
                for setting in merged["values"]
            }
            self._merged[experiment] = Section(**merged)
        return self._merged[experiment]


def _renamed(name: str, renames: Mapping[str, Any]) -> Any:
    """Follow a name from rename to rename; None if it was dropped."""
    for _ in range(len(renames)):
        new = _once(name, renames)
        if new is None or new == name:
            return new
        name = new
    return name


def _once(name: str, renames: Mapping[str, Any]) -> Any:
    if name in renames:
        return renames[name]
    for old, new in renames.items():
        if "*" in old and (match := _pattern(old).fullmatch(name)):
            return None if new is None else new.replace("*", match[1])
    return name


@lru_cache(maxsize=256)
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile("(.*)".join(re.escape(part) for part in name.split("*", 1)))


def _keys(value: Any, renames: Mapping[str, Any]) -> Any:
    """Rename the keys of a mapping, and of mappings inside it."""
    if not renames:
        return value
    if isinstance(value, Mapping):
        new = ((_renamed(name, renames), inner) for name, inner in value.items())
        return {name: _keys(inner, renames) for name, inner in new if name is not None}
    return [_keys(item, renames) for item in value] if isinstance(value, list) else value


def _values(config: Any, renames: Mapping[str, Mapping[Any, Any]]) -> Any:
    """Replace values by the names of their settings, also inside nested settings."""
    if isinstance(config, list):
        return [_values(item, renames) for item in config]
    if not isinstance(config, Mapping):
        return config
    return {name: _values(_value(value, renames.get(name, {})), renames) for name, value in config.items()}


def _value(value: Any, renames: Mapping[Any, Any]) -> Any:
    if isinstance(value, list):
        return [_value(item, renames) for item in value]
    return renames.get(value, value) if isinstance(value, Hashable) else value


# The file ---------------------------------------------------------------------------------------------------


def load(folder: Path) -> Renames:
    """Read the renames of a folder of records; none if it has no such file.

    Raises
    ------
    DataError
        If the file is not what its head describes.
    """
    file = folder / FILE
    try:
        status = file.stat()
    except OSError:
        return Renames({})
    return _load(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _load(file: Path, mtime: int, size: int) -> Renames:
    import yaml

    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        return Renames(dict(_sections(content)))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise DataError(f"{file}: {' '.join(str(error).split())}") from error


def _sections(content: Any) -> Iterator[tuple[str, Section]]:
    part_names = {f.name for f in fields(Section)}
    for key, section in _mapping("the file", content).items():
        for part, value in _mapping(key, section).items():
            if part not in part_names:
                raise ValueError(
                    f"{key}: there is no part {part!r}; there are: {', '.join(sorted(part_names))}"
                )
            if part == "name":
                if not isinstance(value, str) or "/" not in value or "/" not in key:
                    raise ValueError(f"{key}: name must turn one topic/word into another, got {value!r}")
            elif part == "values":
                for setting, values in _mapping(f"{key}: values", value).items():
                    _mapping(f"{key}: values of {setting}", values)
            elif part != "added":
                allowed = (str, type(None)) if part in ("settings", "metrics", "details") else (str,)
                for old, new in _mapping(f"{key}: {part}", value).items():
                    if not isinstance(old, str) or not isinstance(new, allowed):
                        raise ValueError(f"{key}: {part} must map a name to a name, got {old!r}: {new!r}")
                    _check_ends(f"{key}: {part}", old, value)
        yield str(key), Section(**section)


def _check_ends(what: str, name: str, renames: Mapping[str, str | None]) -> None:
    names = [name]
    while (new := renames.get(names[-1])) is not None and new != names[-1]:
        if new in names:
            raise ValueError(f"{what} rename {' -> '.join((*names, new))}: an old name must not come back")
        names.append(new)


def _mapping(what: str, value: Any) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} must map names to names, got {value!r}")
    return value
