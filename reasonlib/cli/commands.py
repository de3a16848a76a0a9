"""The root of the command line: its groups, and how a mistake of a user becomes one line and an exit code."""

import errno
import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import reasonlib
from reasonlib.cli import claims, data, experiments, grading
from reasonlib.cli.common import FAILED, MISTAKE, STOPPED
from reasonlib.display.asking import ask
from reasonlib.display.terminal import say
from reasonlib.errors import UserError

__all__ = ["app", "main"]


class Commands(TyperGroup):
    """A group of commands that tells a user's mistake in one line and never by a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands of this module, then those of the topics."""
        own = super().list_commands(ctx)
        return own if ctx.parent else [*own, *topic_commands()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command of this module or, on the first level, of a topic."""
        command = super().get_command(ctx, cmd_name)
        if command is None and not ctx.parent and cmd_name in (topics := topic_commands()):
            single = typer.Typer(add_completion=False)
            single.command(cmd_name)(topics[cmd_name])
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
    help="Reasoning, Reproduced: run experiments, read verdicts, and ask the models.",
)
app.command()(ask)
app.command("list")(experiments.list_)
app.command()(experiments.run)
app.command()(claims.claims)
app.command("settle")(claims.settle_)
app.command()(grading.grade)

data_app = typer.Typer(cls=Commands, no_args_is_help=True, help="List, fetch, check and simulate data.")
data_app.command("list")(data.list_)
data_app.command()(data.fetch)
data_app.command()(data.verify)
data_app.command()(data.simulate)
app.add_typer(data_app, name="data")

records_app = typer.Typer(cls=Commands, no_args_is_help=True, help="Check records of runs.")
records_app.command("check")(claims.check_records)
app.add_typer(records_app, name="records")


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


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"reasonlib {reasonlib.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
