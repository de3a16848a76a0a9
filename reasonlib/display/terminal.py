"""What every command prints: lines for the user, JSON for a program, tables for a terminal."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Json", "make_table", "print_json", "print_table", "say", "write"]

WIDTH = 160  # columns of a table that does not go to a terminal

Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def write(line: str) -> None:
    """Print a line; what the terminal's encoding lacks is shown as ``?``."""
    print(line, flush=True)  # typer's own writes UTF-8 to a terminal that says it reads ASCII


def say(line: str) -> None:
    """Print a line for the user, on standard error."""
    print(line, file=sys.stderr, flush=True)


def print_json(values: Any) -> None:
    """Print values as JSON for a program to read."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    write(json.dumps(values, indent=2, ensure_ascii=not unicode))


def make_table(*headings: str) -> "Table":
    """Make a table with these headings; cells are folded, never cut."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, title_justify="left", caption_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def print_table(table: "Table") -> None:
    """Print a table, 160 columns wide where the output is not a terminal."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else WIDTH, markup=False, highlight=False)
    console.print(table)
