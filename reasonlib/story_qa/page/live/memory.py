"""A memory network that answers in the reader's own browser, from a static page.

>>> memory(stories=[Example(
...     task=1, story=("Mary went to the garden.",), question="Where is Mary?", answer=("garden",),
...     support=(0,), group=0,
... )])
Where is Mary? garden. Hop 1 reads sentence 1 most (1.00): Mary went to the garden. ...
"""

from collections.abc import Sequence
from typing import Any

from reasonlib.arguments import check_choice
from reasonlib.display import live
from reasonlib.display.plotting import Picture
from reasonlib.story_qa.data.bags import ENCODINGS
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.models.memory_network import MemoryNetwork
from reasonlib.story_qa.models.pretrained import load_memory
from reasonlib.story_qa.page.ask import ask_memory
from reasonlib.story_qa.page.live.asking import FOLDER, asking, some_stories
from reasonlib.training.vocabulary import Vocabulary

__all__ = ["SCRIPTS", "memory"]

SCRIPTS = (FOLDER / "asking.js", FOLDER / "memory_network.js")


def memory(
    model: MemoryNetwork | None = None,
    vocabulary: Vocabulary | None = None,
    *,
    stories: Sequence[Example] | None = None,
    encoding: str | None = None,
) -> Picture:
    """Put a trained memory network into the page: the reader picks or writes a story, and asks.

    Parameters
    ----------
    model, vocabulary
        The network and its words; by default the one that is bundled with the library.
    stories
        What the reader can pick from; the first one's answer is computed here. By default `some_stories`.
    encoding
        How the network's sentences were encoded in training: ``"position"`` (the default) or ``"bag"``.

    Raises
    ------
    ValueError
        If there is no story, or model and vocabulary do not belong together.
    UserError
        If the network is too large for a page.
    """
    if model is None:
        bundled = load_memory()
        model, vocabulary, encoding = bundled.model, bundled.vocabulary, encoding or bundled.encoding
    encoding = encoding or "position"
    if vocabulary is None or len(vocabulary) != model.config.vocabulary:
        given = "none" if vocabulary is None else len(vocabulary)
        raise ValueError(f"vocabulary must have the model's {model.config.vocabulary} words, got {given}")
    check_choice("encoding", encoding, ENCODINGS)
    state = model.state_dict()
    rounded = live.rounded(model)
    count = sum(tensor.numel() for tensor in model.parameters())
    words = vocabulary
    return asking(
        "stories",
        SCRIPTS,
        label="Ask the memory network",
        ask=lambda story, question: ask_memory(rounded, words, story, question, encoding=encoding),
        stories=some_stories() if stories is None else tuple(stories),
        words=[token for token in vocabulary if "<" not in token and "," not in token],
        network=_network(model, vocabulary, encoding),
        models={"network": live.pack_weights(state)},
        about=f"A memory network of {count:,} parameters, {model.config.hops} hops.",
        reads="Hop # reads",
    )


def _network(model: MemoryNetwork, vocabulary: Vocabulary, encoding: str) -> dict[str, Any]:
    """Write what the constructor in ``memory_network.js`` reads besides the weights."""
    config, tying = model.config, model.tying
    return {
        "sizes": {
            "width": config.width,
            "hops": config.hops,
            "slots": config.slots,
            "temporal": config.temporal,
            "mapped": config.mapped,
            "linear": round(config.width * (1 - config.rectified)),  # units that pass no ReLU
        },
        "tying": {name: getattr(tying, name) for name in ("query", "answer", "keys", "values")},
        "encoding": encoding,
        "tokens": vocabulary.tokens,
    }
