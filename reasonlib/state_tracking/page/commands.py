"""The command ``track``: follow a dialogue in a terminal and see how its state changes."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from reasonlib.data.files import read_lines
from reasonlib.display.terminal import Json, print_json, write

__all__ = ["COMMANDS", "track"]


def track(
    dialogue: Annotated[
        Path | None,
        typer.Argument(help="A file with lines such as: user: i need a hotel. By default standard input."),
    ] = None,
    say: Annotated[list[str] | None, typer.Option(help="A line of the dialogue; repeat for several.")] = None,
    as_json: Json = False,
) -> None:
    """Follow a dialogue and show how its state changes, turn by turn.

    A line without a speaker is the user's; a line that begins with system: is the system's.
    """
    from reasonlib.state_tracking.page.track import follow, read_dialogue

    if say:
        lines = say
    elif dialogue is None:
        lines = sys.stdin.read().splitlines()
    else:
        lines = read_lines(
            dialogue, missing="name a file with lines such as: user: i need a hotel", whole=False
        )
    steps = list(follow(read_dialogue(lines)))
    if as_json:
        print_json([step._asdict() for step in steps])
        return
    for step in steps:
        changes = ", ".join(f"{pair} = {value}" for pair, value in step.changed.items()) or "no change"
        write(f"turn {step.turn}: {changes}")
        if step.unknown:
            write(f"  (not in the small tracker's vocabulary: {', '.join(step.unknown)})")


COMMANDS: dict[str, Callable[..., None]] = {"track": track}
