"""Pictures of dialogues say in words what they show, and hold what they were given."""

import pytest

from reasonlib.display import plotting
from reasonlib.goal_dialogue.data.example import SILENCE, TASK_NAMES, Dialogue, Example, Fact, Turn
from reasonlib.goal_dialogue.page import diagrams, figures
from reasonlib.tracking import claims

TALK = Dialogue(
    task=5,
    events=(
        Turn("hi", "hello what can i help you with today"),
        Turn("a <table> in rome", "api_call thai rome two cheap"),
        Turn("in paris", "sure is there anything else to update"),
        Fact("resto_1", "R_rating", "2"),
        Turn(SILENCE, "what do you think of this option: resto_1"),
        Turn("its phone", "here it is resto_1_phone"),
    ),
)


def test_a_conversation_says_everything_it_shows():
    look = plotting.Picture("<b>looked</b>", alt="looked")
    shown = figures.conversation(
        TALK,
        given={0: "good evening"},
        headings=figures.parts(TALK),
        looks={0: look, 3: look},
        remarks={3: "no such place"},
        opened=3,
    )
    assert "a &lt;table&gt; in rome" in shown.html and "<table> in" not in shown.html
    assert shown.html.count("<b>looked</b>") == 2 and shown.html.count("<details open>") == 1
    for word in (
        "good evening, expected: hello",
        "(no such place)",
        *(TASK_NAMES[task] for task in (1, 2, 3, 4)),
    ):
        assert word in shown.alt


def test_the_parts_of_a_dialogue_begin_where_their_skill_is_asked_for():
    assert {turn: heading[:6] for turn, heading in figures.parts(TALK).items()} == {
        0: "Task 1",
        2: "Task 2",
        3: "Task 3",
        4: "Task 4",
    }
    assert list(figures.parts(Dialogue(task=1, events=TALK.events[:1]))) == [0]


def test_a_turn_is_shown_as_memory_question_and_candidates():
    example = Example(
        task=5, history=TALK.events[:1], user="a table", response="i'm on it", dialogue=0, turn=1
    )
    shown = figures.cut(example, [f"say {number}" for number in range(50)] + ["i'm on it"])
    assert "<li>user: hi</li>" in shown.html and "i&#x27;m on it ✓" in shown.html
    assert "and 47 more" in shown.html and "right is: i'm on it" in shown.alt


def test_pictures_behind_one_another_open_on_the_first():
    left, right = (plotting.Picture(f"<p>{name}</p>", alt=name) for name in ("left", "right"))
    both = figures.choose({"a": left, "b": right}, legend="Which?")
    assert both.html.count(" checked") == 1 and both.html.index(" checked") < both.html.index(">a</label>")
    assert both.alt == "Which? a: left b: right"
    assert both.html == figures.choose({"a": left, "b": right}, legend="Which?").html
    with pytest.raises(ValueError, match="pictures must hold at least one, got none"):
        figures.choose({}, legend="Which?")


def test_wrong_types_are_marked():
    shown = figures.tagged(
        [["in", "rome"], ["thai"]],
        {"letters": [["none", "cuisine"], ["cuisine"]]},
        right=[["none", "location"], ["cuisine"]],
    )
    assert shown.html.count('rr-no">') == 1 and "cuisine ✗" in shown.html
    assert "rome (letters: cuisine, is location)" in shown.alt


@pytest.mark.parametrize("name", diagrams.__all__)
def test_drawings_say_what_they_show(name):
    picture = getattr(diagrams, name)()
    assert len(picture.alt) > 100 and "<svg" in picture.html and "<figcaption>" in picture.html


def test_contradicted_cells_stand_under_the_reason_they_share(monkeypatch):
    def row(name, ours=0.25, verdict="contradicted", experiment="e", reason="few < many"):
        return {
            "row": name,
            "verdict": verdict,
            "experiment": experiment,
            "reason": reason,
            "published": 0.5,
            "ours": {"mean": ours},
        }

    rows = [
        row("A, match, 1. Task"),
        row("A, match, 2. Task"),
        row("A, match, average", ours=0.75),
        row("B, 1. Task", reason=None),
        row("C, 1. Task", verdict="reproduced"),
        row("D, 1. Task", experiment="other"),
    ]
    monkeypatch.setattr(claims, "table", lambda *names, **filters: rows)
    shown = figures.objections("Table 1", "e")
    assert (
        "<li>A, match, ours lower: 1. Task; 2. Task<br>A, match, ours higher: average<br>"
        "<span>few &lt; many</span></li>" in shown.html
    )
    assert shown.html.count("<li>") == 2 and "The reason is unknown." in shown.alt
    assert "C, ours" not in shown.alt and "D, ours" not in shown.alt
    assert "<li>none</li>" in figures.objections("Table 1", "nobody").html
