"""What the commands share: exit codes, options, the checkout that they write to."""

from pathlib import Path
from typing import Annotated

import typer

import reasonlib

__all__ = ["FAILED", "MISTAKE", "STOPPED", "Checkpoints", "Device", "Records", "checkout"]

FAILED, MISTAKE, STOPPED = 1, 2, 130

Records = Annotated[
    Path | None,
    typer.Option("--records", help="Folder of records.", envvar="REASONLIB_RECORDS", file_okay=False),
]
Checkpoints = Annotated[Path | None, typer.Option(help="Folder of checkpoints; _run by default.")]
Device = Annotated[
    str | None, typer.Option(help="cpu, cuda, cuda:1 or mps; by default the fastest available.")
]


def checkout() -> Path:
    """Return the checkout that holds the package, or the folder we are in if it is installed."""
    root = Path(reasonlib.__file__).parent.parent
    return root if (root / "pyproject.toml").is_file() else Path.cwd()
