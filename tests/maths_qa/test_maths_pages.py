"""What the chapters show: labels, tables, probes, and questions put to the bundled models."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from reasonlib.cli import app
from reasonlib.errors import UserError
from reasonlib.maths_qa.data.datasets import extrapolation_of
from reasonlib.maths_qa.data.modules import AREAS, EXTRAPOLATION, MODULES, area_of
from reasonlib.maths_qa.models.pretrained import BUNDLED, from_pretrained, load_filler, save_model
from reasonlib.maths_qa.models.qa_mlm import MaskedModel
from reasonlib.maths_qa.models.transformer import Solver, SolverConfig
from reasonlib.maths_qa.page import arithmetic, ask, figures, modules, probing, tables
from reasonlib.maths_qa.page.exercises.limits import short_sighted
from reasonlib.maths_qa.page.exercises.questions import right_digit
from reasonlib.maths_qa.page.labels import module_title
from reasonlib.tracking.records import Summary

SMALL = SolverConfig(width=8, layers=1, heads=2, hidden=8)


def test_every_area_has_an_example_and_every_module_a_title():
    assert {area_of(module) for module in tables.SHOWN} == set(AREAS)
    assert len({module_title(module) for module in MODULES}) == len(MODULES)
    assert module_title("numbers__gcd_composed") == "gcd, composed"


def test_the_input_row_restarts_at_the_answer():
    row = tables.input_row()
    assert row.html.count("<td") == 3 * (21 + 2 + 2)
    assert "[SOS]" in row.html and row.html.count("[M]") == 4


@pytest.mark.parametrize(("digits", "digit_place"), [(3, None), (4, 2), (9, 9)])
def test_digit_questions_ask_for_the_digit_they_say(digits, digit_place):
    for problem in probing.digit_questions(digits, 5, digit_place=digit_place):
        number = problem.question[:-1].split()[-1]
        assert len(number) == digits and right_digit(problem.question) == problem.answer
        if digit_place is not None:
            assert f" {probing.PLACES[digit_place - 1]} digit" in problem.question
    with pytest.raises(ValueError, match="a number has 1 to 9 digits and a place in it, got 3, 4"):
        probing.digit_questions(3, 1, digit_place=4)


def test_only_questions_for_a_digit_have_a_right_digit():
    assert right_digit("What is the tens digit of 512?") == "1"
    assert right_digit("What is the thousands digit of 512?") is None
    assert right_digit("What is the time?") is None


@pytest.mark.parametrize("reach", [0, 1, 2])
def test_an_adder_that_cannot_carry_far_is_right_as_often_as_counted(reach):
    def add(first, second):
        total = 0
        for column in range(3):
            low = 10 ** max(column - reach, 0)  # the adder sees no digit to the right of this one
            seen = (first - first % low) + (second - second % low)
            total += seen // 10**column % 10 * 10**column
        return total

    right = sum(add(first, second) == first + second for first in range(100) for second in range(100))
    assert short_sighted(2, reach) == pytest.approx(right / 10_000)


def test_pictures_from_counting_say_their_numbers():
    assert "algebra 8" in figures.areas().alt
    assert "the source" in figures.bill().alt


def test_models_are_saved_and_loaded(tmp_path):
    solver, filler = Solver(SMALL, seed=1), MaskedModel(SMALL, seed=1)
    for model, load in ((solver, from_pretrained), (filler, load_filler)):
        path = save_model(
            model, tmp_path / f"{load.__name__}.safetensors", modules=["a__b"], made={"seed": 1}
        )
        bundled = load(path)
        assert bundled.modules == ("a__b",) and bundled.made == {"seed": 1}
        assert bundled.model.config == replace(SMALL)
    with pytest.raises(UserError, match="holds no filler"):
        load_filler(tmp_path / "from_pretrained.safetensors")
    with pytest.raises(UserError, match="there is no trained model 'big'; take one of pretrained, scratch"):
        from_pretrained("big")


@pytest.mark.parametrize("name", BUNDLED)
def test_ask_gives_an_answer_and_where_the_model_looked(name):
    given = ask.answer("", "What is 3 + 4?", name)
    assert given.sentences == ("What", "is", "3", "+", "4?")
    assert given.weights.shape == (1, 5) and 0 < given.weights.sum() < 1.001
    assert 0 < given.confidence <= 1


def test_the_command_asks_without_a_story():
    done = CliRunner().invoke(app, ["ask", "What is 3 + 4?", "--topic", "maths_qa", "--json"])
    assert done.exit_code == 0, done.output
    (answer,) = json.loads(done.output)
    assert answer["question"] == "What is 3 + 4?" and answer["answer"] is not None


class Group:
    """A group of records, as far as the figures read it."""

    def __init__(self, values):
        self.values, self.metrics = values, tuple(values)

    def summary(self, metric):
        return Summary.of(self.values[metric]) if metric in self.values else None


@pytest.fixture
def measured(monkeypatch):
    """Take what a test puts in for the records of a row."""
    groups = {}
    for page in (arithmetic, modules):
        monkeypatch.setattr(page.records, "best", lambda experiment, row, **filters: groups.get(row))
        monkeypatch.setattr(page.results, "origin", lambda group: "paper scale, 2 seeds")
    return groups


def test_all_modules_are_one_picture_by_area(measured):
    assert "reasonlib run maths_qa/all_modules" in modules.all_modules().alt
    shares = {f"accuracy.{module}": [0.2, 0.3] for module in MODULES}
    harder = {f"extrapolation.{module}": [0.1, 0.1] for module in EXTRAPOLATION}
    measured["both"] = Group(
        {**shares, **harder, "accuracy.numbers__gcd": [0.8, 0.9], "accuracy": [0.3, 0.4]}
    )
    picture = modules.all_modules()
    assert "Mean exact match 0.35" in picture.alt and "numbers: best gcd 0.85" in picture.alt
    assert all(f"{area}: best" in picture.alt for area in AREAS)
    assert picture.html.count("<svg") == 2 and "paper scale, 2 seeds" in picture.html


def test_every_harder_module_stands_beside_the_one_it_extends():
    assert sum(len(extrapolation_of([module])) for module in MODULES) == len(EXTRAPOLATION) == 15


def test_probes_are_drawn_by_their_value(measured):
    assert "reasonlib run maths_qa/probes" in arithmetic.carries().alt
    measured["sums"] = Group({"valid": [0.9], "carry.4": [0.4], "carry.10": [0.1], "carry.1": [0.7]})
    alt = arithmetic.carries().alt
    assert "place values: 0.7 at columns of the carry chain 1, 0.1 at columns of the carry chain 10" in alt
    for row in ("chained-sums", "trees", "gaps", "gaps-learned"):
        measured[row] = Group({f"{name}.{value}": [0.5] for name in PROPERTIES for value in (3, 4)})
    for draw in (arithmetic.lengths, arithmetic.steps, arithmetic.distances):
        assert "0.5 at" in draw().alt


PROPERTIES = ("carry", "control", "digits", "terms", "depth", "gap", "lead")
