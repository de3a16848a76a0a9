"""Read and write problems as the released sets lay them out: other people's code reads ours, and we theirs.

A set is a folder with one folder for each configuration, and in it two files for each problem, numbered
within the configuration. The last digit of the number decides the split: 0 to 5 train, 6 and 7 val, 8 and 9
test::

    center_single/RAVEN_0_train.npz   image (16, 160, 160), target, predict, meta_matrix, meta_target,
                                      structure, meta_structure
    center_single/RAVEN_0_train.xml   every panel's entities, with their boxes and masks; the rules

`read` needs both files, as the answer stands in the one and the entities in the other; `read_images` needs
the ``.npz`` alone. What a file says of a rule is its name and what it governs, not its step or sign, so the
values of `Problems.rules` are 0 after reading.

Source: Zhang et al. (2019), "RAVEN: A Dataset for Relational and Analogical Visual Reasoning", section 3, and
the released files. https://arxiv.org/abs/1903.02741

Axes: N problems, P 16 panels, S 9 slots, A 4 attributes, K 2 components, G 4 groups of rules.
"""

import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from jaxtyping import Int, UInt8
from numpy import ndarray

from reasonlib.errors import DataError, UserError
from reasonlib.visual_iq.data import raster, render
from reasonlib.visual_iq.data.example import (
    ATTRIBUTES,
    CANVAS,
    CONFIGURATIONS,
    CONTEXT,
    GROUPS,
    KEYS,
    LEVELS,
    PANELS,
    PLACE_OF,
    SLOTS,
    Problems,
)

__all__ = ["FOLDERS", "Images", "dumps", "read", "read_images", "released", "structure", "write"]

FOLDERS = {
    "raven": ("RAVEN", "RAVEN-10000"),
    "i-raven": ("I-RAVEN",),
    "raven-fair": ("RAVEN-FAIR", "RAVEN-F", "RAVEN_FAIR"),
}
"""What the folder of each released set may be called in ``REASONLIB_DATA``."""

_DIGITS = {"train": range(6), "val": range(6, 8), "test": range(8, 10)}
_NAME = re.compile(r"RAVEN_(\d+)_(train|val|test)")
_RULES = ("Constant", "Progression", "Arithmetic", "Distribute_Three")  # RULES as the files call them
_GOVERNED = ("Number/Position", "Number", "Position", "Type", "Size", "Color")  # and GOVERNED
_LEVELS = ("Type", "Size", "Color", "Angle")  # and ATTRIBUTES
_WORDS = (
    *dict.fromkeys(one.structure for one in CONFIGURATIONS),
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
_BAD = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    EOFError,
    RuntimeError,  # an archive whose directory asks for a password, or for a method that there is not
    TokenError,  # the head of an array
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy and `zipfile` raise at bytes that are not those of a problem."""


class Images(NamedTuple):
    """Problems as pictures: what a model that sees no annotation is given.

    Attributes
    ----------
    images
        Grey values of the panels.
    target
        The right candidate, 0 to 7.
    configuration
        Index into `CONFIGURATIONS`.
    """

    images: UInt8[ndarray, "N 16 160 160"]
    target: Int[ndarray, "N"]
    configuration: Int[ndarray, "N"]


def structure(configuration: int) -> tuple[str, ...]:
    """Write the tree of a configuration: each name is closed by a ``/``.

    >>> structure(0)
    ('Scene', 'Singleton', 'Grid', 'Center_Single', '/', '/', '/', '/')
    """
    one = CONFIGURATIONS[configuration]
    inner = [name for part in one.components for name in (part.name, part.layout, "/", "/")]
    return ("Scene", one.structure, *inner, "/", "/")


_TREES = {structure(index): index for index in range(len(CONFIGURATIONS))}
_LAYOUTS = {
    (one.structure, tuple((part.name, part.layout) for part in one.components)): index
    for index, one in enumerate(CONFIGURATIONS)
}


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
    digits = [digit for each in _splits(split) for digit in _DIGITS[each]]
    for index in np.unique(problems.configuration):
        parts = len(CONFIGURATIONS[index].components)
        if (problems.rules[problems.configuration == index, :parts, :, :2] < 0).any():
            raise ValueError(f"rules must be known for problems to be written, some of {KEYS[index]} are not")
    folder, stems = Path(folder), []
    passed = sum(number % 10 in digits for number in range(first))
    counts = np.full(len(CONFIGURATIONS), passed)
    try:
        for index in problems.configuration.tolist():
            tens, digit = divmod(int(counts[index]), len(digits))
            number = 10 * tens + digits[digit]
            counts[index] += 1
            name = next(each for each, last in _DIGITS.items() if number % 10 in last)
            stems.append(folder / KEYS[index] / f"RAVEN_{number}_{name}")
        for parent in {stem.parent for stem in stems}:
            parent.mkdir(parents=True, exist_ok=True)
        chunks = [slice(at, at + 64) for at in range(0, len(problems), 64)]
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


def _write(problems: Problems, stems: Sequence[Path], images: bool) -> None:
    """Write some problems, each to its two files."""
    pictures = render.problem_images(problems) if images else None
    for at, stem in enumerate(stems):
        index, target = int(problems.configuration[at]), int(problems.target[at])
        tree = structure(index)
        rules = problems.rules[at, : len(CONFIGURATIONS[index].components)]
        matrix = _meta_matrix(rules)
        arrays: dict[str, Any] = {"target": target, "predict": target}
        arrays |= {"meta_matrix": matrix, "meta_target": np.bitwise_or.reduce(matrix), "structure": tree}
        arrays["meta_structure"] = np.array([word in tree for word in _WORDS], dtype=np.uint8)
        if pictures is not None:
            arrays = {"image": pictures[at], **arrays}
        buffer = BytesIO()
        np.savez_compressed(buffer, **arrays)
        _replace(stem.with_suffix(".npz"), buffer.getvalue())
        told = _xml(index, problems.entities[at], problems.uniformity[at], rules)
        _replace(stem.with_suffix(".xml"), told.encode())


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


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
    one, told = CONFIGURATIONS[index], ["<Data><Panels>"]
    for panel in entities.tolist():
        told.append(f'<Panel><Struct name="{one.structure}">')
        for number, (component, part) in enumerate(zip(one.components, one.parts, strict=True)):
            held = [(slot, panel[slot]) for slot in range(part.start, part.stop) if panel[slot][0]]
            told.append(
                f'<Component id="{number}" name="{component.name}"><Layout name="{component.layout}" '
                f'Number="{len(held) - 1}" Position="{json.dumps(component.slots)}" '
                f'Uniformity="{uniformity[number]}">'
            )
            for slot, (kind, size, colour, angle) in held:
                told.append(
                    f'<Entity bbox="{json.dumps(one.slots[slot])}" '
                    f"{_annotation(int(PLACE_OF[index, slot]), kind, size, angle)} "
                    f'Type="{kind}" Size="{size}" Color="{colour}" Angle="{angle}" />'
                )
            told.append("</Layout></Component>")
        told.append("</Struct></Panel>")
    told.append("</Panels><Rules>")
    for number, group in enumerate(rules.tolist()):
        told.append(f'<Rule_Group id="{number}">')
        told += [
            f'<Rule name="{_RULES[rule]}" attr="{_GOVERNED[governed]}" />' for rule, governed, _ in group
        ]
        told.append("</Rule_Group>")
    told.append("</Rules></Data>")
    return "".join(told)


@cache
def _annotation(place: int, kind: int, size: int, angle: int) -> str:
    """Box of an entity, centre first and as parts of the canvas, and the runs of its black pixels."""
    left, top, right, bottom = render.box(place, kind, size, angle)
    box = np.array([(top + bottom) / 2, (left + right) / 2, bottom - top, right - left]) / CANVAS
    runs = raster.runs(render.mask(place, kind, size, angle))
    return f'real_bbox="{np.round(box, 4).tolist()}" mask="[{",".join(map(str, runs))}]"'


def dumps(problems: Problems) -> str:
    """Refuse: a set is a folder of files and has no text form.

    Raises
    ------
    UserError
        Always.
    """
    raise UserError("problems are pictures in a folder of files; give a folder with --out")


# Finding ----------------------------------------------------------------------------------------------------


def _splits(split: str | None) -> tuple[str, ...]:
    """Names of the splits that are wanted, as the files call them."""
    if split is None:
        return tuple(_DIGITS)
    if split not in ("train", "valid", "val", "test"):
        raise ValueError(f"split must be one of train, valid, test, got {split!r}")
    return ("val" if split == "valid" else split,)


def _stems(path: Path, split: str | None, suffixes: Sequence[str]) -> list[Path]:
    """Paths of the problems that a set, a configuration's folder or a file holds, without suffix."""
    wanted = _splits(split)
    if path.suffix in (".npz", ".xml"):
        stems = [path.with_suffix("")]
    elif not path.is_dir():
        raise DataError(f"{path}: no such folder or file; name a set, a configuration's folder, .npz or .xml")
    else:
        folders = sorted(each for each in path.iterdir() if each.is_dir() and any(each.glob("RAVEN_*")))
        for each in folders:
            if each.name not in KEYS:
                raise DataError(f"{each}: unknown configuration; a set's folders are {', '.join(KEYS)}")
        folders.sort(key=lambda each: KEYS.index(each.name))
        stems = [stem for each in (path, *folders) for stem in _listed(each, wanted)]
        if not stems:
            what = "of split " + split + " " if split else ""
            raise DataError(
                f"{path}: no problem {what}here; "
                "a set holds <configuration>/RAVEN_<number>_<split>.npz and .xml"
            )
    for stem in stems:
        for suffix in suffixes:
            if not stem.with_suffix(suffix).is_file():
                raise DataError(
                    f"{stem.with_suffix(suffix)}: no such file; "
                    "a problem is a pair of .npz and .xml, write or fetch both"
                )
    return stems


def _listed(folder: Path, splits: Sequence[str]) -> Iterator[Path]:
    """Problems of one folder, by number."""
    numbers = {}
    for file in folder.iterdir():
        found = _NAME.fullmatch(file.stem)
        if found and found[2] in splits and file.suffix in (".npz", ".xml"):
            numbers[file.with_suffix("")] = int(found[1])
    yield from sorted(numbers, key=lambda stem: (numbers[stem], stem.name))


def released(answers: str = "raven", *, split: str | None = None, workers: int = 1) -> Problems:
    """Read a released set that lies in the folder named by ``REASONLIB_DATA``.

    Parameters
    ----------
    answers
        "raven", "i-raven" or "raven-fair": the set's folder is called one of `FOLDERS`.
    split, workers
        As for `read`.

    Raises
    ------
    ValueError
        If there is no set of that name.
    DataError
        If it is not here, or a file of it cannot be used.

    Notes
    -----
    The sets are shared by their authors on request or on personal drives, without a checksum, so none can be
    fetched by name.
    """
    if answers not in FOLDERS:
        raise ValueError(f"answers must be one of {', '.join(FOLDERS)}, got {answers!r}")
    place = os.environ.get("REASONLIB_DATA")
    for name in FOLDERS[answers]:
        if place and (Path(place) / name).is_dir():
            return read(Path(place) / name, split, workers=workers)
    raise DataError(
        f"the released set {answers} is not here; set REASONLIB_DATA to a folder that holds "
        f"{' or '.join(FOLDERS[answers])}, or use simulated problems"
    )


# Reading ----------------------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str], split: str | None = None, *, workers: int = 1) -> Problems:
    """Read the annotations of problems.

    Parameters
    ----------
    path
        A set, the folder of one configuration, or one file of a problem.
    split
        "train", "valid" or "test"; all by default. A single file is read whatever its split.
    workers
        Processes that read at the same time (`joblib`); -1 for as many as there are cores.

    Returns
    -------
    Problems
        In the order of `CONFIGURATIONS`, then by number. Values of rules are 0.

    Raises
    ------
    ValueError
        If `split` is none of these.
    DataError
        One line that names the file, what is wrong and the remedy: nothing to read, a file without its pair,
        a corrupt ``.npz``, panels of another size, an XML or a structure tree that does not parse, an unknown
        configuration, a target, level or box out of range.
    """
    stems = _stems(Path(path), split, (".npz", ".xml"))
    if workers == 1 or len(stems) == 1:
        return _read(stems)
    from joblib import Parallel, delayed

    chunks = (delayed(_read)(stems[at : at + 256]) for at in range(0, len(stems), 256))
    return Problems.join(Parallel(n_jobs=workers)(chunks))


def read_images(path: str | os.PathLike[str], split: str | None = None) -> Images:
    """Read panels and answers alone, as a model on pixels is given them; the ``.xml`` may be absent.

    Parameters
    ----------
    path, split
        As for `read`. A problem takes 410 kB of memory.

    Raises
    ------
    ValueError, DataError
        As for `read`.
    """
    stems = _stems(Path(path), split, (".npz",))
    images = np.empty((len(stems), PANELS, CANVAS, CANVAS), dtype=np.uint8)
    found = [_archive(stem.with_suffix(".npz"), images[at]) for at, stem in enumerate(stems)]
    target, configuration = np.array(found, dtype=np.int8).T
    return Images(images, target, configuration)


def _read(stems: Sequence[Path]) -> Problems:
    parts = []
    for stem in stems:
        target, tree = _archive(stem.with_suffix(".npz"))
        index, *annotation = _annotations(stem.with_suffix(".xml"))
        if index != tree:
            raise DataError(
                f"{stem.with_suffix('.npz')}: its structure is that of {KEYS[tree]}, its pair's is that of "
                f"{KEYS[index]}; the two files belong to different problems, write or fetch both again"
            )
        parts.append((index, *annotation, target))
    columns = zip(*parts, strict=True)
    return Problems(*(np.array(column, dtype=np.int8) for column in columns))


def _archive(path: Path, image: UInt8[ndarray, "16 160 160"] | None = None) -> tuple[int, int]:
    """Read target and configuration of a problem; panels too, if there is a place for them."""
    try:
        with path.open("rb") as file, np.load(file) as stored:
            named = set(stored.files)
            target = stored["target"]
            tree = stored["structure"] if "structure" in named else None
            shape, kind = _header(stored) if "image" in named else (None, None)
            if image is not None or shape is not None:
                if shape is None:
                    raise DataError(
                        f"{path}: it holds no panels; write it with images, or read the annotations"
                    )
                if int(np.prod(shape)) != PANELS * CANVAS**2 or shape[-2:] != (CANVAS, CANVAS):
                    raise DataError(
                        f"{path}: panels are {' x '.join(map(str, shape))}, expected "
                        f"{PANELS} x {CANVAS} x {CANVAS}; use the released size"
                    )
                if kind != np.uint8:
                    raise DataError(f"{path}: grey values are {kind}, expected uint8; store values 0 to 255")
            if image is not None:
                image[:] = stored["image"].reshape(image.shape)
    except DataError:
        raise
    except _BAD as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        if what.startswith("This file contains pickled") or "context manager" in what:
            what = "not an archive of arrays"  # NumPy takes anything else for a pickle, or for one array
        raise DataError(
            f"{path}: corrupt or no .npz of a problem ({what}); write or fetch it again"
        ) from None
    if target.size != 1 or target.dtype.kind not in "iu" or not 0 <= target.item() < PANELS - CONTEXT:
        raise DataError(
            f"{path}: target must be one whole number from 0 to {PANELS - CONTEXT - 1}, "
            f"got {np.array2string(target.ravel()[:4])}; write or fetch the file again"
        )
    return int(target.item()), _planted(path, tree)


def _header(stored: Any) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of the panels in an open archive, without unpacking them."""
    with stored.zip.open("image.npy") as file:
        version = np.lib.format.read_magic(file)
        known = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
        shape, _, kind = known[version >= (2, 0)](file)
    return shape, kind


def _planted(path: Path, tree: ndarray | None) -> int:
    """Find the configuration of a structure tree; of a file without one, of its folder."""
    if tree is None:
        if path.parent.name in KEYS:
            return KEYS.index(path.parent.name)
        raise DataError(f"{path}: it holds no structure and its folder is no configuration; fetch it again")
    names = [each.decode() if isinstance(each, bytes) else str(each) for each in tree.ravel().tolist()]
    tokens = tuple(name for name in names if name)
    if tokens not in _TREES:
        from reasonlib.visual_iq.models.drt import parse

        try:
            parse(tokens)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
        raise DataError(f"{path}: unknown configuration {' '.join(tokens)!r}; known are {', '.join(KEYS)}")
    return _TREES[tokens]


def _annotations(path: Path) -> tuple[int, ndarray, ndarray, ndarray]:
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
    index = -1
    for number, panel in enumerate(panels):
        where = f"{path}, panel {number}"
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
        if key not in _LAYOUTS or (number and _LAYOUTS[key] != index):
            told = " / ".join([key[0], *(" ".join(each) for each in key[1])])
            what = "unknown configuration" if key not in _LAYOUTS else "not the configuration of panel 0:"
            raise DataError(f"{where}: {what} {told!r}; known are {', '.join(KEYS)}")
        index = _LAYOUTS[key]
        for component, layout in enumerate(layouts):
            assert layout is not None
            if not number:
                uniformity[component] = _level(where, layout, "Uniformity", 4)
            for entity in layout.findall("Entity"):
                slot = _slot(index, component, entity.get("bbox", ""))
                if slot < 0:
                    raise DataError(
                        f"{where}: bbox {entity.get('bbox')!r} is no slot of {KEYS[index]}; "
                        "write or fetch the file again"
                    )
                if entities[number, slot, 0]:
                    raise DataError(f"{where}: two entities in slot {slot}; write or fetch the file again")
                for attribute, (name, count) in enumerate(zip(_LEVELS, LEVELS, strict=True)):
                    level = _level(where, entity, name, count, least=int(name == "Type"))
                    entities[number, slot, attribute] = level
    return index, entities, uniformity, _rules(path, root, len(CONFIGURATIONS[index].components))


def _level(where: str, node: ElementTree.Element, name: str, count: int, least: int = 0) -> int:
    told = node.get(name, "")
    if told.isascii() and told.isdigit() and least <= int(told) < count:
        return int(told)
    raise DataError(
        f"{where}: {name} must be a level from {least} to {count - 1}, got {told!r}; "
        "write or fetch the file again"
    )


@cache
def _slot(index: int, component: int, told: str) -> int:
    """Find the slot that a box names; -1 if there is none."""
    try:
        box = [float(value) for value in json.loads(told)]
    except (ValueError, TypeError):
        return -1
    one = CONFIGURATIONS[index]
    part = one.parts[component]
    for slot in range(part.start, part.stop):
        if len(box) == 4 and all(abs(a - b) < 1e-3 for a, b in zip(box, one.slots[slot], strict=True)):
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
            if name not in _RULES or governs not in _GOVERNED:
                raise DataError(
                    f"{path}: unknown rule {name!r} on {governs!r}; rules are {', '.join(_RULES)} "
                    f"on {', '.join(_GOVERNED)}"
                )
            governed = _GOVERNED.index(governs)
            rules[component, max(0, governed - 2)] = _RULES.index(name), governed, 0
        if (rules[component] < 0).any():
            raise DataError(f"{path}: component {component} lacks a rule; there must be one for each group")
    return rules
