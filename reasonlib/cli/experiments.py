"""The commands that run experiments: ``list`` and ``run``."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reasonlib.cli.common import Checkpoints, Device, Records, checkout
from reasonlib.cli.trials import announce, announce_record, finish, follow, metrics_table
from reasonlib.display.terminal import Json, make_table, print_json, print_table
from reasonlib.errors import UserError

if TYPE_CHECKING:
    from reasonlib.tracking.campaign import Part
    from reasonlib.tracking.experiment import Experiment

__all__ = ["list_", "run"]


def list_(
    topic: Annotated[str | None, typer.Argument(help="Only this topic.")] = None,
    as_json: Json = False,
) -> None:
    """List topics, experiments, their rows, scales and data."""
    from reasonlib.tracking.experiment import experiments, topics

    names = topics() if topic is None else [topic]
    by_topic = {name: experiments(name) for name in names}
    if as_json:
        print_json(
            [{"topic": name, "experiments": [_listed(e) for e in by_topic[name].values()]} for name in names]
        )
        return
    table = make_table("Experiment", "What it is", "Rows", "Scales", "Data")
    for name in names:
        for experiment in by_topic[name].values():
            data = ", ".join(f"{data} ({kind})" for data, kind in experiment.data.items())
            table.add_row(
                experiment.name,
                experiment.title,
                ", ".join(experiment.rows),
                ", ".join(experiment.scales),
                data,
            )
        if not by_topic[name]:
            table.add_row(name, "no experiments", "", "", "")
    if names:
        print_table(table)
    else:
        typer.echo("there are no topics")


def _listed(experiment: "Experiment") -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "rows": list(experiment.rows),
        "scales": list(experiment.scales),
        "data": [{"name": name, "kind": kind} for name, kind in experiment.data.items()],
    }


def run(
    experiment: Annotated[
        str,
        typer.Argument(
            help="An experiment, such as story_qa/joint, or a topic, for all its experiments.",
            show_default=False,
        ),
    ],
    row: Annotated[list[str] | None, typer.Option(help="A row; repeat for several. All by default.")] = None,
    scale: Annotated[str, typer.Option(help="smoke, quick or paper.")] = "quick",
    seed: Annotated[list[int] | None, typer.Option(help="A seed; repeat for several. 0 by default.")] = None,
    data: Annotated[str | None, typer.Option(help="A data set; the experiment's first by default.")] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Time budget of each row and seed, in minutes.")
    ] = None,
    device: Device = None,
    jobs: Annotated[int, typer.Option(help="Trials at the same time; -1 for one per core.")] = 1,
    backend: Annotated[
        str | None, typer.Option(help="How trials run in parallel: loky, threading or dask.")
    ] = None,
    dask_address: Annotated[str | None, typer.Option(help="Address of a running Dask scheduler.")] = None,
    records: Records = None,
    no_records: Annotated[bool, typer.Option("--no-records", help="Measure without recording.")] = False,
    checkpoints: Checkpoints = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start again and ignore existing checkpoints.")
    ] = False,
    progress: Annotated[bool | None, typer.Option(help="Progress bars; by default on a terminal.")] = None,
    as_json: Json = False,
) -> None:
    """Run rows of an experiment, or all experiments of a topic, and record what was measured.

    A run that was stopped, by --minutes or otherwise, resumes when the same
    command is repeated. Of a seed that is run twice with the same code and
    settings, the first complete run counts. Given a topic, the command skips
    rows that have an up-to-date record, and runs an experiment that lacks the
    data set of --data on its first one.
    """
    from reasonlib.tracking import experiment as experiments

    selection = {"scale": scale, "seeds": seed or (0,), "data": data, "fresh": fresh}
    options: dict[str, Any] = {
        "minutes": minutes,
        "device": device,
        "jobs": jobs,
        "backend": backend,
        "records": None if no_records else records or checkout() / "records",
        "checkpoints": checkpoints or checkout() / "_run",
    }
    if experiment not in experiments.topics():
        if dask_address is not None:
            options |= {"backend": backend or "dask", "address": dask_address}
        _run_experiment(experiment, {"rows": row or None, **selection}, options, progress, as_json)
    elif row or dask_address is not None:
        option = "--row" if row else "--dask-address"
        raise UserError(f"{option} needs one experiment, {experiment}/word; see: reasonlib list {experiment}")
    else:
        _run_topic(experiment, selection, {**options, "fresh": fresh}, progress, as_json)


def _run_experiment(
    name: str, selection: dict[str, Any], options: dict[str, Any], progress: bool | None, as_json: bool
) -> None:
    """Run rows of one experiment; a line follows each trial, and a table of all metrics the last."""
    from reasonlib.tracking import experiment as experiments
    from reasonlib.tracking import runner

    shown = (sys.stderr.isatty() and options["jobs"] == 1) if progress is None else progress
    measured = runner.run(
        experiments.find(name), progress=shown, on_record=announce_record, **selection, **options
    )
    if as_json:
        print_json([record.to_json() for record in measured])
    else:
        print_table(metrics_table(measured))


def _run_topic(
    topic: str, selection: dict[str, Any], options: dict[str, Any], progress: bool | None, as_json: bool
) -> None:
    """Run all that is missing of a topic; a table follows it on a terminal, elsewhere a line a trial."""
    from reasonlib.tracking import campaign

    parts = {part.trial: part for part in campaign.plan(topic, records=options["records"], **selection)}
    title = f"{topic} at {selection['scale']}"
    with follow(parts, title, sys.stderr.isatty() if progress is None else progress) as show:

        def changed(part: "Part") -> None:
            parts[part.trial] = part
            if not show(part):
                announce(part)

        done = campaign.carry_out(parts.values(), on_change=changed, **options)
    finish(done, title, as_json)
