"""What the checks of story_qa share: hints, stories, docstrings."""

import ast
from pathlib import Path

from reasonlib.grading import checks
from reasonlib.story_qa.page import exercises

ALL = checks.exercises("story_qa")


def test_hints_are_sentences_that_differ():
    hints = [exercise.hint for exercise in ALL]
    assert len(set(hints)) == len(hints)


def test_stories_of_two_facts_are_short_and_of_their_seed():
    stories = exercises.two_facts(50, seed=3, longest=6)
    assert len(stories) == 50
    assert {example.task for example in stories} == {2}
    assert max(len(example.story) for example in stories) <= 6
    assert stories == exercises.two_facts(50, seed=3, longest=6)
    assert stories != exercises.two_facts(50, seed=4, longest=6)


def test_every_check_says_what_it_asks_for():
    chapters = Path(exercises.__file__).parent.glob("*.py")
    bodies = [node for path in chapters for node in ast.parse(path.read_text(encoding="utf-8")).body]
    docstrings = {node.name: ast.get_docstring(node) for node in bodies if isinstance(node, ast.FunctionDef)}
    for exercise in ALL:
        assert f"``{exercise.name}(" in docstrings[f"check_{exercise.name}"]
