"""Read the ``.xml`` of a problem: configuration, entities of every panel, and the rules (see `corpus`)."""

import json
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from reasonlib.errors import DataError
from reasonlib.visual_iq.data.corpus_format import ATTRIBUTE_NAMES, GOVERNED_NAMES, RULE_NAMES
from reasonlib.visual_iq.data.example import ATTRIBUTES, CONFIGURATIONS, GROUPS, KEYS, LEVELS, PANELS, SLOTS

__all__ = ["read_annotations"]

_LAYOUTS = {
    (
        configuration.structure,
        tuple((component.name, component.layout) for component in configuration.components),
    ): index
    for index, configuration in enumerate(CONFIGURATIONS)
}


def read_annotations(path: Path) -> tuple[int, ndarray, ndarray, ndarray]:
    """Read configuration, entities, uniformity and rules of a problem."""
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    except ElementTree.ParseError as error:
        raise DataError(f"{path}: XML that does not parse ({error}); write or fetch it again") from None
    panels = root.findall("Panels/Panel")
    if len(panels) != PANELS:
        raise DataError(f"{path}: {len(panels)} panels, expected {PANELS}; write or fetch it again")
    entities = np.zeros((PANELS, SLOTS, len(ATTRIBUTES)), dtype=np.int8)
    uniformity = np.full(2, -1, dtype=np.int8)
    configuration = -1
    for panel_number, panel in enumerate(panels):
        location = f"{path}, panel {panel_number}"
        components = panel.findall("Struct/Component")
        layouts = [component.find("Layout") for component in components]
        struct = panel.find("Struct")
        key = (
            "" if struct is None else struct.get("name", ""),
            tuple(
                (component.get("name", ""), "" if layout is None else layout.get("name", ""))
                for component, layout in zip(components, layouts, strict=True)
            ),
        )
        if key not in _LAYOUTS or (panel_number and _LAYOUTS[key] != configuration):
            description = " / ".join([key[0], *(" ".join(each) for each in key[1])])
            reason = "unknown configuration" if key not in _LAYOUTS else "not the configuration of panel 0:"
            raise DataError(f"{location}: {reason} {description!r}; known are {', '.join(KEYS)}")
        configuration = _LAYOUTS[key]
        for component, layout in enumerate(layouts):
            assert layout is not None
            if not panel_number:
                uniformity[component] = _level(location, layout, "Uniformity", 4)
            for entity in layout.findall("Entity"):
                slot = _slot(configuration, component, entity.get("bbox", ""))
                if slot < 0:
                    raise DataError(
                        f"{location}: bbox {entity.get('bbox')!r} is no slot of {KEYS[configuration]}; "
                        "write or fetch the file again"
                    )
                if entities[panel_number, slot, 0]:
                    raise DataError(f"{location}: two entities in slot {slot}; write or fetch the file again")
                for attribute, (name, count) in enumerate(zip(ATTRIBUTE_NAMES, LEVELS, strict=True)):
                    level = _level(location, entity, name, count, least=int(name == "Type"))
                    entities[panel_number, slot, attribute] = level
    return (
        configuration,
        entities,
        uniformity,
        _rules(path, root, len(CONFIGURATIONS[configuration].components)),
    )


def _level(location: str, node: ElementTree.Element, name: str, count: int, least: int = 0) -> int:
    text = node.get(name, "")
    if text.isascii() and text.isdigit() and least <= int(text) < count:
        return int(text)
    raise DataError(
        f"{location}: {name} must be a level from {least} to {count - 1}, got {text!r}; "
        "write or fetch the file again"
    )


@cache
def _slot(index: int, component: int, text: str) -> int:
    """Find the slot that a box names; -1 if there is none."""
    try:
        box = [float(value) for value in json.loads(text)]
    except (ValueError, TypeError):
        return -1
    configuration = CONFIGURATIONS[index]
    slots = configuration.component_slices[component]
    for slot in range(slots.start, slots.stop):
        if len(box) == 4 and all(
            abs(a - b) < 1e-3 for a, b in zip(box, configuration.slots[slot], strict=True)
        ):
            return slot
    return -1


def _rules(path: Path, root: ElementTree.Element, components: int) -> Int[ndarray, "K G 3"]:
    groups = root.findall("Rules/Rule_Group")
    if len(groups) != components:
        raise DataError(f"{path}: {len(groups)} groups of rules, expected {components}; fetch it again")
    rules = np.full((2, len(GROUPS), 3), -1, dtype=np.int8)
    for component, group in enumerate(groups):
        for rule in group.findall("Rule"):
            name, governs = rule.get("name", ""), rule.get("attr", "")
            if name not in RULE_NAMES or governs not in GOVERNED_NAMES:
                raise DataError(
                    f"{path}: unknown rule {name!r} on {governs!r}; rules are {', '.join(RULE_NAMES)} "
                    f"on {', '.join(GOVERNED_NAMES)}"
                )
            governed = GOVERNED_NAMES.index(governs)
            rules[component, max(0, governed - 2)] = RULE_NAMES.index(name), governed, 0
        if (rules[component] < 0).any():
            raise DataError(f"{path}: component {component} lacks a rule; there must be one for each group")
    return rules
