"""What ``reasonlib track`` calls: follow a dialogue that is typed or read, and say what changed."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reasonlib.errors import UserError
from reasonlib.state_tracking.models.pretrained import BundledTracker, from_pretrained

__all__ = ["Step", "follow", "read_dialogue"]


class Step(NamedTuple):
    """One turn: its number from 1, new or changed values, the whole state, words that the tracker lacks."""

    turn: int
    changed: dict[str, str]
    state: dict[str, str]
    unknown: tuple[str, ...]


def read_dialogue(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Read turns from lines that begin with ``system:`` or ``user:``; a line without either is the user's.

    Examples
    --------
    >>> read_dialogue(["i need a hotel .", "system: in what area ?", "user: the north ."])
    [('', 'i need a hotel .'), ('in what area ?', 'the north .')]

    Raises
    ------
    UserError
        If the system speaks last, or twice in turn, or nobody speaks.
    """
    turns, system = [], ""
    for number, line in enumerate(filter(str.strip, lines), start=1):
        speaker, colon, text = line.partition(":")
        if colon and speaker.strip().lower() == "system":
            if system:
                raise UserError(
                    f"line {number}: the system speaks twice in turn; a user's line must come between"
                )
            system = text.strip()
        else:
            user = text.strip() if colon and speaker.strip().lower() == "user" else line.strip()
            turns.append((system, user))
            system = ""
    if system:
        raise UserError("the dialogue must end with a user's line")
    if not turns:
        raise UserError("nothing was said; give lines such as: i need a cheap hotel .")
    return turns


def follow(turns: Sequence[tuple[str, str]], tracker: BundledTracker | None = None) -> Iterator[Step]:
    """Track a dialogue turn by turn."""
    tracker = tracker or from_pretrained()
    vocabulary = tracker.tokenizer.get_vocab()
    before: dict[str, str] = {}
    spread = [(_apart(system), _apart(user)) for system, user in turns]
    for number in range(1, len(spread) + 1):
        state = tracker.track(spread[:number]).state
        changed = {pair: value for pair, value in state.items() if before.get(pair) != value}
        words = dict.fromkeys(word for text in spread[number - 1] for word in text.split())
        unknown = tuple(word for word in words if word not in vocabulary)
        yield Step(number, changed, state, unknown)
        before = state


def _apart(text: str) -> str:
    """Lower the case and set punctuation apart, as in the simulated dialogues."""
    words = []
    for word in text.lower().split():
        core = word.rstrip(".,?!")
        words += [part for part in (core, *word[len(core) :]) if part]
    return " ".join(words)
