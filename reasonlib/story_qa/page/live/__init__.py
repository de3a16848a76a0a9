"""A memory network that answers in the reader's own browser, from a static page.

The figure is one piece of HTML: weights (16 bits a number, as base64), the forward pass in JavaScript
(``network.js``, written to be read), and the controls around it (``figure.js``). It asks the network for
nothing, works from a file on disk, in Jupyter and on Colab, and holds the first story's answer as plain HTML
for a page where scripts are off.

>>> live(stories=[Example(
...     task=1, story=("Mary went to the garden.",), question="Where is Mary?", answer=("garden",),
...     support=(0,), group=0,
... )])
Where is Mary? garden. Hop 1 reads sentence 1 most (1.00): Mary went to the garden. ...
"""

import base64
import html
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from reasonlib.display.plotting import HEAT, STRONGEST, Picture, memory_hops
from reasonlib.errors import UserError
from reasonlib.story_qa.data.encoding import ENCODINGS
from reasonlib.story_qa.data.example import TASK_NAMES, Example
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.models.memory_network import MemoryNetwork
from reasonlib.story_qa.models.pretrained import load_memory
from reasonlib.story_qa.page.ask import Answer, ask_memory
from reasonlib.training.vocabulary import Vocabulary

__all__ = ["LARGEST", "live", "network_code", "some_stories"]

LARGEST = 1_000_000  # bytes: what a page may carry before the first answer

CHOSEN = (2, 1, 3, 6, 7, 8, 11, 14, 15, 16, 17, 19, 20)  # tasks whose stories are offered, in this order


@lru_cache(maxsize=8)
def some_stories(
    tasks: tuple[int, ...] = CHOSEN, *, seed: int = 3, shortest: int = 4, longest: int = 9
) -> tuple[Example, ...]:
    """Simulate one story of each task, short enough to be read at a glance.

    Parameters
    ----------
    tasks
        Which of the twenty, in the order wanted.
    seed
        The same seed gives the same stories.
    shortest, longest
        Sentences a story should have; a task that has no such story gives its shortest one.
    """
    chosen = []
    for task in tasks:
        told = simulate(task, 200, seed=seed)
        fitting = [one for one in told if shortest <= len(one.story) <= longest]
        chosen.append(fitting[-1] if fitting else min(told, key=lambda one: len(one.story)))
    return tuple(chosen)


def live(
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
        The network and its words; by default the one that ships with this library.
    stories
        What the reader can pick from; the first one's answer is computed here. By default `some_stories`.
    encoding
        How the network's sentences were encoded in training: ``"position"`` (the default) or ``"bag"``.

    Returns
    -------
    Picture
        To be shown at the end of a cell, or written as a page of its own by ``save``.

    Raises
    ------
    ValueError
        If there is no story, or model and vocabulary do not belong together.
    UserError
        If the network is too large for a page.
    """
    if model is None:
        shipped = load_memory()
        model, vocabulary, encoding = shipped.model, shipped.vocabulary, encoding or shipped.encoding
    encoding = encoding or "position"
    if vocabulary is None or len(vocabulary) != model.config.vocabulary:
        known = "none" if vocabulary is None else len(vocabulary)
        raise ValueError(f"vocabulary must have the model's {model.config.vocabulary} words, got {known}")
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding must be one of {', '.join(ENCODINGS)}, got {encoding!r}")
    stories = some_stories() if stories is None else tuple(stories)
    if not stories:
        raise ValueError("stories must hold at least one story, got none")
    model = _rounded(model)
    first = ask_memory(model, vocabulary, stories[0].story, stories[0].question, encoding=encoding).labelled(
        stories[0]
    )
    data = {**_network(model, vocabulary, encoding), "stories": [_story(one) for one in stories]}
    drawn = memory_hops(first.sentences, first.weights, support=first.support)
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    red, green, blue = (round(255 * channel) for channel in to_rgb(HEAT))
    code = f"(() => {{\n{network_code()}\n{_file('figure.js')}}})();"
    for name, value in {"RED": red, "GREEN": green, "BLUE": blue, "OPACITY": STRONGEST}.items():
        code = code.replace(name, str(value), 1)
    body = (
        f"<style>{_file('figure.css')}</style>"
        '<div class="rr rr-live mathjax_ignore" role="group" aria-label="Ask the memory network"'
        f' data-lm-suppress-shortcuts="true">{_form(stories, vocabulary)}{_result(first)}{drawn.html}'
        f"{_about(model)}"
        f'<script type="application/json">{written}</script></div>'
        f"<script>{code}</script>"
    )
    size = len(body.encode())
    if size > LARGEST:
        raise UserError(
            f"the figure would weigh {size / 1e6:.1f} MB, and a page may carry {LARGEST / 1e6:.0f} MB; "
            "choose a narrower network, fewer hops or fewer stories"
        )
    return Picture(body, alt=f"{first.question} {first.text}. {drawn.alt}")


def network_code() -> str:
    """Give the forward pass as it runs in the page: JavaScript, made to be read beside the model's file."""
    return _file("network.js")


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _rounded(model: MemoryNetwork) -> MemoryNetwork:
    """Copy a network with its weights rounded to 16 bits, as the page gets them."""
    copy = MemoryNetwork(model.config)
    copy.load_state_dict({name: tensor.cpu().half().float() for name, tensor in model.state_dict().items()})
    if any(not bool(tensor.isfinite().all()) for tensor in copy.state_dict().values()):
        raise UserError("the network has weights that 16 bits cannot hold; train it with a lower rate")
    return copy.eval()


def _network(model: MemoryNetwork, vocabulary: Vocabulary, encoding: str) -> dict[str, Any]:
    """Write a network as what the constructor in ``network.js`` reads."""
    config, tying = model.config, model.tying
    numbers = [model.state_dict()[name].numpy().ravel() for name in _tensors(model)]
    bits = np.concatenate(numbers).astype("<f2").tobytes()
    return {
        "sizes": {
            "vocabulary": config.vocabulary,
            "width": config.width,
            "hops": config.hops,
            "slots": config.slots,
            "temporal": config.temporal,
            "mapped": config.mapped,
            "linear": round(config.width * (1 - config.rectified)),  # units that pass no ReLU
        },
        "tying": {
            "tables": tying.tables,
            "query": tying.query,
            "answer": tying.answer,
            "keys": tying.keys,
            "values": tying.values,
        },
        "encoding": encoding,
        "tokens": vocabulary.tokens,
        "weights": base64.b64encode(bits).decode(),
    }


def _tensors(model: MemoryNetwork) -> list[str]:
    """Name the weights in the order in which the page takes them."""
    config = model.config
    return [
        "words",
        *(["ages"] if config.temporal else []),
        *(["between.weight"] if config.mapped else []),
    ]


def _story(example: Example) -> Mapping[str, Any]:
    return {
        "story": example.story,
        "question": example.question,
        "answer": ", ".join(example.answer),
        "support": example.support,
    }


def _form(stories: Sequence[Example], vocabulary: Vocabulary) -> str:
    """Write the controls; they stay hidden until the script runs."""
    options = "".join(
        f'<option value="{number}">{html.escape(_title(one))}</option>' for number, one in enumerate(stories)
    )
    known = ", ".join(token for token in vocabulary if "<" not in token and "," not in token)
    return (
        '<form class="rr-live-form" autocomplete="off" hidden>'
        f'<label>Story <select class="rr-live-picker">{options}<option value="own">Your own story</option>'
        "</select></label>"
        '<details class="rr-live-own"><summary>Change the story, or write your own</summary>'
        '<label>A sentence a line <textarea class="rr-live-story" rows="8" spellcheck="false"></textarea>'
        "</label>"
        f'<details><summary>The words it knows</summary><p class="rr-live-words">{html.escape(known)}</p>'
        "</details></details>"
        '<div class="rr-live-row"><label>Question <input class="rr-live-question" type="text"></label>'
        '<button type="submit">Ask</button></div></form>'
    )


def _title(example: Example) -> str:
    name = TASK_NAMES.get(example.task, "story")
    return f"{name[0].upper()}{name[1:]}: {example.question}"


def _result(answer: Answer) -> str:
    """Write the first story's answer as plain HTML, in the same places where the script puts its own."""
    right = answer.text == answer.expected
    verdict = "✓ right" if right else f"✗ the story says: {html.escape(str(answer.expected))}"
    bars = "".join(
        f"<li><span>{html.escape(text)}</span>"
        f'<span class="rr-live-bar" style="--share:{share:.4f}"></span><span>{share:.2f}</span></li>'
        for text, share in answer.others
    )
    notes = "".join(f"<li>{html.escape(note[0].upper() + note[1:])}.</li>" for note in answer.notes)
    return (
        '<div class="rr-live-result"><output class="rr-live-said" aria-live="polite">'
        f'<span class="rr-live-asked">{html.escape(answer.question)}</span> '
        f"<strong>{html.escape(answer.text)}</strong> "
        f'<span class="rr-live-verdict">{verdict}</span></output>'
        f'<ol class="rr-live-bars" aria-label="Probability of the likeliest answers">{bars}</ol></div>'
        f'<ul class="rr-live-notes">{notes}</ul>'
    )


def _about(model: MemoryNetwork) -> str:
    count = sum(tensor.numel() for tensor in model.parameters())
    return (
        f'<p class="rr-live-about">A memory network of {count:,} trained numbers, {model.config.hops} hops. '
        '<span class="rr-live-told"></span></p>'
        "<noscript><p>Scripts are off: this is the network's answer to the first story, computed beforehand. "
        "With scripts you can pick other stories, write your own, and ask.</p></noscript>"
    )
