"""The generator, the released format, batches and masks."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from reasonlib.errors import DataError, UserError
from reasonlib.maths_qa.data import corpus, encoding, masking, metrics, prepared, vocabulary
from reasonlib.maths_qa.data.compatibility import EDITS, load_generator
from reasonlib.maths_qa.data.datasets import extrapolation_of, load
from reasonlib.maths_qa.data.example import Problem
from reasonlib.maths_qa.data.generator import simulate
from reasonlib.maths_qa.data.modules import AREAS, COMPOSED, CURVES, EXTRAPOLATION, MODULES
from reasonlib.maths_qa.data.prepared import draw, prepare
from reasonlib.maths_qa.data.simulator import SIMULATORS


def problem(question: str, answer: str, module: str = "numbers__place_value") -> Problem:
    return Problem(question=question, answer=answer, module=module, difficulty="easy")


# The generator


def test_the_names_are_those_of_the_generator():
    modules = load_generator()
    for names, nested in ((MODULES, modules.test()), (EXTRAPOLATION, modules.test_extra())):
        assert {f"{area}__{name}" for area, inner in nested.items() for name in inner} == set(names)
    assert len(MODULES) == 56 and len(EXTRAPOLATION) == 15 and len(AREAS) == 8
    assert set(COMPOSED) < set(MODULES) and set(CURVES) < set(MODULES) and len(CURVES) == 9


@pytest.mark.parametrize("difficulty", ["easy", "interpolate"])
def test_every_module_draws_questions_within_the_limits(difficulty):
    for module in MODULES:
        for drawn in simulate(module, 2, difficulty=difficulty):
            assert 1 <= len(drawn.question) <= 160 and 1 <= len(drawn.answer) <= 30
            assert drawn.module == module and drawn.difficulty == difficulty
            assert vocabulary.decode(vocabulary.encode(drawn.question)) == drawn.question


def test_harder_questions_are_drawn():
    for module in (
        "arithmetic__add_sub_multiple_longer",
        "numbers__round_number_big",
        "comparison__closest_more",
    ):
        assert len(simulate(module, 2, difficulty="extrapolate")) == 2


def test_the_command_line_simulates_every_module():
    assert set(SIMULATORS) == set(MODULES)
    assert SIMULATORS["measurement__time"](2, 5) == simulate("measurement__time", 2, seed=5)


def test_fewer_questions_are_the_beginning_of_more_and_nothing_else_is_seeded():
    import random

    from sympy.core.random import rng

    def states():
        return random.getstate(), np.random.get_state()[1].tolist(), rng.getstate()

    random.seed(5)
    before = states()
    for module in ("comparison__pair_composed", "numbers__is_prime"):  # SymPy draws the primes
        more = simulate(module, 4, seed=7)
        assert simulate(module, 2, seed=7) == more[:2]
        assert simulate(module, 2, seed=8) != more[:2]
    assert states() == before


def test_sums_are_written_as_in_the_release():
    """The source prints the answer ``-13*k + 498``; today's SymPy writes ``498 - 13*k``."""
    import sympy

    drawn = simulate("algebra__sequence_nth_term", 20)
    assert any(re.match(r"-[^+]*\+ \d+$", problem.answer) for problem in drawn)
    assert not any(re.match(r"\d+ - ", problem.answer) for problem in drawn)
    assert str(498 - 13 * sympy.Symbol("k")) == "498 - 13*k", "SymPy prints as before"


def test_another_process_with_other_hashes_draws_the_same_questions():
    names = ("algebra__linear_1d_composed", "comparison__sort_composed", "numbers__is_prime")
    code = (
        "from reasonlib.maths_qa.data.generator import simulate;"
        f"print([p.question for m in {names} for p in simulate(m, 6)])"
    )
    hashes = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == f"{[problem.question for name in names for problem in simulate(name, 6)]}\n"


def test_edits_fit_the_package_and_are_needed():
    from importlib.util import find_spec

    load_generator()
    for name, edits in EDITS.items():
        text = find_spec(name.rpartition(".")[0]).submodule_search_locations
        path = next(iter(text)) + "/" + name.rpartition(".")[2] + ".py"
        with open(path, encoding="utf-8") as file:
            source = file.read()
        assert all(old in source for old, _ in edits)
    import mathematics_dataset.sample.polynomials as polynomials

    coefficients = polynomials.sample_coefficients([2], entropy=4.0, min_non_zero=2)
    assert np.count_nonzero(coefficients) >= 2
    assert polynomials.expand_coefficients(coefficients, entropy=2.0).dtype == object


def test_a_number_that_is_not_split_may_get_a_trace_of_entropy():
    load_generator()
    import mathematics_dataset.sample.polynomials as polynomials

    assert polynomials.integers_with_sum(20, 1, 1e-84) == [20]
    assert polynomials.integers_with_sum(0, 0, 1e-84) == []


def test_answers_are_right_where_they_are_easily_checked():
    for drawn in simulate("arithmetic__add_or_sub_in_base", 30):
        words = drawn.question.rstrip("?").split()
        base = int(words[2].rstrip(","))
        a, sign, b = words[-3:]
        value = int(a, base) + (int(b, base) if sign == "+" else -int(b, base))
        assert int(drawn.answer, base) == value


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("numbers__none", 1, "easy"), "module must be one of"),
        (("numbers__gcd", 1, "simple"), "difficulty must be one of"),
        (("numbers__gcd", -1, "easy"), "questions must be at least 0"),
        (("numbers__gcd", 1, "extrapolate"), "module must be one of"),
    ],
)
def test_bad_requests(arguments, match):
    module, count, difficulty = arguments
    with pytest.raises(ValueError, match=match):
        simulate(module, count, difficulty=difficulty)
    with pytest.raises(ValueError, match="difficulty must be"):
        Problem(question="", answer="", module="", difficulty="none")


# Sets


def test_no_test_question_is_in_training():
    splits = load(
        "mathematics", modules=("numbers__is_prime", "comparison__pair"), train=600, valid=40, test=40
    )
    questions = [{part.question(i) for i in range(len(part))} for part in splits[:3]]
    assert not questions[0] & (questions[1] | questions[2])
    assert len(splits.train) + splits.leaks == 1200 and len(splits.test) == 80
    assert splits.extrapolation is None
    rounding = load(
        "mathematics", modules=("numbers__round_number",), train=3, valid=0, test=1, extrapolation=4
    )
    assert rounding.extrapolation.modules == ("numbers__round_number_big",)


def test_extrapolation_modules_of_modules():
    assert len(extrapolation_of(MODULES)) == 15
    assert extrapolation_of(["measurement__conversion"]) == ("measurement__conversion",)
    with pytest.raises(ValueError, match="data must be one of"):
        load("none", train=1, valid=1, test=1)


# Released files


def test_released_files_are_read_and_written(tmp_path):
    problems = [problem("What is the tens digit of 75?", "7"), problem("1 + 1", "2")]
    folder = tmp_path / "train-easy"
    folder.mkdir()
    corpus.write(problems, folder / "numbers__place_value.txt")
    assert corpus.read(tmp_path, "train-easy") == problems
    assert corpus.read(tmp_path, "train-easy", ["numbers__place_value"]) == problems


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "empty; unpack"),
        ("1 + 1\n", "line 1: a question without an answer"),
        ("1 + 1\n\n", "line 2: empty"),
        ("1 + 1\n2\n" + "9" * 161 + "\n1\n", "line 3: 161 characters"),
        ("a\n" + "1" * 31 + "\n", "line 2: 31 characters"),
        ("1 × 1\n1\n", "line 1: '×' is no printable ASCII"),
    ],
)
def test_damaged_lines_are_named(tmp_path, text, match):
    path = tmp_path / "m.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=match):
        list(corpus.read_file(path, "easy"))


def test_missing_files_are_named(tmp_path):
    with pytest.raises(DataError, match=r"holds no \.txt files"):
        corpus.read(tmp_path, "interpolate")
    with pytest.raises(DataError, match="missing"):
        corpus.read(tmp_path, "interpolate", ["a"])
    with pytest.raises(ValueError, match="part must be one of"):
        corpus.read(tmp_path, "test")


# Characters, batches, masks


def test_characters():
    assert vocabulary.SIZE == 99 and len(vocabulary.CHARACTERS) == 95
    assert vocabulary.encode(" ~") == [4, 98]
    assert vocabulary.decode([vocabulary.START, 22, vocabulary.END, 0]) == "2"
    with pytest.raises(UserError, match="'é' in 'né' is no printable"):
        vocabulary.encode("né")


def test_batches_give_back_the_texts():
    problems = [problem("2 + 2", "4"), problem("Is 4 < 3?", "False", "comparison__pair"), problem("7", "")]
    encoded = encoding.Encoded.of(problems)
    assert [encoded.question(i) for i in range(3)] == [p.question for p in problems]
    assert [encoded.answer(i) for i in range(3)] == [p.answer for p in problems]
    assert encoded.lengths.tolist() == [6, 14, 1]
    batch = encoded.batch([1, 0, 2])
    assert [vocabulary.decode(row) for row in batch.question.tolist()] == ["Is 4 < 3?", "2 + 2", "7"]
    assert batch.given[:, 0].tolist() == [vocabulary.START] * 3
    assert batch.target[1].tolist() == [24, vocabulary.END, 0, 0, 0, 0]
    assert torch.equal(batch.given[:, 1:][batch.target[:, :-1] > 3], batch.target[batch.target > 3])
    assert batch.module.tolist() == [0, 1, 1] and encoded.modules == (
        "comparison__pair",
        "numbers__place_value",
    )


def test_joined_sequences_restart_their_positions():
    joined = encoding.join(encoding.collate([problem("12+3", "15"), problem("1", "1")]))
    assert joined.tokens.shape == (2, 8)
    for row, (question, answer) in enumerate((("12+3", "15"), ("1", "1"))):
        length = len(question) + len(answer) + 2
        expected = [
            *vocabulary.encode(question), vocabulary.START, *vocabulary.encode(answer), vocabulary.END
        ]  # fmt: skip
        assert joined.tokens[row, :length].tolist() == expected
        assert joined.positions[row, :length].tolist() == [*range(len(question)), *range(len(answer) + 2)]
        assert joined.segments[row, :length].tolist() == [0] * len(question) + [1] * (len(answer) + 2)
        assert joined.tokens[row, length:].eq(0).all()


def many() -> encoding.Joined:
    return encoding.join(encoding.collate([problem("Let x = 12 + 345*y.", "67")] * 2000))


def test_masks_follow_the_rule():
    joined = many()
    masked = masking.mask_pairs(joined, generator=torch.Generator().manual_seed(0))
    asked = masked.labels != masking.IGNORED
    characters = joined.tokens >= vocabulary.FIRST
    assert not (asked & ~characters).any()
    assert torch.equal(masked.labels[asked], joined.tokens[asked])
    assert torch.equal(masked.seen.tokens[~asked], joined.tokens[~asked])
    assert abs(asked.sum() / characters.sum() - 0.15) < 0.005
    seen = masked.seen.tokens[asked]
    assert abs((seen == vocabulary.MASK).float().mean() - 0.8) < 0.02
    assert abs((seen == masked.labels[asked]).float().mean() - 0.1) < 0.02
    assert (seen[seen != vocabulary.MASK] >= vocabulary.FIRST).all()


def test_a_hidden_digit_keeps_its_place_value():
    joined = many()
    masked = masking.mask_pairs(joined, generator=torch.Generator().manual_seed(0), share=0.9)
    assert torch.equal(masked.seen.places, joined.places)
    assert joined.places[0].tolist() == [0] * 8 + [2, 1] + [0] * 3 + [3, 2, 1] + [0] * 7


@pytest.mark.parametrize("which", masking.WHICH)
def test_masks_of_one_kind(which):
    masked = masking.mask_pairs(many(), generator=torch.Generator().manual_seed(0), share=0.9, which=which)
    labels = masked.labels[masked.labels != masking.IGNORED].tolist()
    kinds = {vocabulary.kind_of(vocabulary.TOKENS[label]) for label in labels}
    expected = {"all": 3, "non-numeric": 2, "numeric": 1, "answers": 1}
    assert len(kinds) == expected[which]
    assert ("number" in kinds) == (which != "non-numeric")
    if which == "answers":
        assert {vocabulary.TOKENS[label] for label in labels} == {"6", "7"}


def test_bad_masks():
    generator = torch.Generator()
    with pytest.raises(ValueError, match="share must be"):
        masking.mask_pairs(many(), generator=generator, share=0.0)
    with pytest.raises(ValueError, match="rule must be"):
        masking.mask_pairs(many(), generator=generator, rule=(0.5, 0.1, 0.1))
    with pytest.raises(ValueError, match="which must be"):
        masking.mask_pairs(many(), generator=generator, which="letters")


def test_exact_match_by_module():
    assert metrics.by_module(["1", "2", "3"], ["1", "0", "3"], ["b", "b", "a"]) == {"a": 1.0, "b": 0.5}
    with pytest.raises(ValueError, match="as many, at least 1"):
        metrics.exact_match([], [])


def test_questions_drawn_ahead_are_the_same(tmp_path):
    modules = ["arithmetic__add_or_sub_in_base", "measurement__time"]
    assert prepare(modules, 501, difficulties=["easy"], folder=tmp_path, workers=1) == 4
    assert prepare(modules, 501, difficulties=["easy"], folder=tmp_path, workers=1) == 0
    for module in modules:
        expected = simulate(module, 1001)
        assert draw(module, 1001, folder=tmp_path) == expected  # two blocks are read, one is drawn
        assert draw(module, 3, folder=tmp_path) == expected[:3]
    assert draw(modules[0], 1060, folder=tmp_path, keep=True) == simulate(modules[0], 1060)
    kept = tmp_path / modules[0] / "easy-0-00002.npz"  # the first sixty of a block
    assert kept.is_file() and draw(modules[0], 1060, folder=tmp_path) == simulate(modules[0], 1060)
    assert draw(modules[0], 1100, folder=tmp_path) == simulate(modules[0], 1100)
    assert prepare(modules[:1], 1500, difficulties=["easy"], folder=tmp_path, workers=1) == 1
    path = tmp_path / "measurement__time" / "easy-0-00000.npz"
    assert path.stat().st_size < 30_000 and not list(path.parent.glob(".*"))
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(DataError, match=r"easy-0-00000\.npz: damaged"):
        draw("measurement__time", 3, folder=tmp_path)
    path.write_bytes(b"no archive")  # which NumPy takes for a pickle
    with pytest.raises(DataError, match=r"damaged \(not an archive of arrays\)"):
        draw("measurement__time", 3, folder=tmp_path)
    blocked = tmp_path / "file"
    blocked.touch()  # no folder can be made below a file: what is drawn is returned all the same
    assert draw("measurement__time", 60, folder=blocked, keep=True) == simulate("measurement__time", 60)


def test_sets_are_read_the_second_time(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONLIB_CACHE", str(tmp_path))
    asked = {"modules": ("measurement__time",), "train": 180, "valid": 60, "test": 60}
    load.cache_clear()
    first = load("mathematics", **asked)
    files = sorted(path.name for path in tmp_path.rglob("*.npz"))
    parts = ("easy-1", "hard-1", "interpolate-2", "interpolate-3", "medium-1")
    assert files == [f"{part}-00000.npz" for part in parts]
    monkeypatch.setattr(prepared, "draw_block", None)
    load.cache_clear()
    second = load("mathematics", **asked)
    load.cache_clear()
    assert np.array_equal(first.train.characters, second.train.characters)
    assert np.array_equal(first.test.characters, second.test.characters)
