"""A chat with a memory network in the page: it reads the dialogue, and shows each hop turn by turn.

>>> chat()
User: hi. System: hello what can i help you with today. ...
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from reasonlib.display import live
from reasonlib.display.plotting import Picture
from reasonlib.goal_dialogue.data.example import Example
from reasonlib.goal_dialogue.data.world import WORLD, Half
from reasonlib.goal_dialogue.models import tying
from reasonlib.goal_dialogue.models.hop_updates import Gate
from reasonlib.goal_dialogue.models.memory_network import MemoryNetworkOutput
from reasonlib.goal_dialogue.models.memory_system import MemoryNetworkSystem
from reasonlib.goal_dialogue.models.pretrained import from_pretrained
from reasonlib.goal_dialogue.page.chat import Conversation
from reasonlib.goal_dialogue.page.live import world

__all__ = ["SCRIPTS", "PageSystem", "chat"]

FOLDER = Path(__file__).parent
SCRIPTS = tuple(FOLDER / f"{name}.js" for name in ("world", "memory_network", "talk", "chat"))

TITLES = {"n2n": "N2N", "gn2n": "GN2N", "un2n": "UN2N"}
PLAYED = 3  # lines of the example that are said when the figure starts
BITS = 6  # of a weight: 0.2 % of the responses in test dialogues change (measured)


class PageSystem:
    """A bundled memory network as the page has it: weights of few bits, and fewer candidates.

    Parameters
    ----------
    name
        ``"n2n"``, ``"gn2n"`` or ``"un2n"``.
    halves
        Of the world whose restaurants it may name.
    bits
        Of a weight.
    """

    def __init__(self, name: str, halves: Sequence[Half], bits: int = BITS) -> None:
        bundled: MemoryNetworkSystem = from_pretrained(name)
        self.model = live.rounded(bundled.model, bits=bits)
        self.bits = bits
        number = {candidate: index for index, candidate in enumerate(bundled.task.candidates)}
        self.candidates = world.texts(halves)
        self.allowed = [number[text] for text in self.candidates]
        self.words = [token for token in bundled.task.vocabulary if not token.startswith("resto_")]
        tokens = [*self.words]
        for restaurant in world.restaurants(halves):
            tokens += [restaurant, f"{restaurant}_phone", f"{restaurant}_address"]
        self.rows = bundled.task.vocabulary.encode(tokens)
        self.types = bundled.task.types
        self.system = MemoryNetworkSystem(self.model, bundled.task)

    def ask(self, examples: Sequence[Example]) -> MemoryNetworkOutput:
        """Give logits of the page's candidates (B, C), attention and gates at some turns."""
        answered = self.system.ask(examples)
        return answered._replace(logits=answered.logits[:, self.allowed])

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the best of the page's candidates for each example."""
        return [self.candidates[index] for index in self.ask(examples).logits.argmax(1).tolist()]

    def plain_types(self) -> dict[str, str]:
        """Give the type of each entity whose name does not show it."""
        return {entity: kind for entity, kind in self.types.items() if not entity.startswith("resto_")}

    def packed(self) -> dict[str, Any]:
        """Write the weights; each table holds the rows that the page uses."""
        short = len(self.words) if isinstance(self.model.tying, tying.Layerwise) else len(self.rows)
        state = {}
        for name, tensor in self.model.state_dict().items():
            kept = tensor
            if name.startswith("encoder.tables."):
                asks = name == f"encoder.tables.{self.model.tying.query}"
                kept = tensor[torch.tensor(self.rows[: short if asks else None])]
            state[name] = kept
        return live.pack_weights(state, bits=self.bits)

    def sizes(self, title: str) -> dict[str, Any]:
        """Write what the constructor in ``memory_network.js`` reads besides the weights."""
        unified = isinstance(self.model.tying, tying.Unified)
        return {
            "title": title,
            "tying": "unified" if unified else "layerwise",
            "update": "gate" if isinstance(next(iter(self.model.steps)), Gate) else "map",
            "hops": len(self.model.order),
            "slots": self.model.slots,
        }


def chat(
    names: Sequence[str] = ("n2n",), *, dialogues: tuple[int, ...] = (5, 4, 10), bits: int = BITS
) -> Picture:
    """Put a chat with memory networks into the page, with what each hop read before each response.

    Parameters
    ----------
    names
        Which networks the reader can talk to: ``"n2n"``, ``"gn2n"``, ``"un2n"``.
    dialogues
        Of the test set, whose user's lines are offered.
    bits
        Of a weight.

    Raises
    ------
    ValueError
        If no network is named, or one is not among those.
    """
    if not names or any(name not in TITLES for name in names):
        raise ValueError(f"names must be some of {', '.join(TITLES)}, got {list(names)}")
    halves = (WORLD.seen,)
    systems = {name: PageSystem(name, halves, bits) for name in names}
    first = next(iter(systems.values()))
    examples = world.examples(dialogues)
    talk = Conversation(first)
    for line in examples[0]["lines"][:PLAYED]:
        talk.say(line)
    still = talk.show()
    return live.figure(
        "chat",
        label="Talk to a memory network",
        static=still,
        scripts=SCRIPTS,
        styles=[FOLDER / "chat.css"],
        data={
            "world": world.world_data(halves),
            "words": first.words,
            "types": first.plain_types(),
            **world.sayable(halves),
            "networks": {name: system.sizes(TITLES[name]) for name, system in systems.items()},
            "examples": examples,
            "played": PLAYED,
        },
        models={name: system.packed() for name, system in systems.items()},
        about=f"{', '.join(TITLES[name] for name in names)} with match features, trained on simulated "
        f"dialogues. The page has the restaurants of {', '.join(map(str.capitalize, WORLD.seen.locations))}.",
        offer="With scripts you can talk to it, and see what each hop read before each response.",
    )
