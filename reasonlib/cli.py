"""The command ``reasonlib``: list, run, claims, settle, records, data, ask, grade, and commands of topics.

A topic adds its own commands by a module ``page/commands.py`` with ``COMMANDS``, name to function.

Exit codes: 0 all went well; 1 something failed (a download, a check, a run); 2 a mistake in what was asked,
told in one line on standard error; 130 stopped by the user. ``--json`` prints what a program would read.
"""

import errno
import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import reasonlib
from reasonlib.display.asking import ask
from reasonlib.display.terminal import Json, make_table, print_json, print_table, say
from reasonlib.errors import DataError, UserError

if TYPE_CHECKING:
    from rich.table import Table

    from reasonlib.tracking.campaign import Part
    from reasonlib.tracking.experiment import Experiment
    from reasonlib.tracking.records import Record
    from reasonlib.tracking.settle import Plan

FAILED, MISTAKE, STOPPED = 1, 2, 130


class Commands(TyperGroup):
    """A group of commands that tells a user's mistake in one line and never by a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands of this module, then those of the topics."""
        own = super().list_commands(ctx)
        return own if ctx.parent else [*own, *topic_commands()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command of this module or, on the first level, of a topic."""
        command = super().get_command(ctx, cmd_name)
        if command is None and not ctx.parent and cmd_name in (found := topic_commands()):
            single = typer.Typer(add_completion=False)
            single.command(cmd_name)(found[cmd_name])
            command = typer.main.get_command(single)
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run the command; turn what a user can mend into a message and an exit code."""
        try:
            return super().invoke(ctx)
        except UserError as error:
            say(f"error: {error}")
            raise typer.Exit(MISTAKE) from error
        except UnicodeDecodeError as error:
            say(f"error: a file holds bytes that are no text in UTF-8 ({error.reason}, byte {error.start})")
            raise typer.Exit(MISTAKE) from error
        except BrokenPipeError:
            raise
        except RuntimeError as error:
            if "home directory" not in str(error):  # of pathlib's expanduser
                raise
            say("error: a path begins with ~ and names nobody who has a home folder here; write it in full")
            raise typer.Exit(MISTAKE) from error
        except OSError as error:
            if error.filename is None and error.errno == errno.ENOSPC:
                sys.stdout = open(os.devnull, "w")  # what is left in the buffer cannot be written either
                with suppress(OSError):
                    say("error: the output cannot be written: there is no space left")
                raise typer.Exit(FAILED) from error
            if error.filename is None:
                raise
            say(f"error: {error.filename}: {error.strerror}")
            raise typer.Exit(MISTAKE) from error
        except KeyboardInterrupt as error:
            say("stopped")
            raise typer.Exit(STOPPED) from error


def topic_commands() -> dict[str, Callable[..., None]]:
    """Return the commands that topics bring along, by name."""
    from reasonlib.tracking.experiment import part, topics

    modules = (part(topic, "page.commands") for topic in topics())
    return {name: run for module in modules if module for name, run in module.COMMANDS.items()}


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Reasoning, Reproduced: run the experiments, read the verdicts, ask the models.",
)
app.command()(ask)
data_app = typer.Typer(cls=Commands, no_args_is_help=True, help="Corpora and simulated stories.")
app.add_typer(data_app, name="data")
records_app = typer.Typer(cls=Commands, no_args_is_help=True, help="Records of runs.")
app.add_typer(records_app, name="records")

Records = Annotated[
    Path | None,
    typer.Option("--records", help="Folder of records.", envvar="REASONLIB_RECORDS", file_okay=False),
]


def main() -> None:
    """Run the command line; of several processes that work together, the first alone prints."""
    if os.environ.get("RANK", "0") != "0":
        sys.stdout = open(os.devnull, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no ✓ shows ?, and nothing breaks
    os.environ.setdefault(
        "HF_HUB_VERBOSITY", "error"
    )  # what the hub's retries come to is our one line to say
    app(prog_name="reasonlib")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reasonlib {reasonlib.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


# Experiments ------------------------------------------------------------------------------------------------


@app.command("list")
def list_(
    topic: Annotated[str | None, typer.Argument(help="Only this topic.")] = None,
    as_json: Json = False,
) -> None:
    """List topics, experiments, their rows, scales and data."""
    from reasonlib.tracking.experiment import experiments, topics

    names = topics() if topic is None else [topic]
    found = {name: experiments(name) for name in names}
    if as_json:
        print_json(
            [{"topic": name, "experiments": [_listed(e) for e in found[name].values()]} for name in names]
        )
        return
    table = make_table("Experiment", "What it is", "Rows", "Scales", "Data")
    for name in names:
        for one in found[name].values():
            data = ", ".join(f"{data} ({kind})" for data, kind in one.data.items())
            table.add_row(one.name, one.title, ", ".join(one.rows), ", ".join(one.scales), data)
        if not found[name]:
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


@app.command()
def run(
    experiment: Annotated[
        str,
        typer.Argument(
            help="Its name, topic/word: see reasonlib list. Or a topic: all its experiments.",
            show_default=False,
        ),
    ],
    row: Annotated[list[str] | None, typer.Option(help="A row; repeat for several. All by default.")] = None,
    scale: Annotated[str, typer.Option(help="smoke, quick or paper.")] = "quick",
    seed: Annotated[list[int] | None, typer.Option(help="A seed; repeat for several. 0 by default.")] = None,
    data: Annotated[str | None, typer.Option(help="A data set; the experiment's first by default.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Budget of each row and seed.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 or mps; by default the best.")] = None,
    jobs: Annotated[int, typer.Option(help="Trials at a time; -1 for one a core.")] = 1,
    backend: Annotated[str | None, typer.Option(help="loky, threading or dask.")] = None,
    dask_address: Annotated[str | None, typer.Option(help="A running Dask scheduler.")] = None,
    records: Records = None,
    no_records: Annotated[bool, typer.Option("--no-records", help="Measure without recording.")] = False,
    checkpoints: Annotated[Path | None, typer.Option(help="Folder of checkpoints; _run by default.")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start anew, without the checkpoints there are.")
    ] = False,
    progress: Annotated[bool | None, typer.Option(help="Progress bars; by default on a terminal.")] = None,
    as_json: Json = False,
) -> None:
    """Run rows of an experiment, or all experiments of a topic, and record what was measured.

    A run that was stopped, by --minutes or otherwise, continues when the same command is given again. Of a
    topic, rows that have a fresh record are passed over; an experiment without the --data asked for runs on
    its first.
    """
    from reasonlib.tracking import experiment as experiments
    from reasonlib.tracking import runner

    folders: dict[str, Any] = {
        "records": None if no_records else records or _home() / "records",
        "checkpoints": checkpoints or _home() / "_run",
    }
    if experiment in experiments.topics():
        if row or dask_address is not None:
            what = "--row" if row else "--dask-address"
            raise UserError(
                f"{what} needs one experiment, {experiment}/word; see: reasonlib list {experiment}"
            )
        wanted = {"scale": scale, "seeds": seed or (0,), "data": data, "fresh": fresh}
        how = {"minutes": minutes, "device": device, "jobs": jobs, "backend": backend, "fresh": fresh}
        _run_topic(experiment, wanted, folders | how, progress, as_json)
        return
    known = experiments.find(experiment)
    if dask_address is not None:
        backend = backend or "dask"
    found = runner.run(
        known,
        rows=row or None,
        scale=scale,
        seeds=seed or (0,),
        data=data,
        minutes=minutes,
        device=device,
        jobs=jobs,
        backend=backend,
        address=dask_address,
        fresh=fresh,
        progress=(sys.stderr.isatty() and jobs == 1) if progress is None else progress,
        on_record=_tell,
        **folders,
    )
    if as_json:
        print_json([record.to_json() for record in found])
    else:
        print_table(_measured(found))


def _run_topic(
    topic: str, wanted: dict[str, Any], how: dict[str, Any], progress: bool | None, as_json: bool
) -> None:
    """Run all that is missing of a topic; a table follows it on a terminal, elsewhere a line a trial."""
    from reasonlib.tracking import campaign

    parts = {part.trial: part for part in campaign.plan(topic, records=how["records"], **wanted)}
    title = f"{topic} at {wanted['scale']}"
    with _live(parts, title, sys.stderr.isatty() if progress is None else progress) as show:

        def changed(part: "Part") -> None:
            parts[part.trial] = part
            if not show(part):
                if part.state == "failed":
                    say(f"{part.experiment} {part.row} seed {part.seed}: {part.problem}")
                elif part.record is not None:
                    _tell(part.record)

        done = campaign.carry_out(parts.values(), on_change=changed, **how)
    if as_json:
        print_json([part.record.to_json() for part in done if part.record is not None])
    else:
        print_table(_states(done, title))
    if any(part.state == "failed" for part in done):
        raise typer.Exit(FAILED)


@contextmanager
def _live(parts: Mapping[Any, "Part"], title: str, wanted: bool) -> Iterator[Callable[["Part"], bool]]:
    """Draw the table anew at every change for the length of the block; yield what does it, if `wanted`."""
    if not wanted:
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
        return _states(shown, title, since=began, caption=left)

    with Live(get_renderable=table, console=console, refresh_per_second=1, transient=True):

        def show(part: "Part") -> bool:
            if part.state == "running":
                began[part.trial] = time.monotonic()
            return True

        yield show


def _states(
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
    counts = [(sum(part.state == one for part in parts), one) for one in STATES]
    table.caption = caption or ", ".join(f"{count} {one}" for count, one in counts if count)
    return table


def _home() -> Path:
    """Return the checkout that holds the package, or the folder we are in if it is installed."""
    root = Path(reasonlib.__file__).parent.parent
    return root if (root / "pyproject.toml").is_file() else Path.cwd()


def _tell(record: "Record") -> None:
    """Say on standard error that one trial ended; of several processes that work together, the first does."""
    from reasonlib.tracking.machine import leads

    if not leads():
        return
    ends = {"finished": "finished", "early": "stopped early", "minutes": "stopped by its budget"}
    steps = f"{record.steps.done} of {record.steps.planned} steps, " if record.steps.planned else ""
    end = f"{ends[record.steps.stopped]}, {steps}{record.seconds:.1f} s"
    say(f"{record.experiment} {record.row} seed {record.seed}: {end}")


def _measured(records: Sequence["Record"]) -> "Table":
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


# Claims -----------------------------------------------------------------------------------------------------


@app.command()
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
    """Say of every published claim, and of every goal of the book, what our records say to it."""
    from reasonlib.tracking.claims import verdicts
    from reasonlib.tracking.verdicts import VERDICTS

    wanted = [one.replace("-", " ") for one in verdict or VERDICTS]
    for one in wanted:
        if one not in VERDICTS:
            raise UserError(f"there is no verdict {one!r}; there are: {', '.join(VERDICTS)}")
    if records is not None and not records.is_dir():
        raise UserError(f"there is no folder {records}")
    rows = [found.to_json() for found in verdicts(topic, records=records) if found.verdict in wanted]
    if as_json:
        print_json(rows)
        return
    for title, goal in (("Claims of the sources", False), ("Goals of the book", True)):
        if chosen := [row for row in rows if row["goal"] == goal]:
            print_table(_judged(title, chosen, wanted))
    if not rows:
        typer.echo("there is no such claim")


def _judged(title: str, rows: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> "Table":
    """Draw claims: what was published, what we measured, what decides."""
    from reasonlib.tracking.claims import number

    colours = {"reproduced": "green", "exceeded": "green", "supported": "cyan", "challenged": "yellow"}
    table = make_table("Claim", "Published", "Ours", "95 % interval", "Ran", "Verdict", "Differs")
    for row in rows:
        ours, interval, unit = row["ours"], row["interval"], row["unit"]
        mean = "–" if ours is None else f"{number(ours['mean'], unit)} ({ours['n']})"
        reach = "–"
        if interval is not None:
            reach = f"{number(interval['low'], unit)} to {number(interval['high'], unit)}"
        data = row["data"]
        ran = "–" if data is None else f"{row['scale']}, {data['name']} ({data['kind']})"
        table.add_row(
            row["id"],
            "–" if row["published"] is None else f"{row['published']:g}",
            mean,
            reach,
            ran,
            row["verdict"],
            ", ".join(dict.fromkeys(one["what"] for one in row["conditions"])),
            style={"contradicted": "red"}.get(row["verdict"], colours.get(row["verdict"], "")),
        )
    table.title = title
    counts = ((sum(row["verdict"] == word for row in rows), word) for word in wanted)
    table.caption = ", ".join(f"{count} {word}" for count, word in counts)
    return table


@app.command("settle")
def settle_(
    minutes: Annotated[float | None, typer.Option(help="What there is to spend; needed to run.")] = None,
    topic: Annotated[str | None, typer.Option(help="Only its claims.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 or mps; by default the best.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print the plan and run nothing.")] = False,
    records: Records = None,
    checkpoints: Annotated[Path | None, typer.Option(help="Folder of checkpoints; _run by default.")] = None,
    as_json: Json = False,
) -> None:
    """Run what settles the most open claims a minute, or say what that is.

    A claim is open that is inconclusive, was never run, or was run smaller than its source ran. The plan is
    printed first. What is cut off when the time is up goes on when the command is given again.
    """
    from reasonlib.tracking import settle

    if minutes is None and not plan:
        raise UserError("give --minutes to run, or --plan to see what would be run")
    if minutes is not None and not minutes > 0:
        raise UserError(f"--minutes must be above 0, got {minutes}")
    folder = records or _home() / "records"
    planned = settle.plan(topic, minutes=minutes, device=device, folder=folder)
    if as_json and plan:
        print_json(settle.to_json(planned))
        return
    print_table(_planned(planned))
    for data, count in planned.absent.items():
        say(f"{count} more claims need the data set {data}, which is not here; see: reasonlib data list")
    if plan or minutes is None:
        return

    def changed(part: "Part") -> None:
        if part.state == "failed":
            say(f"{part.experiment} {part.row} seed {part.seed}: {part.problem}")
        elif part.record is not None:
            _tell(part.record)

    done = settle.carry_out(
        planned,
        minutes=minutes,
        folder=folder,
        checkpoints=checkpoints or _home() / "_run",
        device=device,
        on_change=changed,
    )
    if as_json:
        print_json([part.record.to_json() for part in done if part.record is not None])
    else:
        print_table(_states(done, f"{len(done)} of {len(planned.runs)} runs of the plan"))
    if any(part.state == "failed" for part in done):
        raise typer.Exit(FAILED)


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


@records_app.command("check")
def records_check(
    files: Annotated[
        list[Path], typer.Argument(help="Files of records, or folders.", show_default=False, exists=True)
    ],
    against: Annotated[
        Path | None,
        typer.Option(help="Records there are, such as those of the main branch.", file_okay=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check records that somebody hands in: form, code, settings, plausibility, no duplicates.

    Exit code 1 if anything is wrong. Warnings are said and do not fail.
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
            state = "good" if report.ok else f"{len(report.problems)} problems"
            typer.echo(f"{report.file}: {report.checked} records, {report.new} new: {state}")
    if not reports:
        raise UserError("there is no file of records there")
    if not all(report.ok for report in reports):
        raise typer.Exit(FAILED)


# Data -------------------------------------------------------------------------------------------------------


@data_app.command("list")
def data_list(as_json: Json = False) -> None:
    """List the corpora, where they come from, and whether they are on this machine."""
    from reasonlib import data

    rows: list[dict[str, Any]] = []
    for corpus in data.corpora().values():
        source = data.source_of(corpus)
        rows.append(
            {
                "name": corpus.name,
                "url": corpus.url,
                "size": corpus.size,
                "sha256": corpus.sha256,
                "licence": corpus.licence,
                "citation": corpus.citation,
                "here": None if source is None else {"kind": source.kind, "path": str(source.path)},
            }
        )
    if as_json:
        print_json(rows)
        return
    table = make_table("Corpus", "Size", "Licence", "Here", "From")
    for row in rows:
        size = "–" if row["size"] is None else f"{row['size'] / 1e6:.1f} MB"
        here = "no" if row["here"] is None else row["here"]["path"]
        table.add_row(row["name"], size, row["licence"], here, row["url"])
    print_table(table)


@data_app.command("fetch")
def data_fetch(
    name: Annotated[list[str], typer.Argument(help="Corpora: see reasonlib data list.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Download corpora into the cache; verified and unpacked, or not at all."""
    from reasonlib import data

    corpora = [data.find(one) for one in dict.fromkeys(name)]
    places = {}
    with _failing():
        for corpus in corpora:
            places[corpus.name] = str(data.fetch(corpus))
            if not as_json:
                typer.echo(f"{corpus.name}: {places[corpus.name]}")
    if as_json:
        print_json([{"name": one, "path": place} for one, place in places.items()])


@data_app.command("verify")
def data_verify(
    name: Annotated[list[str] | None, typer.Argument(help="Corpora; all that are here by default.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the corpora on this machine with what was released. Exit code 1 if anything differs."""
    from reasonlib import data

    if name:
        corpora = [data.find(one) for one in dict.fromkeys(name)]
    else:
        corpora = [corpus for corpus in data.corpora().values() if data.source_of(corpus) is not None]
    with _failing():
        found = [data.verify(corpus) for corpus in corpora]
    if as_json:
        print_json(
            [
                {
                    "name": one.corpus,
                    "ok": one.ok,
                    "checked": one.checked,
                    "path": str(one.source.path),
                    "problems": list(one.problems),
                    "absent": list(one.absent),
                }
                for one in found
            ]
        )
    for one in found:
        if not as_json and one.ok:
            typer.echo(f"{one.corpus}: good ({one.checked})")
        if not as_json and one.absent:
            more = f" and {len(one.absent) - 3} more" if len(one.absent) > 3 else ""
            typer.echo(f"{one.corpus}: not here, and not required: {', '.join(one.absent[:3])}{more}")
        for problem in one.problems:
            say(f"{one.corpus}: {problem}")
    if not found and not as_json:
        typer.echo("there is no corpus on this machine; see: reasonlib data list")
    if not all(one.ok for one in found):
        raise typer.Exit(FAILED)


@data_app.command("simulate")
def data_simulate(
    what: Annotated[str, typer.Argument(help="TOPIC/TASK, such as story_qa/qa2.", show_default=False)],
    questions: Annotated[int, typer.Option(help="How many questions.", min=1)] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.", min=0)] = 0,
    out: Annotated[
        Path | None, typer.Option(help="File or folder to write; by default text is printed.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Simulate a task and write it as the real corpus is written."""
    from reasonlib.tracking.experiment import part

    topic, _, task = what.partition("/")
    module, corpus = part(topic, "data.simulator"), part(topic, "data.corpus")
    known = dict(getattr(module, "SIMULATORS", {}))
    if corpus is None or task not in known:
        asked = f"{topic} has no task {task!r}" if task else f"name a task of {topic} as {topic}/TASK"
        raise UserError(f"{asked}; there are: {', '.join(known) or 'none'}")
    if out is not None:
        if out.exists() and not (out.is_file() or out.is_dir()):
            raise UserError(f"{out} is a device or a pipe, no file; choose another file")
        if out.exists() and not force:
            raise UserError(f"{out} exists; choose another file or give --force")
        if not out.parent.is_dir():
            raise UserError(f"there is no folder {out.parent}")
    examples = known[task](questions, seed)
    if out is None:
        typer.echo(corpus.dumps(examples), nl=False)
    else:
        try:
            corpus.write(examples, out)
        except IsADirectoryError as error:
            raise UserError(f"{out} is a folder; {what} is written as one file") from error
        say(f"{out}: {len(examples)} examples")


@contextmanager
def _failing() -> Iterator[None]:
    """Count what goes wrong with data as a failure and not as a mistake in the command."""
    try:
        yield
    except DataError as error:
        say(f"error: {error}")
        raise typer.Exit(FAILED) from error


# Grading ----------------------------------------------------------------------------------------------------


@app.command()
def grade(
    notebooks: Annotated[
        list[Path], typer.Argument(help="Notebooks handed in (.ipynb).", show_default=False, dir_okay=False)
    ],
    minutes: Annotated[float, typer.Option(help="A notebook is stopped after so long.")] = 10.0,
    seconds: Annotated[float, typer.Option(help="A cell or a check is stopped after so long.")] = 60.0,
    assignment: Annotated[
        Path | None,
        typer.Option(help="The notebook as it was handed out; by default the book's.", dir_okay=False),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Draws the cases of the checks; a notebook's own are those of 0.", min=0, max=2**31 - 1
        ),
    ] = 1,
    csv: Annotated[
        Path | None, typer.Option(help="Write the grades to this file as well.", dir_okay=False)
    ] = None,
    feedback: Annotated[
        Path | None, typer.Option(help="Write a page of feedback for each notebook here.", file_okay=False)
    ] = None,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Run the code with your rights, without a sandbox.")
    ] = False,
    account: Annotated[
        str | None, typer.Option(help="Run the code as this user, in a container without bubblewrap.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run notebooks that were handed in, each in a sandbox, and grade their exercises.

    Every notebook is graded for itself: one that cannot be graded is listed with the reason.
    """
    from reasonlib.grading import grades

    for name, value in (("--minutes", minutes), ("--seconds", seconds)):
        if not 0 < value <= 60 * 24:
            raise UserError(f"{name} must be above 0 and at most 1440, got {value}")
    lines = []
    for line in grades.grade_all(
        notebooks,
        minutes=minutes,
        seconds=seconds,
        assignment=assignment,
        seed=seed,
        unsafe=unsafe,
        account=account,
    ):
        lines.append(line)
        if feedback is not None:
            grades.write_feedback(line, feedback)
        if csv is not None:
            grades.write_csv(lines, csv)
        if line.graded is None:
            say(f"error: {line.problem}")
        elif not as_json:
            print_table(grades.as_table(line.graded))
    if as_json:
        print_json([line.as_dict() for line in lines])
    if any(line.graded is None for line in lines):
        raise typer.Exit(FAILED)


if __name__ == "__main__":
    main()
