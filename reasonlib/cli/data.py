"""The commands about data: ``data list``, ``data fetch``, ``data verify``, ``data simulate``."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from reasonlib.cli.common import FAILED
from reasonlib.display.terminal import Json, make_table, print_json, print_table, say
from reasonlib.errors import DataError, UserError

__all__ = ["fetch", "list_", "simulate", "verify"]


def list_(as_json: Json = False) -> None:
    """List the corpora, their origin, and whether they are on this machine."""
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


def fetch(
    name: Annotated[list[str], typer.Argument(help="Corpora: see reasonlib data list.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Download, verify and unpack corpora into the cache; a failed download leaves nothing behind."""
    from reasonlib import data

    corpora = [data.find(label) for label in dict.fromkeys(name)]
    paths = {}
    with _failing():
        for corpus in corpora:
            paths[corpus.name] = str(data.fetch(corpus))
            if not as_json:
                typer.echo(f"{corpus.name}: {paths[corpus.name]}")
    if as_json:
        print_json([{"name": corpus, "path": path} for corpus, path in paths.items()])


def verify(
    name: Annotated[list[str] | None, typer.Argument(help="Corpora; by default all on this machine.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the corpora on this machine with the released files. The exit code is 1 if anything differs."""
    from reasonlib import data

    if name:
        corpora = [data.find(label) for label in dict.fromkeys(name)]
    else:
        corpora = [corpus for corpus in data.corpora().values() if data.source_of(corpus) is not None]
    with _failing():
        results = [data.verify(corpus) for corpus in corpora]
    if as_json:
        print_json(
            [
                {
                    "name": result.corpus,
                    "ok": result.ok,
                    "checked": result.checked,
                    "path": str(result.source.path),
                    "problems": list(result.problems),
                    "absent": list(result.absent),
                }
                for result in results
            ]
        )
    for result in results:
        if not as_json and result.ok:
            typer.echo(f"{result.corpus}: good ({result.checked})")
        if not as_json and result.absent:
            more = f" and {len(result.absent) - 3} more" if len(result.absent) > 3 else ""
            typer.echo(f"{result.corpus}: not here, and not required: {', '.join(result.absent[:3])}{more}")
        for problem in result.problems:
            say(f"{result.corpus}: {problem}")
    if not results and not as_json:
        typer.echo("there is no corpus on this machine; see: reasonlib data list")
    if not all(result.ok for result in results):
        raise typer.Exit(FAILED)


def simulate(
    task: Annotated[str, typer.Argument(help="TOPIC/TASK, such as story_qa/qa2.", show_default=False)],
    questions: Annotated[int, typer.Option(help="How many questions.", min=1)] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.", min=0)] = 0,
    out: Annotated[
        Path | None, typer.Option(help="File or folder to write; by default text is printed.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Simulate a task and write it in the format of the released corpus."""
    from reasonlib.tracking.experiment import part

    topic, _, name = task.partition("/")
    module, corpus = part(topic, "data.simulator"), part(topic, "data.corpus")
    simulators = dict(getattr(module, "SIMULATORS", {}))
    if corpus is None or name not in simulators:
        problem = f"{topic} has no task {name!r}" if name else f"name a task of {topic} as {topic}/TASK"
        raise UserError(f"{problem}; there are: {', '.join(simulators) or 'none'}")
    if out is not None:
        if out.exists() and not (out.is_file() or out.is_dir()):
            raise UserError(f"{out} is a device or a pipe, no file; choose another file")
        if out.exists() and not force:
            raise UserError(f"{out} exists; choose another file or give --force")
        if not out.parent.is_dir():
            raise UserError(f"there is no folder {out.parent}")
    examples = simulators[name](questions, seed)
    if out is None:
        typer.echo(corpus.dumps(examples), nl=False)
    else:
        try:
            corpus.write(examples, out)
        except IsADirectoryError as error:
            raise UserError(f"{out} is a folder; {task} is written as one file") from error
        say(f"{out}: {len(examples)} examples")


@contextmanager
def _failing() -> Iterator[None]:
    """Count what goes wrong with data as a failure and not as a mistake in the command."""
    try:
        yield
    except DataError as error:
        say(f"error: {error}")
        raise typer.Exit(FAILED) from error
