"""Exercises with code: their labels, their solutions apart, their links to Colab."""

import nbformat
from gates import begun, link_exercises, solutions_apart

ON_THE_PAGE = "````{exercise} Order\n:label: one-order\n\n:::{question} Order?\n1. one\n:::\n````\n\n"
START = "Text.\n\n```{exercise-start} Try\n:label: one-try\n```\n\nWrite it."


def test_the_label_of_an_exercise_that_is_open_at_the_end_of_a_cell():
    assert begun(START) == "one-try"
    assert begun(START + "\n\n```{exercise-end}\n```") == ""
    assert begun("Nothing.") == ""
    assert begun(ON_THE_PAGE) == ""


def test_solutions_are_cut_out():
    text = "Before.\n\n````{solution-start} one-try\n:class: dropdown\n````\n\nSecret."
    kept, hidden = solutions_apart(text, False)
    assert "Before." in kept and "Secret." not in kept and hidden
    kept, hidden = solutions_apart("Secret.\n\n````{solution-end}\n````\n\nAfter.", True)
    assert "After." in kept and "Secret." not in kept and not hidden


def test_only_an_exercise_with_code_gets_a_link():
    new = nbformat.v4
    cells = [
        new.new_markdown_cell(ON_THE_PAGE),
        new.new_code_cell("import exercises"),
        new.new_markdown_cell(START),
        new.new_code_cell("def answer(): ..."),
        new.new_markdown_cell(
            "```{exercise-end}\n```\n\n```{exercise-start} Think\n:label: one-think\n```\n"
        ),
        new.new_markdown_cell("```{exercise-end}\n```"),
    ]
    link_exercises(cells, "https://colab/x.ipynb")
    assert cells[0].source == ON_THE_PAGE
    assert "colab" not in cells[2].source and "colab" not in cells[5].source
    assert cells[4].source.startswith("[Open this exercise in Colab](https://colab/x.ipynb#scrollTo=one-try)")
