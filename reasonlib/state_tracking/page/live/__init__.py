"""A tracker that fills in the state in the reader's browser, turn by turn, with its attention among slots.

``network.js`` is the forward pass of `SpanTracker` with layout merge on an ALBERT-shaped encoder;
``figure.js`` is what the reader sees. The shell is `reasonlib.display.live`.
"""

import html
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from reasonlib.display import live as shell
from reasonlib.display.live.encoders import describe_encoder, trim_positions
from reasonlib.display.plotting import Picture
from reasonlib.state_tracking.data.example import Dialogue, Turn
from reasonlib.state_tracking.data.ontology import PAIRS
from reasonlib.state_tracking.data.simulator import SimulatorConfig, simulate
from reasonlib.state_tracking.data.world import AREAS
from reasonlib.state_tracking.models.pretrained import BundledTracker, from_pretrained
from reasonlib.state_tracking.models.span import LONGEST_SPAN, OPEN

__all__ = ["chosen_dialogues", "state_table", "tracking", "weights_of"]

FOLDER = Path(__file__).parent
LONGEST = 320  # positions that the page carries; an older beginning is dropped


def offers_fit(turn: Turn) -> bool:
    """Say whether every area that the system names is one that the user asked for, if any was."""
    areas = {value for pair, value in turn.state.items() if pair.endswith("-area")}
    return not areas or set(turn.system.split()) & set(AREAS) <= areas


@lru_cache(maxsize=2)
def chosen_dialogues(count: int = 4, *, seed: int = 30) -> tuple[Dialogue, ...]:
    """Simulate short dialogues that end in a taxi between two places named before.

    The simulator may offer a place in another area than the user asked for; such dialogues are left out.
    """
    chosen = []
    for dialogue in simulate(400, seed, SimulatorConfig(inherit=0.9, long=0.0)):
        origins = dialogue.turns[-1].origins
        taxi = [origins.get(f"taxi-{slot}") for slot in ("departure", "destination")]
        if len(dialogue.turns) <= 9 and all(o is not None and o.kind == "inherited" for o in taxi):
            if all(offers_fit(turn) for turn in dialogue.turns):
                chosen.append(dialogue)
    return tuple(chosen[:count])


def weights_of(tracker: BundledTracker) -> dict[str, torch.Tensor]:
    """Return the tracker's ``state_dict`` with the position table cut to `LONGEST` rows."""
    return trim_positions(tracker.model.state_dict(), LONGEST)


def describe_network(tracker: BundledTracker) -> dict[str, Any]:
    """Give what the page needs beside the weights: sizes, vocabulary, pairs, candidates."""
    config = tracker.model.tracker.encoder.encoder.config
    return describe_encoder(config, tracker.tokenizer, LONGEST) | {
        "pairs": list(PAIRS),
        "open": list(OPEN),
        "longest_span": LONGEST_SPAN,
        "candidates": [list(values) for values in tracker.model.candidates.values],
    }


def state_table(dialogue: Dialogue, states: Sequence[dict[str, str]]) -> Picture:
    """Draw a dialogue with the state that each turn adds, as plain HTML."""
    rows: list[str] = []
    before: dict[str, str] = {}
    for turn, state in zip(dialogue.turns, states, strict=True):
        new = [f"{pair} = {value}" for pair, value in state.items() if before.get(pair) != value]
        cell = f"<b>system</b> {html.escape(turn.system)}<br>" if turn.system else ""
        cell += f"<b>user</b> {html.escape(turn.user)}"
        rows.append(f"<tr><td>{cell}</td><td>{html.escape('; '.join(new)) or '(no change)'}</td></tr>")
        before = state
    last = "; ".join(f"{pair} {value}" for pair, value in before.items())
    table = (
        f"<table><thead><tr><th>dialogue</th><th>what the turn adds</th></tr></thead>{''.join(rows)}</table>"
    )
    return Picture(
        f'<div class="rr-figure">{table}</div>',
        alt=f"A dialogue of {len(dialogue.turns)} turns and the state that the tracker fills in: {last}.",
    )


def tracking(
    tracker: BundledTracker | None = None,
    dialogues: Sequence[Dialogue] | None = None,
    *,
    start: int = 0,
    turn: int = 1,
    slot: str | None = None,
) -> Picture:
    """Put the tracker into the page: the reader steps through a dialogue, or writes the user's next turn.

    Parameters
    ----------
    tracker
        By default the bundled one.
    dialogues
        What the reader can pick from; by default `chosen_dialogues`.
    start
        Which dialogue comes first, counted from 0; the chapters begin with different ones.
    turn
        Up to which of its turns the figure opens, counted from 1.
    slot
        Whose attention is shown first, such as ``"taxi-destination"``; by default the last slot that the turn
        fills.

    Raises
    ------
    ValueError
        If there is no dialogue, or `start`, `turn` or `slot` is none of those that there are.
    """
    tracker = tracker or from_pretrained()
    dialogues = tuple(chosen_dialogues() if dialogues is None else dialogues)
    if not dialogues:
        raise ValueError("dialogues must hold at least one dialogue, got none")
    if not 0 <= start < len(dialogues):
        raise ValueError(f"start must be from 0 to {len(dialogues) - 1}, got {start}")
    utterances = [[[exchange.system, exchange.user] for exchange in dialogue.turns] for dialogue in dialogues]
    first = [(system, user) for system, user in utterances[start]]
    if not 1 <= turn <= len(first):
        raise ValueError(f"turn must be from 1 to {len(first)}, got {turn}")
    if slot is not None and slot not in PAIRS:
        raise ValueError(f"slot must be a domain-slot pair such as {PAIRS[0]}, got {slot}")
    states = [tracker.track(first[: count + 1]).state for count in range(len(first))]
    data = describe_network(tracker) | {"dialogues": utterances, "start": start, "turn": turn, "slot": slot}
    return shell.figure(
        "tracking",
        label="Follow a dialogue and watch the state fill in",
        static=state_table(dialogues[start], states),
        scripts=[FOLDER / "network.js", FOLDER / "figure.js"],
        styles=[FOLDER / "figure.css"],
        data=data,
        models={"tracker": shell.pack_weights(weights_of(tracker), bits=8)},
        about="A small trained tracker: 30 slot tokens read the dialogue, three layers, 64 units. It marks "
        "names, foods, times and places in the dialogue, and chooses other values from lists.",
        offer="With scripts you can step through dialogues and write a turn of your own.",
    )
