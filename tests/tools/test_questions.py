"""Questions of a chapter: read once, for the page and for the notebook."""

import re
from itertools import combinations

import pytest
from chapters import chapters
from directives import FENCE, UnknownMarkup, directive
from labels import Book
from myst import Converter
from questions import BadQuestion, as_markdown, read, shuffled

CHOICE = [
    "- [ ] the first",
    "  > Too low.",
    "- [x] the second,",
    "  still the second",
    "  > Yes,",
    "  > it is.",
]
ORDER = ["1. one", "2. two", "3. three", "> Because they count."]


def test_a_choice():
    asked = read("Which?", CHOICE)
    assert asked.kind == "choose"
    assert [(option.text, option.right) for option in asked.options] == [
        ("the first", False),
        ("the second, still the second", True),
    ]
    assert asked.options[1].feedback == "Yes, it is."
    assert asked.answer == "the second, still the second"


def test_several_right_options_make_another_kind():
    asked = read("Which?", [*CHOICE, "- [x] the third", "  > Too."])
    assert asked.kind == "several"
    assert asked.answer == "the second, still the second; the third"


def test_a_number_with_its_tolerance_and_unit():
    asked = read("How many?", ["Count.", "", "- [ ] −3", "  > A sign.", "- [=] 1,250 ± 0.5 nats", "  > Yes."])
    assert asked.kind == "number"
    assert (asked.options[0].text, asked.tolerance, asked.unit) == ("1250", 0.5, "nats")
    assert (asked.options[1].text, asked.options[1].right) == ("-3", False)
    assert asked.more == ["Count."]
    assert asked.answer == "1250 nats"


def test_an_order_is_shown_mixed_and_the_same_every_time():
    asked = read("In which order?", ORDER)
    assert asked.kind == "order"
    assert sorted(asked.shuffled) == [0, 1, 2] != asked.shuffled
    assert asked.shuffled == read("In which order?", ORDER).shuffled
    for count in range(3, 9):
        assert sorted(shuffled(count, "seed")) == list(range(count)) != shuffled(count, "seed")


@pytest.mark.parametrize(
    ("text", "body", "message"),
    [
        ("", CHOICE, "needs its text"),
        ("Which?", [], "no options"),
        ("Which?", ["- [ ] a", "  > No.", "- [ ] b", "  > No."], "no right answer"),
        ("Which?", ["- [x] a", "  > Yes."], "offers no choice"),
        ("Which?", ["- [x] a", "- [ ] b", "  > No."], "the option 'a' needs an answer"),
        ("Which?", ["> Yes.", "- [x] a"], "there is none yet"),
        ("Which?", [*CHOICE, "1. one"], "mixes options"),
        ("How many?", ["- [=] many", "  > Yes."], "'many' is no number"),
        ("How many?", ["- [=] 1", "  > Yes.", "- [=] 2", "  > Yes."], "2 right numbers"),
        ("Order?", ["1. one", "2. two", "> Because."], "three steps"),
        ("Order?", ORDER[:3], "a line `> why this order`"),
    ],
)
def test_what_nobody_could_answer_is_refused(text, body, message):
    with pytest.raises(BadQuestion, match=message):
        read(text, body)


@pytest.mark.parametrize("body", [CHOICE, ORDER, ["- [=] 3 ± 1 words", "  > Yes."]])
def test_a_notebook_folds_the_answers_away(body):
    lines = as_markdown(read("What?", body))
    fold = next(at for at, line in enumerate(lines) if line.startswith("<details>"))
    assert lines[0] == "**What?**" and lines[-1] == "</details>"
    assert not any(word in "\n".join(lines[:fold]) for word in ("✓", "✗", "Yes", "Because"))


def test_the_converter_knows_questions_and_excerpts():
    converter = Converter("book/a/b", Book(site="https://s/", raw="https://r/", files="https://f/"))
    text = converter.cell(":::{question} What is $x$?\n- [x] `a`\n  > Yes.\n- [ ] b\n  > No.\n:::")
    assert text.startswith("**What is $x$?**") and "- ✓ `a`: Yes." in text
    shown = converter.cell("```{excerpt} nn/attention.py attention\n```")
    assert shown.startswith("[`reasonlib/nn/attention.py`](https://f/reasonlib/nn/attention.py)\n\n```python")
    for bad in (":::{question} What?\n:::", "```{excerpt} nn/attention.py none\n```"):
        with pytest.raises(UnknownMarkup):
            converter.cell(bad)


def blocks(lines, name):
    """The directives whose names begin so, in order."""
    for at, line in enumerate(lines):
        if (fence := FENCE.match(line)) and fence["name"].startswith(name):
            yield directive(lines, at)[0]


@pytest.mark.parametrize("chapter", chapters(), ids=lambda page: page.short)
def test_the_first_exercise_of_a_chapter_is_solved_in_the_page(chapter):
    """There is a number to compute or an order to find, and no typed number gets two answers."""
    first = next(blocks(chapter.text.partition("\n## Exercises\n")[2].splitlines(), "exercise"))
    assert first.name == "exercise", "the first exercise needs code"
    assert first.options["label"].endswith("-exercise-page")
    assert re.search(r"\(\d+ minutes\)$", first.argument), "its title says how long it takes"
    (asked,) = blocks(first.body, "question")
    question = read(asked.argument, asked.body)
    assert question.kind in ("number", "order", "several")
    assert chapter.text.count(question.text) == 1, "the chapter asks this twice"
    if question.kind == "number":
        numbers = [float(option.text) for option in question.options]
        assert 2 <= len(numbers[1:]) <= 4, "wrong numbers that a slip leads to"
        assert all(abs(a - b) > 2 * question.tolerance for a, b in combinations(numbers, 2))
