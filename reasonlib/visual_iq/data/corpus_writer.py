"""Write problems as the released sets lay them out; see `corpus` for the format.

Axes: P 16 panels, S 9 slots, A 4 attributes, K 2 components, G 4 groups of rules.
"""

import json
import os
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8
from numpy import ndarray

from reasonlib.data.files import write_atomic
from reasonlib.errors import DataError
from reasonlib.visual_iq.data import raster, render
from reasonlib.visual_iq.data.corpus_format import GOVERNED_NAMES, RULE_NAMES, SPLIT_DIGITS, file_splits
from reasonlib.visual_iq.data.example import CANVAS, CONFIGURATIONS, KEYS, POSITION_OF, Problems
from reasonlib.visual_iq.data.structure import structure_of

__all__ = ["write"]

_WORDS = (
    *dict.fromkeys(configuration.structure for configuration in CONFIGURATIONS),
    *("Left", "Right", "Up", "Down", "Out", "In", "Grid"),
    *("Center_Single", "Distribute_Four", "Distribute_Nine", "Left_Center_Single", "Right_Center_Single"),
    *(
        "Up_Center_Single",
        "Down_Center_Single",
        "Out_Center_Single",
        "In_Center_Single",
        "In_Distribute_Four",
    ),
)  # what ``meta_structure`` counts


# Writing ----------------------------------------------------------------------------------------------------


def write(
    problems: Problems,
    folder: str | os.PathLike[str],
    *,
    first: int = 0,
    split: str | None = None,
    images: bool = True,
    workers: int = 1,
) -> None:
    """Write problems as a released set; each file is complete or absent.

    Parameters
    ----------
    problems
        Numbered within their configurations, in the order given.
    folder
        Of the set; made if there is none. Files of the same names are replaced.
    first
        Number of the first problem of each configuration.
    split
        "train", "valid" or "test" gives only the numbers of that split (for training 0 to 5, 10 to 15, ...),
        so that problems which were split before keep to it. By default the number decides the split.
    images
        Whether to draw the panels. Without them a file holds all else.
    workers
        Processes that write at the same time (`joblib`); -1 for as many as there are cores.

    Raises
    ------
    ValueError
        If `split` is none of these, `first` is below 0, or the rules of a problem are not known.
    DataError
        If the folder cannot be written.
    """
    if first < 0:
        raise ValueError(f"first must be at least 0, got {first}")
    digits = [digit for each in file_splits(split) for digit in SPLIT_DIGITS[each]]
    for index in np.unique(problems.configuration):
        parts = len(CONFIGURATIONS[index].components)
        if (problems.rules[problems.configuration == index, :parts, :, :2] < 0).any():
            raise ValueError(f"rules must be known for problems to be written, some of {KEYS[index]} are not")
    stems = _stems(problems, Path(folder), first, digits)
    try:
        for parent in {stem.parent for stem in stems}:
            parent.mkdir(parents=True, exist_ok=True)
        chunks = [slice(start, start + 64) for start in range(0, len(problems), 64)]
        if workers == 1:
            for chunk in chunks:
                _write(problems[chunk], stems[chunk], images)
        else:
            from joblib import Parallel, delayed

            jobs = (delayed(_write)(problems[chunk], stems[chunk], images) for chunk in chunks)
            Parallel(n_jobs=workers)(jobs)
    except OSError as error:
        raise DataError(
            f"{error.filename or folder}: cannot be written ({error.strerror}); choose another folder"
        ) from None


def _stems(problems: Problems, folder: Path, first: int, digits: Sequence[int]) -> list[Path]:
    """Return the path of each problem, without an ending: numbers count on within a configuration."""
    stems = []
    count_before = sum(number % 10 in digits for number in range(first))
    counts = np.full(len(CONFIGURATIONS), count_before)
    for index in problems.configuration.tolist():
        tens, digit = divmod(int(counts[index]), len(digits))
        number = 10 * tens + digits[digit]
        counts[index] += 1
        name = next(each for each, last in SPLIT_DIGITS.items() if number % 10 in last)
        stems.append(folder / KEYS[index] / f"RAVEN_{number}_{name}")
    return stems


def _write(problems: Problems, stems: Sequence[Path], images: bool) -> None:
    """Write some problems, each to its two files."""
    pictures = render.render_problems(problems) if images else None
    for number, stem in enumerate(stems):
        index, target = int(problems.configuration[number]), int(problems.target[number])
        tree = structure_of(index)
        rules = problems.rules[number, : len(CONFIGURATIONS[index].components)]
        matrix = _meta_matrix(rules)
        arrays: dict[str, Any] = {"target": target, "predict": target}
        arrays |= {"meta_matrix": matrix, "meta_target": np.bitwise_or.reduce(matrix), "structure": tree}
        arrays["meta_structure"] = np.array([word in tree for word in _WORDS], dtype=np.uint8)
        if pictures is not None:
            arrays = {"image": pictures[number], **arrays}
        buffer = BytesIO()
        np.savez_compressed(buffer, **arrays)
        write_atomic(stem.with_suffix(".npz"), buffer.getvalue())
        xml = _xml(index, problems.entities[number], problems.uniformity[number], rules)
        write_atomic(stem.with_suffix(".xml"), xml.encode())


def _meta_matrix(rules: Int[ndarray, "K G 3"]) -> UInt8[ndarray, "8 9"]:
    """Mark each rule's name (the first four columns) and what it governs (the others), a rule a row."""
    matrix = np.zeros((8, 9), dtype=np.uint8)
    for row, (rule, governed, _) in enumerate(rules.reshape(-1, 3)):
        matrix[row, rule] = 1
        matrix[row, 4:6] = (governed in (0, 1), governed in (0, 2))
        matrix[row, 6:] = np.arange(3, 6) == governed
    return matrix


def _xml(
    index: int, entities: Int[ndarray, "P S A"], uniformity: Int[ndarray, "K"], rules: Int[ndarray, "k G 3"]
) -> str:
    """Tell a problem's panels and rules."""
    configuration, lines = CONFIGURATIONS[index], ["<Data><Panels>"]
    for panel in entities.tolist():
        lines.append(f'<Panel><Struct name="{configuration.structure}">')
        for number, (component, slots) in enumerate(
            zip(configuration.components, configuration.component_slices, strict=True)
        ):
            entities_of_component = [
                (slot, panel[slot]) for slot in range(slots.start, slots.stop) if panel[slot][0]
            ]
            lines.append(
                f'<Component id="{number}" name="{component.name}"><Layout name="{component.layout}" '
                f'Number="{len(entities_of_component) - 1}" Position="{json.dumps(component.slots)}" '
                f'Uniformity="{uniformity[number]}">'
            )
            for slot, (type_level, size, colour, angle) in entities_of_component:
                lines.append(
                    f'<Entity bbox="{json.dumps(configuration.slots[slot])}" '
                    f"{_annotation(int(POSITION_OF[index, slot]), type_level, size, angle)} "
                    f'Type="{type_level}" Size="{size}" Color="{colour}" Angle="{angle}" />'
                )
            lines.append("</Layout></Component>")
        lines.append("</Struct></Panel>")
    lines.append("</Panels><Rules>")
    for number, group in enumerate(rules.tolist()):
        lines.append(f'<Rule_Group id="{number}">')
        lines += [
            f'<Rule name="{RULE_NAMES[rule]}" attr="{GOVERNED_NAMES[governed]}" />'
            for rule, governed, _ in group
        ]
        lines.append("</Rule_Group>")
    lines.append("</Rules></Data>")
    return "".join(lines)


@cache
def _annotation(position: int, kind: int, size: int, angle: int) -> str:
    """Box of an entity, centre first and as parts of the canvas, and the runs of its black pixels."""
    left, top, right, bottom = render.entity_box(position, kind, size, angle)
    box = np.array([(top + bottom) / 2, (left + right) / 2, bottom - top, right - left]) / CANVAS
    runs = raster.run_lengths(render.entity_mask(position, kind, size, angle))
    return f'real_bbox="{np.round(box, 4).tolist()}" mask="[{",".join(map(str, runs))}]"'
