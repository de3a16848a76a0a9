"""Simulated problems: they follow their rules, cover their ranges, and come back the same."""

import hashlib

import joblib
import numpy as np
import pytest
from typer.testing import CliRunner

from reasonlib.cli import app
from reasonlib.visual_iq.data import corpus
from reasonlib.visual_iq.data import simulator as simulating
from reasonlib.visual_iq.data.distractors import DISTRACTORS
from reasonlib.visual_iq.data.example import CONFIGURATIONS, CONTEXT, GOVERNED, KEYS, LEVELS
from reasonlib.visual_iq.data.grammar import ARITHMETIC, CONSTANT, DISTRIBUTE_THREE, PROGRESSION, root_range
from reasonlib.visual_iq.data.simulator import CHUNK_SIZE, SIMULATORS, simulate

NUMBER = 400
NUMBERS, POSITIONS = GOVERNED.index("number"), GOVERNED.index("position")


@pytest.fixture(scope="module", params=KEYS)
def problems(request):
    return simulate(request.param, NUMBER, seed=3)


def nine(problems, slots):
    """The eight panels and the answer, by rows: (N, 3, 3, S, A)."""
    panels = np.concatenate([problems.entities[:, :CONTEXT], problems.answer[:, None]], axis=1)[:, :, slots]
    return panels.reshape(len(panels), 3, 3, *panels.shape[2:])


def parts(problems):
    configuration = CONFIGURATIONS[problems.configuration[0]]
    for part, (component, slots) in enumerate(
        zip(configuration.components, configuration.component_slices, strict=True)
    ):
        yield component, nine(problems, slots), problems.rules[:, part], problems.uniformity[:, part]


def bits(panels):
    filled = panels[..., 0] > 0
    return (filled << np.arange(filled.shape[-1])).sum(-1), filled.sum(-1)


def turned(slots, step, size):
    return sum(1 << (slot + step) % size for slot in range(size) if slots >> slot & 1)


def cyclic(rows):
    """Rows of three different values, each row a turn of the first, all turns different."""
    first = rows[0]
    turns = {tuple(np.roll(first, shift)) for shift in range(3)}
    return len(set(first)) == 3 and {tuple(row) for row in rows} == turns


def test_shapes_and_types(problems):
    assert len(problems) == NUMBER
    assert problems.entities.shape == (NUMBER, 16, 9, 4)
    assert problems.rules.shape == (NUMBER, 2, 4, 3)
    assert problems.uniformity.shape == (NUMBER, 2)
    for array in vars(problems).values():
        assert array.dtype == np.int8
    configuration = CONFIGURATIONS[problems.configuration[0]]
    missing = len(configuration.components) == 1
    assert (problems.rules[:, 1] == -1).all() == missing
    assert (problems.uniformity[:, 1] == -1).all() == missing


def test_levels_stay_in_their_ranges(problems):
    configuration = CONFIGURATIONS[problems.configuration[0]]
    assert (problems.entities >= 0).all()
    assert (problems.entities < np.array(LEVELS)).all()
    assert not problems.entities[~problems.filled].any()
    assert not problems.filled[..., len(configuration.slots) :].any()
    for component, slots in zip(configuration.components, configuration.component_slices, strict=True):
        filled = problems.filled[..., slots]
        number = filled.sum(-1)
        assert number.min() >= component.number[0]
        assert number.max() == component.number[1]
        for group in (1, 2, 3):
            levels = problems.entities[..., slots, group - 1][filled]
            assert (levels.min(), levels.max()) == root_range(component, group)


def test_rules_on_number_and_position_hold(problems):
    for component, panels, rules, _ in parts(problems):
        sets, counts = bits(panels)
        size = len(component.slots)
        for slot_set, many, (kind, governed, value) in zip(sets, counts, rules[:, 0].tolist(), strict=True):
            values = many if governed == NUMBERS else slot_set
            a, b, c = values.T
            if kind == CONSTANT:
                assert (a == b).all() and (b == c).all()
            elif kind == DISTRIBUTE_THREE:
                assert cyclic(values)
            elif kind == PROGRESSION and governed == NUMBERS:
                assert (b == a + value).all() and (c == b + value).all()
            elif kind == PROGRESSION:
                assert [turned(start, value, size) for start in a] == b.tolist()
                assert [turned(start, value, size) for start in b] == c.tolist()
            elif governed == NUMBERS:
                assert (c == a + value * b).all()
            else:
                assert (c == (a | b if value > 0 else a & ~b)).all()
                assert ((b & ~a if value > 0 else a & ~b) > 0).all()


def test_rules_on_looks_hold(problems):
    for _, panels, rules, uniformity in parts(problems):
        filled = panels[..., 0] > 0
        for group in (1, 2, 3):
            levels = panels[..., group - 1]
            high = np.where(filled, levels, -1).max(-1)
            low = np.where(filled, levels, 99).min(-1)
            for index, (kind, _, value) in enumerate(rules[:, group].tolist()):
                rows = high[index]
                a, b, c = rows.T
                if kind != CONSTANT or uniformity[index] == 3:
                    assert (rows == low[index]).all()
                if kind == PROGRESSION:
                    assert (b == a + value).all() and (c == b + value).all()
                elif kind == DISTRIBUTE_THREE:
                    assert cyclic(rows)
                elif kind == ARITHMETIC:
                    extra = int(group == 2)
                    assert (c == a + value * (b + extra)).all()
                    assert group == 2 or b[0] or b[1]
                elif uniformity[index] == 3:
                    assert (a == b).all() and (b == c).all()


def test_constant_looks_are_copied_unless_entities_are_made_anew():
    problems = simulate("3x3Grid", 1500, seed=5)
    rules = problems.rules[:, 0]
    panels = nine(problems, slice(0, 9))
    still = (rules[:, 0, 0] == CONSTANT) & (rules[:, 1:, 0] == CONSTANT).all(1)
    assert still.sum() > 3
    assert (panels[still] == panels[still, :, :1]).all()
    anew = (rules[:, 0, 1] == NUMBERS) & (problems.uniformity[:, 0] != 3) & (rules[:, 3, 0] == CONSTANT)
    filled = panels[..., 0] > 0
    spread = np.where(filled, panels[..., 2], -1).max(-1) - np.where(filled, panels[..., 2], 99).min(-1)
    assert (spread[anew] > 0).mean() > 0.5


def test_a_quarter_is_uniform_and_then_all_entities_are_alike():
    problems = simulate("2x2Grid", 2000, seed=2)
    uniform = problems.uniformity[:, 0] == 3
    assert uniform.mean() == pytest.approx(0.25, abs=0.04)
    panels = problems.entities[uniform, :CONTEXT, :4]
    filled = panels[..., 0] > 0
    for attribute in range(4):
        levels = panels[..., attribute]
        assert (np.where(filled, levels, -1).max(-1) == np.where(filled, levels, 99).min(-1)).all()


def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    first, second, other = (simulate("O-IG", 50, seed=seed) for seed in (9, 9, 10))
    for left, right in zip(vars(first).values(), vars(second).values(), strict=True):
        assert left.tobytes() == right.tobytes()
    assert first.entities.tobytes() != other.entities.tobytes()


def test_the_bytes_themselves():
    """A change here changes every problem that anyone has drawn: say so in the changelog."""
    digests = {}
    for answers in DISTRACTORS:
        drawn = simulate("O-IG", 64, seed=1, answers=answers).entities.tobytes()
        digests[answers] = hashlib.sha256(drawn).hexdigest()[:12]
    assert digests == DIGESTS


DIGESTS = {"raven": "41656475d4c9", "i-raven": "009eb401b9c0", "raven-fair": "dcbbb4765386"}


@pytest.mark.parametrize("key", KEYS)
def test_all_answers_ask_the_same_questions(key):
    first, *others = (simulate(key, 120, seed=4, answers=answers) for answers in DISTRACTORS)
    for other in others:
        assert (first.entities[:, :CONTEXT] == other.entities[:, :CONTEXT]).all()
        assert (first.answer == other.answer).all()
        assert (first.rules == other.rules).all()
        assert (first.target == other.target).all()
        assert (first.entities != other.entities).any()


def test_the_right_place_is_uniform():
    counts = np.bincount(simulate("Center", 8000, seed=6).target, minlength=8)
    assert np.abs(counts - 1000).max() < 150


def test_chunks_join_without_a_seam():
    problems = simulate("Center", CHUNK_SIZE + 5, seed=7)
    assert len(problems) == CHUNK_SIZE + 5
    assert (simulate("Center", CHUNK_SIZE, seed=7).entities == problems.entities[:CHUNK_SIZE]).all()


def test_workers_draw_the_same_problems():
    with joblib.parallel_config(backend="threading"):
        shared = simulate("Center", 2 * CHUNK_SIZE + 5, seed=7, workers=2)
    alone = simulate("Center", 2 * CHUNK_SIZE + 5, seed=7)
    for first, second in zip(vars(shared).values(), vars(alone).values(), strict=True):
        assert (first == second).all()


def test_simulators_for_the_command_line():
    assert set(KEYS) < set(SIMULATORS)
    for name, answers in (("center_single", "raven"), ("center_single/raven-fair", "raven-fair")):
        expected = simulate("Center", 5, seed=3, answers=answers)
        assert (SIMULATORS[name](5, 3).entities == expected.entities).all()


def test_the_command_writes_a_set_that_reads_back(tmp_path):
    folder = tmp_path / "set"
    arguments = [
        "data",
        "simulate",
        "visual_iq/2x2Grid",
        "--questions",
        "3",
        "--seed",
        "2",
        "--out",
        str(folder),
    ]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code != 0
    arguments[2] = "visual_iq/distribute_four/i-raven"
    assert CliRunner().invoke(app, arguments).exit_code == 0
    problems = simulate("2x2Grid", 3, seed=2, answers="i-raven")
    loaded = corpus.read(folder)
    assert (loaded.entities == problems.entities).all()
    assert (loaded.target == problems.target).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"configuration": "spiral"}, "configuration must be one of center_single, .*got 'spiral'"),
        ({"configuration": 9}, "configuration must be 0 to 6, got 9"),
        ({"number": 0}, "number must be at least 1, got 0"),
        ({"number": -3}, "number must be at least 1, got -3"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"answers": "fair"}, "answers must be one of raven, i-raven, raven-fair, got 'fair'"),
    ],
)
def test_bad_input(given, message):
    arguments = {"configuration": "Center", "number": 2, **given}
    with pytest.raises(ValueError, match=message):
        simulate(**arguments)


def test_a_problem_that_has_no_wrong_answers_is_reported(monkeypatch):
    monkeypatch.setattr(simulating, "MAX_ATTEMPTS", 0)
    with pytest.raises(RuntimeError, match="no raven answers are wrong in problem 0 of seed"):
        simulate("Center", 2)
