"""What the chapters show: labels, tables, probes, and questions put to the bundled models."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from reasonlib.cli import app
from reasonlib.errors import UserError
from reasonlib.maths_qa.data.modules import AREAS, MODULES, area_of
from reasonlib.maths_qa.models.pretrained import BUNDLED, from_pretrained, load_filler, save_model
from reasonlib.maths_qa.models.qa_mlm import MaskedModel
from reasonlib.maths_qa.models.transformer import Solver, SolverConfig
from reasonlib.maths_qa.page import ask, figures, probing, tables
from reasonlib.maths_qa.page.exercises.limits import short_sighted
from reasonlib.maths_qa.page.exercises.questions import right_digit
from reasonlib.maths_qa.page.labels import module_title

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
