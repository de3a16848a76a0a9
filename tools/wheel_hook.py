"""Carry the measured records inside the wheel, as ``reasonlib/_records``."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class RecordsHook(BuildHookInterface):
    """Adds records/ to a standard wheel; an editable install reads the folder itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects files; `version` is "standard" or "editable"."""
        if version == "standard" and Path(self.root, "records").is_dir():
            build_data["force_include"]["records"] = "reasonlib/_records"
