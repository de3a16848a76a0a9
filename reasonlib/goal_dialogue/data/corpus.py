"""The released files of the Dialog bAbI tasks: where they are, and how they are read and written as a whole.

`text_format` describes and parses a single file.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from reasonlib import data
from reasonlib.data import Corpus
from reasonlib.data.files import write_atomic
from reasonlib.errors import DataError, UserError
from reasonlib.goal_dialogue.data.example import Dialogue, Split
from reasonlib.goal_dialogue.data.text_format import (
    FOLDERS,
    dumps,
    dumps_knowledge,
    read_candidates,
    read_file,
    read_knowledge,
)

__all__ = [
    "CORPORA",
    "KNOWLEDGE",
    "SPLITS",
    "candidates_of",
    "locate",
    "path_of",
    "read",
    "write",
    "write_split",
]

STEMS = {
    1: "dialog-babi-task1-API-calls",
    2: "dialog-babi-task2-API-refine",
    3: "dialog-babi-task3-options",
    4: "dialog-babi-task4-phone-address",
    5: "dialog-babi-task5-full-dialogs",
    6: "dialog-babi-task6-dstc2",
}
SPLITS = {"train": "trn", "valid": "dev", "test": "tst", "oov": "tst-OOV"}
"""The splits, and what the released files call them."""

KNOWLEDGE = "dialog-babi-kb-all.txt"
"""File of the knowledge base of tasks 1 to 5."""

# ParlAI pins the SHA-256 of its copy (bb36155ccd41eac9...) but not its size; neon the size of the original
# (3,032,766 bytes) but not its SHA-256. Whether the two are the same bytes could not be established, so
# neither is registered, and the download is left to the reader.
CORPORA: dict[str, Corpus] = {
    "dialog-babi": Corpus(
        name="dialog-babi",
        url="http://parl.ai/downloads/dialog_babi/dialog_babi.tar.gz",
        sha256=None,
        size=None,
        licence="CC BY 3.0",
        citation="bordes2017",
        folder=FOLDERS[0],
        aliases=FOLDERS[1:],
        files=(
            KNOWLEDGE,
            "dialog-babi-candidates.txt",
            "dialog-babi-task6-dstc2-candidates.txt",
            *(
                f"{stem}-{ending}.txt"
                for task, stem in STEMS.items()
                for split, ending in SPLITS.items()
                if not (task == 6 and split == "oov")
            ),
        ),
        mirrors=("http://www.thespermwhale.com/jaseweston/babi/dialog-bAbI-tasks.tgz",),
    )
}


def locate() -> Path:
    """Give the folder with the released files on this machine (see `reasonlib.data.locate`).

    Raises
    ------
    DataError
        If it is not here or not whole; the message says what to do.
    """
    return data.locate(CORPORA["dialog-babi"])


def path_of(folder: str | os.PathLike[str], task: int, split: str = "train") -> Path:
    """Path of one released file.

    >>> path_of("dialog-bAbI-tasks", 1, "oov").as_posix()
    'dialog-bAbI-tasks/dialog-babi-task1-API-calls-tst-OOV.txt'
    """
    if task not in STEMS:
        raise UserError(f"task must be 1 to {len(STEMS)}, got {task}")
    if split not in SPLITS:
        raise UserError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    if task == 6 and split == "oov":
        raise UserError("task 6 has no oov split; use train, valid or test")
    return Path(folder) / f"{STEMS[task]}-{SPLITS[split]}.txt"


def candidates_of(folder: str | os.PathLike[str], task: int) -> Path:
    """Path of the file of candidates of a task: tasks 1 to 5 share one."""
    if task not in STEMS:
        raise UserError(f"task must be 1 to {len(STEMS)}, got {task}")
    stem = STEMS[6] if task == 6 else "dialog-babi"
    return Path(folder) / f"{stem}-candidates.txt"


def read(task: int, folder: str | os.PathLike[str] | None = None) -> Split:
    """Read everything released for one task, and hold every response against the candidates.

    Parameters
    ----------
    task
        1 to 6.
    folder
        The folder with the files; by default what `locate` finds.

    Raises
    ------
    DataError
        One line that names the file, the line and the remedy.
    """
    if task not in STEMS:
        raise UserError(f"task must be 1 to {len(STEMS)}, got {task}")
    folder = locate() if folder is None else Path(folder)
    path = candidates_of(folder, task)
    candidates = read_candidates(path)
    splits: dict[str, list[Dialogue]] = {
        split: []
        if task == 6 and split == "oov"
        else read_file(path_of(folder, task, split), task, candidates=candidates, source=path.name)
        for split in SPLITS
    }
    return Split(
        task=task,
        candidates=candidates,
        knowledge=None if task == 6 else read_knowledge(folder / KNOWLEDGE),
        **splits,
    )


def write(dialogues: Iterable[Dialogue], path: str | os.PathLike[str]) -> None:
    """Write dialogues to a file; an existing file stays as it is until the new one is complete."""
    _write(dumps(dialogues), Path(path))


def write_split(split: Split, folder: str | os.PathLike[str]) -> list[Path]:
    """Write a task under the released names: four files of dialogues, candidates, knowledge base.

    Returns
    -------
    list of Path
        The files written. `read` with this folder gives the split back.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        path_of(folder, split.task, name): dumps(getattr(split, name))
        for name in SPLITS
        if not (split.task == 6 and name == "oov")
    }
    texts[candidates_of(folder, split.task)] = "".join(f"1 {candidate}\n" for candidate in split.candidates)
    if split.knowledge is not None:
        texts[folder / KNOWLEDGE] = dumps_knowledge(split.knowledge)
    for path, text in texts.items():
        _write(text, path)
    return list(texts)


def _write(text: str, path: Path) -> None:
    try:
        write_atomic(path, text)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); choose another place") from error
