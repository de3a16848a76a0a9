"""A conversation for people: understands what they type, and speaks to the system in words that it learned.

::

    "4 ppl in Rome, cheap" --hear--> number, location, price --> "can you book a table in rome for four ..."
                                                                       |
    the system asks for a slot that was given already -----------> answered from what was heard
    its API call differs from what was heard --------------------> "actually i would prefer in rome"

`Conversation` passes lines on word for word, so that the chapters show what a system itself understands. A
`Listener` stands between it and a person.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data.example import SILENCE
from reasonlib.goal_dialogue.data.world import SLOTS
from reasonlib.goal_dialogue.page.chat import Conversation, SystemReply
from reasonlib.goal_dialogue.page.hearing import Heard, hear

if TYPE_CHECKING:
    from reasonlib.goal_dialogue.data.example import Dialogue

__all__ = ["Listener", "Understood", "tell"]

GREETING = "hello"
WANTS = {"table", "restaurant", "reservation", "book", "eat", "dinner", "lunch", "food", "dine", "somewhere"}
REQUEST = "can you book a table"
WISHES = {"cuisine": "with {} food", "location": "in {}", "number": "for {}", "price": "in a {} price range"}
ANSWERS = {
    "cuisine": "with {} food",
    "location": "in {}",
    "number": "for {} please",
    "price": "in a {} price range please",
}
UPDATE = "instead could it be {}"
QUESTIONS = {
    "any preference on a type of cuisine": "cuisine",
    "where should it be": "location",
    "how many people would be in your party": "number",
    "which price range are looking for": "price",
}
ANYTHING_ELSE = "sure is there anything else to update"
MOST = 12  # lines that are said for the user in a row


class Understood(NamedTuple):
    """What came of a line.

    Attributes
    ----------
    replies
        What the system said.
    slots
        The wishes that were understood, by slot; empty for a line passed on as it was typed.
    """

    replies: tuple[SystemReply, ...]
    slots: Mapping[str, str]


def tell(listener: "Listener", line: str, *, as_typed: bool = False) -> Understood:
    """Say a line, in a terminal or in a notebook.

    Parameters
    ----------
    listener
        Stands between the person and the system.
    line
        What was typed.
    as_typed
        Pass it on word for word.
    """
    if as_typed:
        return Understood(listener.conversation.say(line), {})
    replies = listener.say(line)
    return Understood(replies, dict(listener.parsed.slots))


class Listener:
    """A `Conversation` that understands how people type.

    Parameters
    ----------
    conversation
        The conversation with a system; lines said to it directly are not understood.

    Attributes
    ----------
    wishes
        What was understood so far, by slot.
    parsed
        What was understood of the last line.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.types: Mapping[str, str] = conversation.knowledge.types()
        self.wishes: dict[str, str] = {}
        self.parsed = Heard()

    @property
    def waiting(self) -> bool:
        """Whether the system waits after an API call."""
        return bool(self.conversation.waiting)

    def dialogue(self) -> "Dialogue":
        """Give what was said so far, in the words that the system heard."""
        return self.conversation.dialogue()

    def say(self, text: str = "") -> tuple[SystemReply, ...]:
        """Say something; return what the system says until it is the user's turn.

        What the knowledge base lacks is said in the remark of the first reply, with what there is.

        Raises
        ------
        UserError
            If nothing is said and the system does not wait.
        """
        last, requested_slot = self._last(), QUESTIONS.get(self._last(), "")
        if not text.strip() or text.strip().lower() == SILENCE.lower():
            self.parsed = Heard()
            return self.conversation.say(text)
        self.parsed = parsed = hear(text, self.types, requested_slot=requested_slot)
        if not parsed.words:
            other = f"; {', '.join(parsed.unread)} cannot be read" if parsed.unread else ""
            raise UserError(f"say it in words, please; there was none in that line{other}")
        changed = {slot: value for slot, value in parsed.slots.items() if self.wishes.get(slot) != value}
        self.wishes.update(parsed.slots)
        for slot in parsed.lacking:
            self.wishes.pop(slot, None)
        remark = self._lacking(parsed)
        if parsed.lacking and not parsed.slots and requested_slot:
            return (SystemReply(last, (), (), remark, len(self.dialogue().turns)),)  # the same question again
        replies = list(self._speak(parsed, changed, requested_slot))
        replies += self._pursue()
        if remark and replies:
            replies[0] = replies[0]._replace(remark="; ".join(filter(None, (remark, replies[0].remark))))
        return tuple(replies)

    def _last(self) -> str:
        return self.conversation.replies[-1].text if self.conversation.replies else ""

    def _speak(
        self, parsed: Heard, changed: Mapping[str, str], requested_slot: str
    ) -> tuple[SystemReply, ...]:
        """Say a line in the system's own words; a line without a wish is passed on as it is."""
        starts = not self._is_requested() and not requested_slot and WANTS & set(parsed.words.split())
        if not parsed.slots and not parsed.lacking and not starts:
            return self.conversation.say(parsed.words)
        if requested_slot in parsed.slots:
            return self.conversation.say(ANSWERS[requested_slot].format(parsed.slots[requested_slot]))
        if requested_slot:
            return ()  # the wish is kept; the question is still open
        last = self._last()
        if last.startswith("api_call") or last == ANYTHING_ELSE:
            return ()
        if self._is_requested():
            return self.conversation.say(parsed.words)
        if not last:
            self.conversation.say(GREETING)
        return self.conversation.say(" ".join([REQUEST, *self._spoken(parsed.slots)]))

    def _pursue(self) -> list[SystemReply]:
        """Answer for the user what was given already, and correct a call that is not what was wished for."""
        replies: list[SystemReply] = []
        answered: set[str] = set()
        for _ in range(MOST):
            last = self._last()
            slot = QUESTIONS.get(last, "")
            if slot:
                if slot not in self.wishes or slot in answered:
                    break
                answered.add(slot)
                replies += self.conversation.say(ANSWERS[slot].format(self.wishes[slot]))
            elif last.startswith("api_call") or last == ANYTHING_ELSE:
                wrong = self._differing()
                if wrong and wrong[0] not in answered:
                    answered.add(wrong[0])
                    wish = WISHES[wrong[0]].format(self.wishes[wrong[0]])
                    replies += self.conversation.say(UPDATE.format(wish))
                elif last == ANYTHING_ELSE and answered:
                    replies += self.conversation.say("no")
                else:
                    break
            else:
                break
        return replies

    def _differing(self) -> list[str]:
        """List the slots in which the last request, with its updates, is not what was wished for."""
        requested: dict[str, str] = {}
        for turn in self.dialogue().turns:
            words = turn.bot.split()
            if words[:1] == ["api_call"] and len(words) == 1 + len(SLOTS):
                requested = dict(zip(SLOTS, words[1:], strict=True))
            elif turn.bot == ANYTHING_ELSE:
                requested |= hear(turn.user, self.types).slots
        return [slot for slot in SLOTS if slot in self.wishes and requested.get(slot) != self.wishes[slot]]

    def _is_requested(self) -> bool:
        """Whether the system has been asked for a table already."""
        return any(turn.user.startswith(REQUEST) for turn in self.dialogue().turns)

    def _spoken(self, slots: Mapping[str, str]) -> list[str]:
        return [WISHES[slot].format(slots[slot]) for slot in SLOTS if slot in slots]

    def _lacking(self, parsed: Heard) -> str:
        """Say what the knowledge base lacks, and what it has."""
        parts = [f"{', '.join(parsed.unread)} cannot be read"] if parsed.unread else []
        for slot, word in parsed.lacking.items():
            names = [name for name, kind in self.types.items() if kind == slot]
            description = {"number": f"table for {word}", "location": f"restaurant in {word}"}.get(
                slot, f"{word} food"
            )
            parts.append(f"there is no {description}; there is {', '.join(names[:-1])} and {names[-1]}")
        return ". ".join(parts)
