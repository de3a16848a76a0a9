"""A chat about names that nobody has heard: the copying network beside N2N, on the same lines.

>>> oov()
User: hi. System: hello what can i help you with today. ...
"""

from pathlib import Path

from reasonlib.display import live
from reasonlib.display.plotting import Picture
from reasonlib.goal_dialogue.data.world import WORLD
from reasonlib.goal_dialogue.models.copier import Copier
from reasonlib.goal_dialogue.models.pretrained import from_pretrained
from reasonlib.goal_dialogue.page.chat import Conversation
from reasonlib.goal_dialogue.page.live import world
from reasonlib.goal_dialogue.page.live.chat import BITS, PageSystem

__all__ = ["LINES", "SCRIPTS", "oov"]

FOLDER = Path(__file__).parent
SCRIPTS = tuple(FOLDER / f"{name}.js" for name in ("world", "memory_network", "copying", "talk", "oov"))

LINES = (
    "hi",
    "may i have a table in {city} with {food} food",
    "for four people please",
    "in a cheap price range please",
    "no",
    "",
    "no this does not work for me",
    "let's do it",
    "may i have the address of the restaurant",
    "thanks",
    "no thanks",
)
"""What the user says; the names are the reader's."""

PLAYED = 4  # lines that are said when the figure starts


def oov(city: str = "zanzibar", food: str = "martian") -> Picture:
    """Put the copying network and N2N into the page, to be talked to about invented names.

    Parameters
    ----------
    city, food
        Names to begin with; the reader changes them.
    """
    copier: Copier = from_pretrained("copying")
    halves = (WORLD.seen, WORLD.unseen)
    system = PageSystem("n2n", halves)
    config = copier.model.config
    talk = Conversation(copier)
    for line in LINES[:PLAYED]:
        talk.say(line.format(city=city, food=food))
    return live.figure(
        "oov",
        label="Talk to two networks about invented names",
        static=talk.show(),
        scripts=SCRIPTS,
        styles=[FOLDER / "chat.css", FOLDER / "oov.css"],
        data={
            "world": world.world_data(halves),
            "words": system.words,
            "types": system.plain_types(),
            **world.sayable(halves),
            "network": system.sizes("N2N"),
            "copying": {
                "words": copier.language.words,
                "templates": copier.language.templates,
                "width": config.width,
                "hops": config.hops,
                "slots": config.slots,
                "radius": config.radius,
                "rounds": config.rounds,
                "max_age": config.max_age,
            },
            "lines": LINES,
            "played": PLAYED,
            "city": city,
            "food": food,
        },
        models={
            "copying": live.pack_weights(copier.model.state_dict()),
            "n2n": system.packed(),
        },
        about=f"The copying network generates its responses; N2N (weights rounded to {BITS} bits) chooses "
        "from a list that covers all restaurants of ten cities. For an invented name the page invents three "
        "restaurants.",
        offer="With scripts you can type a city and a cuisine, and talk to both networks.",
    )
