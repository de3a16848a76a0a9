"""Exercises of the chapter "Do slots exchange information?"."""

import random
from collections.abc import Sequence
from typing import Any

import torch

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, expect_equal, hint
from reasonlib.state_tracking.data.ontology import PAIRS, slot_of
from reasonlib.state_tracking.models.encoder import ds_mask
from reasonlib.state_tracking.models.pretrained import from_pretrained

__all__ = ["check_block_mask", "check_breaking_dialogue", "check_reach"]


@exercise(title="Block the attention among slots", minutes=10, points=2)
@hint("Start with everything allowed; forbid the square of the slot tokens except its diagonal.")
def check_block_mask(answer: Answer, seed: int) -> None:
    """Check ``block_mask(slots, words)``, a bool matrix (S, S): true where a query may look.

    S is slots + words. Slot tokens come first. A slot token sees itself and all words, and no other slot
    token; a word sees all.
    """
    draw = random.Random(seed)
    for slots, words in ((3, 4), (1, 2), (draw.randint(5, 30), draw.randint(3, 40))):
        allowed = ds_mask(torch.ones(1, words, dtype=torch.bool), slots, blocked=True)[0, 0] == 0
        free = torch.ones(slots + words, slots + words, dtype=torch.bool)
        itself = allowed.clone()
        itself[range(slots), range(slots)] = False
        apart = allowed.clone()
        apart[slots:, :slots] = False
        expect_equal(
            torch.as_tensor(answer(slots, words)).tolist(),
            allowed.tolist(),
            f"with {slots} slot tokens and {words} words, a query attends where it must not, or the reverse",
            wrong={
                "nothing is blocked": free.tolist() if slots > 1 else None,
                "true means that a query may attend, not that it must not": (~allowed).tolist(),
                "a slot token attends to the words, too, not to itself alone": _alone(slots, words).tolist(),
                "a slot token still attends to itself": itself.tolist(),
                "words still attend to slot tokens: only slot to slot is blocked": apart.tolist(),
            },
        )


def _alone(slots: int, words: int) -> torch.Tensor:
    mask = torch.ones(slots + words, slots + words, dtype=torch.bool)
    mask[:slots] = torch.eye(slots, slots + words, dtype=torch.bool)
    return mask


@exercise(title="Follow a value through the layers", minutes=15, points=2)
@hint("Two layers are two steps along the mask: multiply matrices, and let each token keep what it has.")
def check_reach(answer: Answer, seed: int) -> None:
    """Check ``reach(allowed, layers)``: which inputs a token's output can depend on after several layers.

    ``allowed`` (S, S) is bool, true where a query (row) may attend to a key (column), in every layer. Each
    layer adds to a token what it reads, so that a token also keeps what it has. The answer (S, S) is bool,
    true where the output of the row's token can depend on the input of the column's token.
    """
    draw = torch.Generator().manual_seed(60 + seed)
    blocked = ds_mask(torch.ones(1, 2, dtype=torch.bool), 3, blocked=True)[0, 0] == 0
    cases = [
        (blocked, 1, "with slots blocked and one layer, no slot reaches another slot"),
        (blocked, 2, "with slots blocked and two layers, words pass on what a slot has"),
        (
            torch.ones(4, dtype=torch.bool).diag(-1),
            3,
            "each token reads the one before it",
        ),
    ]
    for layers in (1, 2, 3, 4):
        sparse = torch.rand(9, 9, generator=draw) < 0.15
        cases.append((sparse, layers, f"with this mask of nine tokens and {layers} layers"))
    for allowed, layers, about in cases:
        kept = allowed | torch.eye(len(allowed), dtype=torch.bool)
        right = _paths(kept, layers) > 0
        expect_close(
            answer(allowed.clone(), layers),
            right.float(),
            f"{about}: some tokens are reached that cannot be, or the reverse",
            wrong={
                "this is what one layer reaches: each further layer passes it on": kept.float(),
                "a token keeps what it has, even where it may not attend to itself": (
                    _paths(allowed, layers) > 0
                ).float(),
                "one layer is one step: this takes a step too many": (_paths(kept, layers + 1) > 0).float(),
                "one layer is one step: this takes a step too few": (_paths(kept, layers - 1) > 0).float(),
                "this is transposed: the row is the token whose output is asked for": right.T.float(),
                "one path is enough: return true or false, not the number of paths": _paths(kept, layers),
            },
            what="the matrix",
        )


def _paths(steps: torch.Tensor, layers: int) -> torch.Tensor:
    """Count the paths of `layers` steps from each row to each column."""
    return torch.linalg.matrix_power(steps.float(), layers)


_SAME_KIND = (
    {"name", "departure", "destination"},
    {"book time", "arriveby", "leaveat"},
    {"book day", "day"},
)


@exercise(title="A dialogue that breaks inheritance", minutes=20, points=3)
@hint("Refer to a slot as the simulator never does: after a change of mind, or by the order of visits.")
def check_breaking_dialogue(answer: Answer) -> None:
    """Check ``breaking_dialogue()``: turns, a source pair, a pair that should inherit from it.

    It returns ``(turns, source, pair)``: turns are (system, user) texts of two turns or more; after the last,
    the bundled tracker has the right value in `source` and another one, or none, in `pair`. The last user
    turn must not say the value, and every word must be one that the tracker knows. Both pairs must have
    values of the same kind, such as a place or a time.
    """
    returned = answer()
    expect(
        isinstance(returned, (tuple, list)) and len(returned) == 3,
        "return three things: the turns, the source pair, and the pair that should inherit",
    )
    turns, source, pair = returned
    expect(
        source in PAIRS and pair in PAIRS and source != pair, "both pairs must be among the 30, and differ"
    )
    slots = {slot_of(source), slot_of(pair)}
    expect(
        len(slots) == 1 or any(slots <= kind for kind in _SAME_KIND),
        f"{pair} cannot have the value of {source}: name two slots with the same kind of value",
    )
    expect(len(turns) >= 2, "the reference must come after the value: give two turns or more")
    tracker = from_pretrained()
    words = {word for turn in turns for text in turn for word in text.lower().split()}
    unknown = sorted(words - set(tracker.tokenizer.get_vocab()))
    expect(not unknown, f"the tracker does not know {', '.join(unknown[:3])}: use words of the simulator")
    before, after = _states(tracker, turns)
    expect(source in before, f"{source} must have a value before the last turn; the tracker has {before}")
    value = before[source]
    said = f" {turns[-1][1].lower()} "
    expect(f" {value} " not in said, f"the last turn says {value!r} itself: refer to it instead")
    expect(after.get(source) == value, f"{source} changed in the last turn: keep it as it was")
    expect(after.get(pair) != value, f"the tracker is right: {pair} is {value!r}. Refer to it in another way")


def _states(tracker: Any, turns: Sequence[Sequence[str]]) -> tuple[dict[str, str], dict[str, str]]:
    utterances = [(str(system), str(user)) for system, user in turns]
    return tracker.track(utterances[:-1]).state, tracker.track(utterances).state
