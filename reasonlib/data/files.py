"""Files written as a whole."""

import os
from pathlib import Path

__all__ = ["write_atomic"]


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a file so that it is the old one until all of the new one is there; text in UTF-8, as it is.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
