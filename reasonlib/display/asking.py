"""The command ``ask``: put questions to any topic that has ``page/ask.py``, and draw its attention."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from reasonlib.display.terminal import Json, make_table, print_json, print_table, say, write
from reasonlib.errors import UserError
from reasonlib.tracking.experiment import part, topics

__all__ = ["ask"]


def ask(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="STORY",
            help="The story, a file with it, or - for standard input; without stories, the question.",
        ),
    ] = None,
    question: Annotated[list[str] | None, typer.Option(help="A question; repeat for several.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Name or folder of a model, such as bert; by default the bundled one.")
    ] = None,
    topic: Annotated[
        str | None, typer.Option(help="Topic of the model; by default the first one that can answer.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask about a story, and see which sentences the model attended to.

    A topic whose questions need no story, such as maths_qa, takes the
    question in place of the story. Without --question, questions are read
    line by line; an empty line ends them.
    """
    module = _module(topic)
    if getattr(module, "NEEDS_STORY", True):
        story = _story(text)
    else:
        story, question = "", [*([text] if text else []), *(question or [])]
    answers = []
    for line in question or _questions():
        if not line.strip():
            raise UserError("a question must not be empty")
        answers.append(_plain_answer(line, module.answer(story, line, model)))
        if not as_json:
            _draw(answers[-1])
    if not answers:
        raise UserError("there is no question; give --question")
    if as_json:
        print_json(answers)


def _module(topic: str | None) -> Any:
    for name in topics() if topic is None else [topic]:
        module = part(name, "page.ask")
        if module is not None and (topic is not None or getattr(module, "NEEDS_STORY", True)):
            return module
    if topic is None:
        raise UserError("no topic here has a model to ask")
    others = ", ".join(name for name in topics() if part(name, "page.ask") is not None)
    raise UserError(f"{topic} has no model to ask; these topics have: {others or 'none'}")


def _story(story: str | None) -> str:
    """Return the story itself: as given, from a file, or from standard input."""
    if story is None and sys.stdin.isatty():
        say("Tell a story; end it with an empty line.")
        text = "\n".join(_lines())
    elif story is None or story == "-":
        text = sys.stdin.read()
    else:
        text = _from_file(story)
    if not text.strip():
        raise UserError("the story is empty; give it as text, as a file, or by - on standard input")
    return text


def _from_file(story: str) -> str:
    """Return the text of a file, or the argument itself if it is no file but a story."""
    try:
        is_file = Path(story).is_file()
    except (OSError, ValueError):  # longer than a file name can be, or with a null character
        is_file = False
    if is_file:
        try:
            return Path(story).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{story}: not UTF-8 text (byte {error.start})") from error
    if len(story.split()) == 1 and not re.search(
        r"[。！？]|[^\W\d_a-zA-Z]{4}", story
    ):  # no spaces in Chinese
        raise UserError(f"there is no file {story!r}, and one word is no story")
    return story


def _lines() -> Iterator[str]:
    for line in sys.stdin:
        if not line.strip():
            return
        yield line.strip()


def _questions() -> Iterator[str]:
    while True:
        if sys.stdin.isatty():
            typer.echo("Question: ", nl=False, err=True)
        line = sys.stdin.readline().strip()
        if not line:
            return
        yield line


def _plain_answer(question: str, answer: Any) -> dict[str, Any]:
    """Bring an answer to plain values; what the model does not give is left out."""
    values = {
        "question": question,
        "answer": answer.text,
        "sentences": list(answer.sentences),
        "weights": _plain(answer.weights),
    }
    for name in ("look", "confidence", "others", "notes"):
        if hasattr(answer, name):
            values[name] = _plain(getattr(answer, name))
    return values


def _plain(weights: Any) -> Any:
    """Return attention weights as nested lists of numbers."""
    if hasattr(weights, "tolist"):
        return weights.tolist()
    if isinstance(weights, Mapping):
        return {str(name): _plain(value) for name, value in weights.items()}
    if isinstance(weights, Iterable) and not isinstance(weights, str):
        return [_plain(value) for value in weights]
    return weights


def _draw(answer: dict[str, Any]) -> None:
    """Print an answer, and under it the sentences with a bar for the weight of each hop."""
    sure = f"  ({answer['confidence']:.2f})" if "confidence" in answer else ""
    write(f"{answer['question']}  {answer['answer']}{sure}")
    for note in answer.get("notes", ()):
        write(f"note: {note}")
    sentences, hops = answer["sentences"], answer["weights"]
    if not sentences or not hops:
        return
    if not isinstance(hops[0], list):
        hops = [hops]
    look = answer.get("look", "hop").capitalize()
    names = [look] if len(hops) == 1 else [f"{look} {number}" for number in range(1, len(hops) + 1)]
    table = make_table(answer.get("unit", "sentence").capitalize(), *names)
    for index, sentence in enumerate(sentences):
        bars = [
            f"{'█' * round(8 * hop[index]):<8} {hop[index]:.2f}" if index < len(hop) else "" for hop in hops
        ]
        table.add_row(sentence, *bars)
    print_table(table)
