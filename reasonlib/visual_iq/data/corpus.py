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

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int, UInt8
from numpy import ndarray

from reasonlib.arguments import check_choice
from reasonlib.data.archives import what_is_wrong
from reasonlib.errors import DataError, UserError
from reasonlib.visual_iq.data.annotations import read_annotations
from reasonlib.visual_iq.data.corpus_format import FOLDERS, STEM_PATTERN, file_splits
from reasonlib.visual_iq.data.corpus_writer import write
from reasonlib.visual_iq.data.example import CANVAS, CONFIGURATIONS, CONTEXT, KEYS, PANELS, Problems
from reasonlib.visual_iq.data.structure import parse_structure, structure_of

__all__ = ["FOLDERS", "Images", "dumps", "read", "read_images", "released", "write"]
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


_TREES = {structure_of(index): index for index in range(len(CONFIGURATIONS))}


def dumps(problems: Problems) -> str:
    """Refuse: a set is a folder of files and has no text form.

    Raises
    ------
    UserError
        Always.
    """
    raise UserError("problems are pictures in a folder of files; give a folder with --out")


def _stems(path: Path, split: str | None, suffixes: Sequence[str]) -> list[Path]:
    """Paths of the problems that a set, a configuration's folder or a file holds, without suffix."""
    splits = file_splits(split)
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
        stems = [stem for each in (path, *folders) for stem in _listed(each, splits)]
        if not stems:
            of_split = "of split " + split + " " if split else ""
            raise DataError(
                f"{path}: no problem {of_split}here; "
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
        match = STEM_PATTERN.fullmatch(file.stem)
        if match and match[2] in splits and file.suffix in (".npz", ".xml"):
            numbers[file.with_suffix("")] = int(match[1])
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
    check_choice("answers", answers, FOLDERS)
    folder = os.environ.get("REASONLIB_DATA")
    for name in FOLDERS[answers]:
        if folder and (Path(folder) / name).is_dir():
            return read(Path(folder) / name, split, workers=workers)
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

    chunks = (delayed(_read)(stems[start : start + 256]) for start in range(0, len(stems), 256))
    return Problems.concatenate(Parallel(n_jobs=workers)(chunks))


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
    labels = [_archive(stem.with_suffix(".npz"), images[index]) for index, stem in enumerate(stems)]
    target, configuration = np.array(labels, dtype=np.int8).T
    return Images(images, target, configuration)


def _read(stems: Sequence[Path]) -> Problems:
    parts = []
    for stem in stems:
        target, tree = _archive(stem.with_suffix(".npz"))
        index, *annotation = read_annotations(stem.with_suffix(".xml"))
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
            names = set(stored.files)
            target = stored["target"]
            tree = stored["structure"] if "structure" in names else None
            shape, dtype = _header(stored) if "image" in names else (None, None)
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
                if dtype != np.uint8:
                    raise DataError(f"{path}: grey values are {dtype}, expected uint8; store values 0 to 255")
            if image is not None:
                image[:] = stored["image"].reshape(image.shape)
    except DataError:
        raise
    except _BAD as error:
        reason = what_is_wrong(path, error)
        raise DataError(
            f"{path}: corrupt or no .npz of a problem ({reason}); write or fetch it again"
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
        readers = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
        shape, _, dtype = readers[version >= (2, 0)](file)
    return shape, dtype


def _planted(path: Path, tree: ndarray | None) -> int:
    """Find the configuration of a structure tree; of a file without one, of its folder."""
    if tree is None:
        if path.parent.name in KEYS:
            return KEYS.index(path.parent.name)
        raise DataError(f"{path}: it holds no structure and its folder is no configuration; fetch it again")
    names = [each.decode() if isinstance(each, bytes) else str(each) for each in tree.ravel().tolist()]
    tokens = tuple(name for name in names if name)
    if tokens not in _TREES:
        try:
            parse_structure(tokens)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
        raise DataError(f"{path}: unknown configuration {' '.join(tokens)!r}; known are {', '.join(KEYS)}")
    return _TREES[tokens]
