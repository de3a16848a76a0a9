"""Trials as they run: a table that follows them on a terminal, a line for each elsewhere."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from reasonlib.cli.common import FAILED
from reasonlib.display.terminal import make_table, print_json, print_table, say

if TYPE_CHECKING:
    from rich.table import Table

    from reasonlib.tracking.campaign import Part
    from reasonlib.tracking.records import Record

__all__ = ["announce", "announce_record", "as_table", "finish", "follow", "metrics_table"]


@contextmanager
def follow(parts: Mapping[Any, "Part"], title: str, enabled: bool) -> Iterator[Callable[["Part"], bool]]:
    """Draw the table anew at every change for the length of the block; yield what does it, if `enabled`."""
    if not enabled:
        yield lambda part: False
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, markup=False, highlight=False)
    began: dict[Any, float] = {}

    def table() -> "Table":
        ended = [part for part in parts.values() if part.state not in ("waiting", "running")]
        waiting = [part for part in parts.values() if part.state == "waiting"]
        running = [part for part in parts.values() if part.state == "running"]
        room = max(3, console.height - 8 - len(running))
        shown = [*ended[-max(1, room - 3) :], *running, *waiting[:2]]
        left = f"{len(ended)} of {len(parts)} trials ended, {len(waiting)} wait"
        return as_table(shown, title, since=began, caption=left)

    with Live(get_renderable=table, console=console, refresh_per_second=1, transient=True):

        def show(part: "Part") -> bool:
            if part.state == "running":
                began[part.trial] = time.monotonic()
            return True

        yield show


def as_table(
    parts: Sequence["Part"], title: str, *, since: Mapping[Any, float] | None = None, caption: str = ""
) -> "Table":
    """Draw trials as a table: what state they are in, how long they took, their main metric."""
    from reasonlib.tracking.campaign import STATES, main_metric

    colours = {"there": "cyan", "waiting": "dim", "running": "yellow", "done": "green", "failed": "red"}
    table = make_table("Experiment", "Row", "Seed", "Data", "State", "Seconds", "Result")
    for part in parts:
        seconds, result, state = "", part.problem, part.state
        if part.record is not None:
            seconds, (name, value) = f"{part.record.seconds:.1f}", main_metric(part.record)
            result = f"{name} {'–' if value is None else f'{value:.4g}'}"
            if not part.record.steps.complete:
                state = "budget spent"
        elif since and part.trial in since:
            seconds = f"{time.monotonic() - since[part.trial]:.0f}"
        table.add_row(
            part.experiment,
            part.row,
            str(part.seed),
            part.data,
            state,
            seconds,
            result,
            style=colours[part.state],
        )
    table.title = title
    counts = [(sum(part.state == state for part in parts), state) for state in STATES]
    table.caption = caption or ", ".join(f"{count} {state}" for count, state in counts if count)
    return table


def announce_record(record: "Record") -> None:
    """Say on standard error that one trial ended; of several processes that work together, the first does."""
    from reasonlib.tracking.machine import leads

    if not leads():
        return
    ends = {"finished": "finished", "early": "stopped early", "minutes": "stopped by its budget"}
    steps = f"{record.steps.done} of {record.steps.planned} steps, " if record.steps.planned else ""
    end = f"{ends[record.steps.stopped]}, {steps}{record.seconds:.1f} s"
    say(f"{record.experiment} {record.row} seed {record.seed}: {end}")


def announce(part: "Part") -> None:
    """Say on standard error how a trial ended; nothing of one that has not."""
    if part.state == "failed":
        say(f"{part.experiment} {part.row} seed {part.seed}: {part.problem}")
    elif part.record is not None:
        announce_record(part.record)


def finish(parts: Sequence["Part"], title: str, as_json: bool) -> None:
    """Print trials that have ended; exit code 1 if one of them failed."""
    if as_json:
        print_json([part.record.to_json() for part in parts if part.record is not None])
    else:
        print_table(as_table(parts, title))
    if any(part.state == "failed" for part in parts):
        raise typer.Exit(FAILED)


def metrics_table(records: Sequence["Record"]) -> "Table":
    """Draw the records of one experiment: a line a trial, with its first metrics."""
    names = list(dict.fromkeys(name for record in records for name in record.metrics))
    shown = names[:6]
    table = make_table("Row", "Seed", *shown, "Steps", "Seconds")
    for record in records:
        values = ["–" if (value := record.metrics.get(name)) is None else f"{value:.4g}" for name in shown]
        steps = f"{record.steps.done}/{record.steps.planned}"
        table.add_row(record.row, str(record.seed), *values, steps, f"{record.seconds:.1f}")
    first = records[0]
    table.title = f"{first.experiment} at {first.scale} on {first.data.name} ({first.data.kind})"
    if len(names) > len(shown):
        table.caption = f"and {len(names) - len(shown)} metrics more: see --json"
    return table
