"""The commands about claims and the records behind them: ``claims``, ``settle``, ``records check``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reasonlib.cli.common import FAILED, Checkpoints, Device, Records, checkout
from reasonlib.cli.trials import announce, finish
from reasonlib.display.terminal import Json, make_table, print_json, print_table, say
from reasonlib.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

    from reasonlib.tracking.settle import Plan

__all__ = ["check_records", "claims", "settle_"]


def claims(
    topic: Annotated[str | None, typer.Option(help="Only this topic.")] = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these verdicts: reproduced, exceeded, supported, inconclusive, challenged, "
            "contradicted, not-run."
        ),
    ] = None,
    records: Records = None,
    as_json: Json = False,
) -> None:
    """Show the verdict of each published claim, and of each goal of the book."""
    from reasonlib.tracking.claims import verdicts
    from reasonlib.tracking.judging import VERDICTS

    chosen_verdicts = [word.replace("-", " ") for word in verdict or VERDICTS]
    for word in chosen_verdicts:
        if word not in VERDICTS:
            raise UserError(f"there is no verdict {word!r}; there are: {', '.join(VERDICTS)}")
    if records is not None and not records.is_dir():
        raise UserError(f"there is no folder {records}")
    rows = [row.to_json() for row in verdicts(topic, records=records) if row.verdict in chosen_verdicts]
    if as_json:
        print_json(rows)
        return
    for title, goal in (("Claims of the sources", False), ("Goals of the book", True)):
        if chosen := [row for row in rows if row["goal"] == goal]:
            print_table(_judged(title, chosen, chosen_verdicts))
    if not rows:
        typer.echo("there is no such claim")


def _judged(title: str, rows: Sequence[Mapping[str, Any]], verdict_names: Sequence[str]) -> "Table":
    """Draw claims: what was published, what we measured, what decides."""
    from reasonlib.tracking.claims import number

    colours = {"reproduced": "green", "exceeded": "green", "supported": "cyan", "challenged": "yellow"}
    table = make_table("Claim", "Published", "Ours", "95 % interval", "Ran", "Verdict", "Differs")
    for row in rows:
        ours, interval, unit = row["ours"], row["interval"], row["unit"]
        mean = "–" if ours is None else f"{number(ours['mean'], unit)} ({ours['n']})"
        interval_text = "–"
        if interval is not None:
            interval_text = f"{number(interval['low'], unit)} to {number(interval['high'], unit)}"
        data = row["data"]
        ran = "–" if data is None else f"{row['scale']}, {data['name']} ({data['kind']})"
        table.add_row(
            row["id"],
            "–" if row["published"] is None else f"{row['published']:g}",
            mean,
            interval_text,
            ran,
            row["verdict"],
            ", ".join(dict.fromkeys(condition["what"] for condition in row["conditions"])),
            style={"contradicted": "red"}.get(row["verdict"], colours.get(row["verdict"], "")),
        )
    table.title = title
    counts = ((sum(row["verdict"] == word for row in rows), word) for word in verdict_names)
    table.caption = ", ".join(f"{count} {word}" for count, word in counts)
    return table


def settle_(
    minutes: Annotated[float | None, typer.Option(help="Time budget in minutes; required to run.")] = None,
    topic: Annotated[str | None, typer.Option(help="Only the claims of this topic.")] = None,
    device: Device = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print the plan and run nothing.")] = False,
    records: Records = None,
    checkpoints: Checkpoints = None,
    as_json: Json = False,
) -> None:
    """Run the experiments that settle the most open claims per minute, or print this plan.

    A claim is open if it is inconclusive, was never run, or was run at a
    smaller scale than its source's. The plan is printed first. A run that is
    cut off when the time is up resumes when the command is repeated.
    """
    from reasonlib.tracking import settle

    if minutes is None and not plan:
        raise UserError("give --minutes to run, or --plan to see what would be run")
    if minutes is not None and not minutes > 0:
        raise UserError(f"--minutes must be above 0, got {minutes}")
    folder = records or checkout() / "records"
    planned = settle.plan(topic, minutes=minutes, device=device, folder=folder)
    if as_json and plan:
        print_json(settle.to_json(planned))
        return
    print_table(_planned(planned))
    for data, count in planned.absent.items():
        needs = "1 more claim needs" if count == 1 else f"{count} more claims need"
        say(f"{needs} the data set {data}, which is not here; see: reasonlib data list")
    if plan or minutes is None:
        return

    done = settle.carry_out(
        planned,
        minutes=minutes,
        folder=folder,
        checkpoints=checkpoints or checkout() / "_run",
        device=device,
        on_change=announce,
    )
    finish(done, f"{len(done)} of {len(planned.runs)} runs of the plan", as_json)


def _planned(planned: "Plan") -> "Table":
    """Draw a plan: each run, what it should take, and how many claims are settled with it."""
    table = make_table("Experiment", "Row", "Scale", "Data", "Seed", "Minutes", "Settles")
    settled = 0
    for run in planned.runs:
        seconds, claims = planned.seconds.get(run), planned.settles.get(run, ())
        settled += len(claims)
        cost = "not known" if seconds is None else f"{seconds / 60:.1f}"
        count = f"{len(claims)} claims" if len(claims) > 1 else f"{len(claims)} claim" if claims else ""
        table.add_row(run.experiment, run.row, run.scale, run.data, str(run.seed), cost, count)
    table.caption = (
        f"{len(planned.runs)} runs, about {planned.total / 60:.0f} minutes, would settle {settled} of "
        f"{planned.open} open claims"
    )
    return table


def check_records(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files TOPIC/NAME.jsonl of records, or folders.", show_default=False, exists=True
        ),
    ],
    against: Annotated[
        Path | None,
        typer.Option(help="Folder of existing records, such as those of the main branch.", file_okay=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check contributed records: form, code, settings, plausibility, no duplicates.

    The exit code is 1 if anything is wrong. Warnings are printed and do not fail the check.
    """
    from reasonlib.tracking import contributions

    reports = [contributions.check(file, against=against) for file in contributions.files_of(files)]
    if as_json:
        print_json([report.to_json() for report in reports])
    for report in reports:
        for problem in report.problems:
            say(f"error: {problem}")
        for warning in report.warnings:
            say(f"warning: {warning}")
        if not as_json:
            count = len(report.problems)
            state = "good" if report.ok else f"{count} problem{'s' * (count != 1)}"
            typer.echo(f"{report.file}: {report.checked} records, {report.new} new: {state}")
    if not reports:
        raise UserError("there is no file of records there")
    if not all(report.ok for report in reports):
        raise typer.Exit(FAILED)
