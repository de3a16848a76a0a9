"""Structure annotations: the tree of a configuration, as the released files write it.

    Scene ── Out_In ──┬── Out ── Out_Center_Single
                      └── In ─── In_Distribute_Four

Source: Zhang et al. (2019), "RAVEN: A Dataset for Relational and Analogical Visual Reasoning", section 3.1.
https://arxiv.org/abs/1903.02741
"""

from dataclasses import dataclass
from functools import lru_cache

from reasonlib.errors import DataError
from reasonlib.visual_iq.data.example import CONFIGURATIONS

__all__ = ["NODE_NAMES", "TREE_LEVELS", "parse_structure", "structure_of"]

TREE_LEVELS = ("scene", "structure", "component", "layout")
NODE_NAMES = (
    "Scene",
    *dict.fromkeys(configuration.structure for configuration in CONFIGURATIONS),
    *dict.fromkeys(
        component.name for configuration in CONFIGURATIONS for component in configuration.components
    ),
    *dict.fromkeys(
        component.layout for configuration in CONFIGURATIONS for component in configuration.components
    ),
)
"""What a node can be called: 1 scene, 4 structures, 7 components, 10 layouts."""


# Structure annotations --------------------------------------------------------------------------------------


def structure_of(configuration: int) -> tuple[str, ...]:
    """Write a configuration's tree as the released files do: names from the root down, ``/`` closes one.

    >>> " ".join(structure_of(0))
    'Scene Singleton Grid Center_Single / / / /'
    """
    layout = CONFIGURATIONS[configuration]
    names = [
        token for component in layout.components for token in (component.name, component.layout, "/", "/")
    ]
    return ("Scene", layout.structure, *names, "/", "/")


@dataclass(frozen=True)
class StructureNode:
    """One node of a structure tree: its name, its level (0 to 3) and which node is above it (-1: none)."""

    name: str
    level: int
    above: int


@lru_cache(maxsize=256)
def parse_structure(tokens: tuple[str, ...]) -> tuple[StructureNode, ...]:
    """Read a structure annotation.

    Parameters
    ----------
    tokens
        Names from the root down, each closed by ``/``, as in `structure_of`.

    Returns
    -------
    tuple of Node
        In the order of the names.

    Raises
    ------
    DataError
        If the tokens do not make one tree of a scene, a structure, components and a layout in each of them.
    """
    nodes: list[StructureNode] = []
    path: list[int] = []
    has_child: set[int] = set()

    def wrong(what: str) -> DataError:
        given, right = " ".join(tokens), " ".join(structure_of(0))
        return DataError(f"structure does not parse, {what}: {given!r}; it reads like {right!r}")

    for index, token in enumerate(tokens):
        if token == "/":
            if not path:
                raise wrong(f"token {index} closes nothing")
            closed = path.pop()
            if nodes[closed].level < 3 and closed not in has_child:
                raise wrong(f"{nodes[closed].name!r} holds nothing")
            continue
        if nodes and not path:
            raise wrong(f"{token!r} stands after the end of the tree")
        if token not in NODE_NAMES:
            raise wrong(f"{token!r} is no name of a part")
        if len(path) == len(TREE_LEVELS):
            raise wrong(f"{token!r} is too deep")
        has_child.update(path[-1:])
        nodes.append(StructureNode(token, len(path), path[-1] if path else -1))
        path.append(len(nodes) - 1)
    if path or not nodes:
        raise wrong(f"{len(path)} names are not closed" if path else "it is empty")
    return tuple(nodes)
