"""The relational model: what a symbol says, the prediction written out, what may change and what may not."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from reasonlib.visual_iq.data.example import KEYS, LEVELS, POSITION_OF, Problems
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.data.symbols import (
    SYMBOL_ATTRIBUTES,
    SYMBOL_COUNTS,
    SYMBOL_OFFSETS,
    SymbolSet,
    component_symbols,
)
from reasonlib.visual_iq.models.relational import Relational, RelationalConfig

MIXED = np.array(LEVELS)
STEPS = {
    "whole": {},
    "no rows": {"rows": False},
    "not alike": {"alike": False},
    "third row only": {"every_row": False},
    "choose": {"predict": False},
}


@pytest.fixture(scope="module")
def problems():
    return Problems.concatenate([simulate(key, 6, seed=5, answers="i-raven") for key in KEYS])


def settled(model, seed=1):
    """The model in double precision, every parameter drawn."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.double().eval().parameters():
            parameter.normal_(0.0, 0.2, generator=generator)
    return model


def batch_of(problems, model):
    batch = SymbolSet.from_problems(problems, alike=model.config.alike).batch(range(len(problems)))
    return replace(batch, filled=batch.filled.double())


@torch.no_grad()
def logits(model, problems):
    return model(batch_of(problems, model)).logits


# Symbols


def panels(*rows):
    """Sixteen panels of two slots: the given ones, then the last again."""
    filled = [*rows, *[rows[-1]] * (16 - len(rows))]
    return np.array(filled, dtype=np.int8)[None]


A, B, NONE = (1, 2, 3, 4), (2, 2, 5, 6), (0, 0, 0, 0)


def test_a_symbol_is_the_common_level_or_mixed():
    symbols = component_symbols(panels([A, A], [A, B], [NONE, B], [NONE, NONE]))[0]
    assert symbols[0].tolist() == [*A, 2]
    assert symbols[1].tolist() == [5 + 1, 2, 10, 8, 2]  # mixed, but for the size
    assert symbols[2].tolist() == [*B, 1]
    assert symbols[3].tolist() == [*MIXED, 0]


def test_mixed_entities_that_were_copied_are_told_apart():
    symbols = component_symbols(panels([A, B], [A, B], [B, A], [A, B], [A, A], [A, B]))[0]
    assert symbols[0, 0] == MIXED[0]  # the first of a row has none before it
    assert symbols[1, 0] == MIXED[0] + 1
    assert symbols[2, 0] == MIXED[0]  # the same entities in other slots
    assert symbols[3, 0] == MIXED[0]  # a row begins
    assert symbols[5, 0] == MIXED[0]  # another than before
    assert symbols[1:3, 1].tolist() == [2, 2]  # a common level is itself
    assert (component_symbols(panels([A, B], [A, B]), alike=False)[0, :, 0] == MIXED[0]).all()


def test_copies_that_moved_are_copies():
    moved = np.zeros((1, 16, 4, 4), dtype=np.int8)
    moved[0, :, 0], moved[0, :, 1] = A, B
    moved[0, 1] = np.roll(moved[0, 0], 2, axis=0)
    moved[0, 2] = moved[0, 1]
    moved[0, 2, 2:] = (3, 1, 1, 1), (4, 1, 1, 1)
    assert component_symbols(moved)[0, :3, 0].tolist() == [MIXED[0], MIXED[0] + 1, MIXED[0]]


def test_candidates_are_compared_with_the_eighth_panel():
    rows = [[A, A]] * 7 + [[A, B], [A, B], [B, A]]
    assert component_symbols(panels(*rows))[0, 7:10, 0].tolist() == [MIXED[0], MIXED[0] + 1, MIXED[0]]


def test_places_are_those_of_components_with_several_slots(problems):
    symbol_set = SymbolSet.from_problems(problems)
    for number, kind in enumerate(problems.configuration):
        if KEYS[kind] == "in_distribute_four_out_center_single":
            assert not symbol_set.places[number, 0].any()
            assert np.flatnonzero(symbol_set.places[number, 1]).tolist() == sorted(POSITION_OF[kind, 1:5])
            filled = symbol_set.filled[number, 1][:, POSITION_OF[kind, 1:5]]
            assert (filled == (problems.entities[number, :, 1:5, 0] > 0)).all()
        if "center_single" in KEYS[kind] and "distribute" not in KEYS[kind]:
            assert not symbol_set.places[number].any()
    present = symbol_set.symbols[:, :, 0, 0] >= 0
    assert (present.sum(1) == [1 + (KEYS[kind].count("_") > 1) for kind in problems.configuration]).all()


# The prediction, written out


def by_hand(model, problems, number, row, third):
    """Log-probability of one panel as the third of one row, from the two other rows; 0-based panels."""
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}

    def mlp(x, name):
        for layer in (0, 2):
            x = np.maximum(x @ state[f"{name}.{layer}.weight"].T + state[f"{name}.{layer}.bias"], 0)
        return x @ state[f"{name}.4.weight"].T + state[f"{name}.4.bias"]

    def guess(name, embedded):
        rule = sum(
            mlp(np.concatenate(embedded[3 * other_row : 3 * other_row + 3]), f"{name}.reader")
            for other_row in range(3)
            if other_row != row
        )
        return mlp(np.concatenate((rule, *embedded[3 * row : 3 * row + 2])), f"{name}.predictor")

    symbol_set = SymbolSet.from_problems(problems)
    total = 0.0
    nine = [*range(8), 8 + problems.target[number]]
    for component in range(2):
        symbols = symbol_set.symbols[number, component]
        if symbols[0, 0] < 0:
            continue
        for attribute, (start, count) in enumerate(zip(SYMBOL_OFFSETS, SYMBOL_COUNTS, strict=True)):
            table = state["symbols.weight"]
            vector = guess("shared", [table[symbols[panel, attribute]] for panel in nine])
            own = slice(start, start + count)
            scores = table[own] @ vector + state["symbol_bias"][own]
            total += scores[symbols[third, attribute] - start] - np.log(np.exp(scores).sum())
        places = symbol_set.places[number, component]
        if places.any():
            filled = symbol_set.filled[number, component]
            vector = guess("position", [filled[panel] @ state["places"] for panel in nine])
            odds = state["places"] @ vector + state["place_bias"]
            each = -np.logaddexp(0, np.where(filled[third], -odds, odds))
            total += each[places].sum()
    return total


def test_scores_are_log_probabilities_of_the_third_panel(problems):
    model = settled(Relational())
    actual = logits(model, problems).numpy()
    for number in range(0, len(problems), 3):
        for candidate in (0, 5):
            expected = by_hand(model, problems, number, 2, 8 + candidate)
            np.testing.assert_allclose(actual[number, candidate], expected, rtol=1e-9)


def test_the_loss_is_the_mean_over_three_rows(problems):
    model = settled(Relational())
    few = problems[::5]
    expected = [
        by_hand(model, few, number, row, [2, 5, 8 + few.target[number]][row])
        for number in range(len(few))
        for row in range(3)
    ]
    np.testing.assert_allclose(model.loss(batch_of(few, model)).item(), -np.mean(expected), rtol=1e-9)
    model = settled(Relational(RelationalConfig(every_row=False)))
    expected = [by_hand(model, few, number, 2, 8 + few.target[number]) for number in range(len(few))]
    np.testing.assert_allclose(model.loss(batch_of(few, model)).item(), -np.mean(expected), rtol=1e-9)


def test_probabilities_of_all_symbols_sum_to_one(problems):
    model = settled(Relational())
    guess = torch.randn(
        3, len(SYMBOL_ATTRIBUTES), 1, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    torch.testing.assert_close(
        model._levels(guess).exp().sum(-1), torch.ones(3, len(SYMBOL_ATTRIBUTES), 1, dtype=torch.float64)
    )


def test_parts_add_up_to_the_logits(problems):
    model = settled(Relational())
    single = problems[problems.configuration == 0]
    with torch.no_grad():
        output = model(batch_of(single, model))
    assert output.parts.shape == (len(single), len(SYMBOL_ATTRIBUTES), 8)
    torch.testing.assert_close(output.parts.sum(1), output.logits)


# What may change, and what may not


def test_a_candidate_is_scored_by_itself(problems):
    model = settled(Relational())
    other = replace(problems, entities=problems.entities.copy())
    other.entities[:, 9:] = other.entities[::-1, 9:] * 0
    expected, actual = logits(model, problems), logits(model, other)
    torch.testing.assert_close(actual[:, 0], expected[:, 0])
    assert (actual[:, 1:] - expected[:, 1:]).abs().max() > 1e-3


def test_the_right_answer_is_not_looked_at_before_it_is_scored(problems):
    model = settled(Relational())
    assert torch.equal(logits(model, problems), logits(model, replace(problems, target=problems.target * 0)))


def test_rows_one_and_two_may_change_places(problems):
    model = settled(Relational())
    order = [3, 4, 5, 0, 1, 2, *range(6, 16)]
    swapped = replace(problems, entities=problems.entities[:, order])
    torch.testing.assert_close(logits(model, swapped), logits(model, problems))


def test_without_rows_panels_of_a_column_may_change_places(problems):
    plain = problems[problems.configuration < 1]  # one slot: no symbol compares panels
    moved = plain.entities.copy()
    moved[:, 1], moved[:, 4] = plain.entities[:, 4], plain.entities[:, 1]
    moved = replace(plain, entities=moved)
    for rows in (True, False):
        model = settled(Relational(RelationalConfig(rows=rows)))
        same = torch.allclose(logits(model, plain), logits(model, moved))
        assert same == (not rows)


# Contract


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_shapes_and_gradients(steps, problems):
    model = Relational(RelationalConfig(**steps))
    batch = SymbolSet.from_problems(problems, alike=model.config.alike).batch([0, 8, 15, 40])
    assert model(batch).logits.shape == (4, 8)
    model.loss(batch).backward()
    unused = {name for name, parameter in model.named_parameters() if parameter.grad is None}
    assert unused == ({"shared.column", "position.column"} if model.config.rows else set())


def test_parts_of_a_batch_are_the_whole(problems):
    model = settled(Relational())
    batch = batch_of(problems, model)
    with torch.no_grad():
        actual = torch.stack([model(batch.shard(index, 2)).logits for index in range(2)], 1).flatten(0, 1)
        torch.testing.assert_close(actual, model(batch).logits)


def test_a_seed_is_a_model():
    first, same, other = (Relational(seed=seed).state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["places"], other["places"])


@pytest.mark.parametrize("name", ["width", "hidden", "rule"])
def test_a_wrong_size_is_named(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        RelationalConfig(**{name: 0})
