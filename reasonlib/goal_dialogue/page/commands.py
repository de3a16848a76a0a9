"""The command ``chat``: book a table in a terminal, and see what the system read before it replied."""

import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from reasonlib.display.terminal import Json, print_json, write
from reasonlib.errors import UserError

__all__ = ["COMMANDS", "chat"]

TOPIC = "goal_dialogue"


def chat(
    topic: Annotated[str, typer.Argument(help="The topic that provides the systems.")] = TOPIC,
    model: Annotated[
        str | None, typer.Option(help="Name of a system, by default the first; an unknown name lists all.")
    ] = None,
    say: Annotated[
        list[str] | None,
        typer.Option(help="A line to say; repeat for several. By default, lines are read from the terminal."),
    ] = None,
    as_typed: Annotated[
        bool, typer.Option("--as-typed", help="Pass each line on word for word, as the chapters do.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Talk to a system, line by line; an empty line ends the conversation.

    After the system has looked up a request, an empty line lets it go on with its results instead.
    """
    from reasonlib.goal_dialogue.page.chat import open_conversation
    from reasonlib.goal_dialogue.page.listener import Listener, tell

    if topic != TOPIC:
        raise UserError(f"{topic} has no system to talk to; {TOPIC} has")
    conversation = open_conversation(model)
    listener = Listener(conversation)
    turns: list[dict[str, Any]] = []
    try:
        for line in say or _lines(lambda: bool(conversation.waiting)):
            replies, understood = tell(listener, line, as_typed=as_typed)
            turns.append(
                {"user": line, "understood": {**understood}, "system": [reply.text for reply in replies]}
            )
            if not as_json:
                if understood:
                    write(f"  (understood: {', '.join(understood.values())})")
                for reply in replies:
                    _draw(reply)
    except UserError:
        if as_json and turns:
            print_json(turns)  # what was said before the line that nobody understands
        raise
    if not turns:
        raise UserError("nothing was said; give --say, or lines on standard input")
    if as_json:
        print_json(turns)


def _lines(is_waiting: Callable[[], bool]) -> Iterator[str]:
    """Read what the user types; an empty line ends it unless the system is waiting."""
    while True:
        if sys.stdin.isatty():
            typer.echo("You: ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line or not (line.strip() or is_waiting()):
            return
        yield line.strip()


def _draw(reply: Any) -> None:
    write(reply.text)
    if reply.facts:
        names = list(dict.fromkeys(fact.subject for fact in reply.facts))
        write(f"  ({len(names)} found: {', '.join(names)})")
        write("  (change your mind now, or say nothing to hear an offer)")
    elif reply.text.startswith("api_call"):
        write("  (no restaurant found: ask for another one)")
    if reply.remark:
        write(f"  (but: {reply.remark})")
    for sentence, weight in reply.attention:
        write(f"  {weight:.2f}  {sentence}")


COMMANDS = {"chat": chat}
