"""Read and write the released text format: a question on one line, its answer on the next.

A folder of the release (``mathematics_dataset-v1.0``) has the parts ``train-easy``, ``train-medium``,
``train-hard``, ``interpolate`` and ``extrapolate``, each with one file a module, ``<module>.txt``::

    What is the tens digit of 7542?
    4

Nothing is trained on it by default: the generator that made it draws the same kinds of questions.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from reasonlib.arguments import check_choice
from reasonlib.errors import DataError
from reasonlib.maths_qa.data.example import DIFFICULTIES, LONGEST_ANSWER, LONGEST_QUESTION, Problem
from reasonlib.maths_qa.data.vocabulary import CHARACTERS

__all__ = ["PARTS", "dumps", "read", "read_file", "write"]

PARTS = dict(
    zip(("train-easy", "train-medium", "train-hard", "interpolate", "extrapolate"), DIFFICULTIES, strict=True)
)
"""Folder of the release to difficulty."""


def read(folder: Path | str, part: str, modules: Iterable[str] | None = None) -> list[Problem]:
    """Read one part of a release.

    Parameters
    ----------
    folder
        That holds the folders of the parts.
    part
        A key of `PARTS`.
    modules
        Which files; by default all.

    Raises
    ------
    ValueError
        If there is no such part.
    DataError
        If a file is missing or a line is damaged.
    """
    check_choice("part", part, PARTS)
    directory = Path(folder) / part
    names = sorted(path.stem for path in directory.glob("*.txt")) if modules is None else list(modules)
    if not names:
        raise DataError(f"{directory}: holds no .txt files; unpack mathematics_dataset-v1.0 into {folder}")
    return [problem for name in names for problem in read_file(directory / f"{name}.txt", PARTS[part])]


def read_file(path: Path, difficulty: str) -> Iterator[Problem]:
    """Read the problems of one file, whose name is that of the module.

    Raises
    ------
    DataError
        If the file is missing or empty, has a question without an answer, or a line that is empty, too long
        or not printable ASCII. Names the file and the line.
    """
    if not path.is_file():
        raise DataError(f"{path}: missing; unpack mathematics_dataset-v1.0 again")
    if not path.stat().st_size:
        raise DataError(f"{path}: empty; unpack mathematics_dataset-v1.0 again")
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = enumerate(file, start=1)
        for number, line in lines:
            question = _checked(line, path, number, LONGEST_QUESTION)
            _, following = next(lines, (0, ""))
            if not following:
                raise DataError(f"{path}, line {number}: a question without an answer; the file is cut short")
            answer = _checked(following, path, number + 1, LONGEST_ANSWER)
            yield Problem(question=question, answer=answer, module=path.stem, difficulty=difficulty)


def dumps(problems: Iterable[Problem]) -> str:
    """Return the text of a file."""
    return "".join(f"{problem.question}\n{problem.answer}\n" for problem in problems)


def write(problems: Iterable[Problem], path: Path) -> None:
    """Write problems to a file, as `dumps` gives them."""
    path.write_text(dumps(problems), encoding="utf-8")


def _checked(line: str, path: Path, number: int, longest: int) -> str:
    text = line.rstrip("\r\n")
    if not text:
        raise DataError(f"{path}, line {number}: empty; a question or an answer is missing")
    if len(text) > longest:
        raise DataError(f"{path}, line {number}: {len(text)} characters, but {longest} are the most")
    for character in text:
        if character not in CHARACTERS:
            raise DataError(f"{path}, line {number}: {character!r} is no printable ASCII character")
    return text
