"""Questions that were drawn once, kept as compact arrays on disk.

::

    prepare(modules, count)         --> one task a block --> workers --> <folder>/<module>/<part>-<block>.npz
    draw(module, count)             --> blocks that are there are read, the others are drawn
    draw(module, count, keep=True)  --> and written

A block is the same whether it is read or drawn; only the time differs. A file holds a block or its first
questions. It is written beside its final path and renamed, so that a run that was killed goes on where it
stopped. The folder of the cache is named after the code and the packages that draw: what others drew is not
read.
"""

import contextlib
import os
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from reasonlib.data.archives import what_is_wrong
from reasonlib.errors import DataError
from reasonlib.maths_qa.data.encoding import Encoded
from reasonlib.maths_qa.data.example import DIFFICULTIES, Problem
from reasonlib.maths_qa.data.generator import BLOCK, check_request, draw_block

__all__ = ["draw", "prepare"]

FEW = 50  # questions; fewer are drawn again sooner than they are found


def draw(
    module: str,
    questions: int,
    *,
    seed: int = 0,
    difficulty: str = "easy",
    folder: Path | None = None,
    keep: bool = False,
) -> list[Problem]:
    """Return what `simulate` returns, from the blocks on disk where they are there.

    Parameters
    ----------
    module, questions, seed, difficulty
        As of `simulate`.
    folder
        Where blocks lie; by default in the cache of the library (``REASONLIB_CACHE``).
    keep
        Whether what had to be drawn is written there, if it is not few and the folder can be written.
    """
    check_request(module, questions, difficulty)
    folder = _cache() if folder is None else folder
    problems: list[Problem] = []
    for block in range(-(-questions // BLOCK)):
        count = min(BLOCK, questions - len(problems))
        path = _path(folder, module, difficulty, seed, block)
        drawn = _read(path, module, difficulty) if path.is_file() else []
        if len(drawn) < count:
            drawn = draw_block(module, difficulty, block, seed=seed, count=count)
            if keep and count >= FEW:
                with contextlib.suppress(OSError):
                    _write(path, drawn)
        problems += drawn[:count]
    return problems


def prepare(
    modules: Iterable[str],
    questions: int,
    *,
    seed: int = 0,
    difficulties: Sequence[str] = DIFFICULTIES[:3],
    folder: Path | None = None,
    workers: int = -1,
) -> int:
    """Draw whole blocks that are not on disk yet, and return how many.

    Parameters
    ----------
    modules, seed
        As of `simulate`.
    questions
        Of each module and difficulty, rounded up to whole blocks.
    difficulties
        Which.
    folder
        Where to write; by default the cache of the library.
    workers
        Processes; -1 for one a core.
    """
    from joblib import Parallel, delayed

    folder = _cache() if folder is None else folder
    tasks = []
    for module in modules:
        for difficulty in difficulties:
            check_request(module, questions, difficulty)
            for block in range(-(-questions // BLOCK)):
                path = _path(folder, module, difficulty, seed, block)
                if not path.is_file() or len(_read(path, module, difficulty)) < BLOCK:
                    tasks.append(delayed(_make)(path, module, difficulty, seed, block))
    Parallel(n_jobs=workers)(tasks)
    return len(tasks)


def _make(path: Path, module: str, difficulty: str, seed: int, block: int) -> None:
    """Draw one block and write it."""
    _write(path, draw_block(module, difficulty, block, seed=seed))


def _write(path: Path, problems: list[Problem]) -> None:
    """Write the first problems of a block, atomically."""
    encoded = Encoded.of(problems)
    lengths = np.diff(encoded.bounds).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.stem}.{os.getpid()}.npz")
    np.savez_compressed(draft, characters=encoded.characters, lengths=lengths)
    os.replace(draft, path)


def _read(path: Path, module: str, difficulty: str) -> list[Problem]:
    """Read one block, or its first problems.

    Raises
    ------
    DataError
        If the file is damaged.
    """
    try:
        with open(path, "rb") as file, np.load(file) as arrays:
            characters, lengths = arrays["characters"], arrays["lengths"].astype(np.int64)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
        raise DataError(
            f"{path}: damaged ({what_is_wrong(path, error)}); delete it, and it is drawn again"
        ) from error
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    count, odd = divmod(len(lengths), 2)
    if odd or count > BLOCK or bounds[-1] != len(characters):
        raise DataError(f"{path}: damaged (wrong lengths); delete it, and it is drawn again")
    encoded = Encoded(characters, bounds, np.zeros(count, dtype=np.int16), [module])
    return [
        Problem(
            question=encoded.question(item), answer=encoded.answer(item), module=module, difficulty=difficulty
        )
        for item in range(count)
    ]


def _cache() -> Path:
    chosen = os.environ.get("REASONLIB_CACHE")
    if chosen:
        return Path(chosen).expanduser() / "maths_qa" / _drawn_by()
    import pooch

    return Path(pooch.os_cache("reasonlib")) / "maths_qa" / _drawn_by()


@lru_cache(maxsize=1)
def _drawn_by() -> str:
    """Name the code and the packages that decide what is drawn."""
    parts = [Path(__file__).with_name(name).read_bytes() for name in ("compatibility.py", "generator.py")]
    for package in ("mathematics_dataset", "sympy", "numpy"):
        try:
            parts.append(f"{package} {version(package)}".encode())
        except PackageNotFoundError:
            parts.append(package.encode())
    return sha256(b"\0".join(parts)).hexdigest()[:12]


def _path(folder: Path, module: str, difficulty: str, seed: int, block: int) -> Path:
    return folder / module / f"{difficulty}-{seed}-{block:05d}.npz"
