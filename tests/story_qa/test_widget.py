"""The form in a notebook: what the button does, without a kernel behind it."""

import pytest

from reasonlib.story_qa.data.encoding import build_vocabulary
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork
from reasonlib.story_qa.page.ask import Answer, ask_memory, split_sentences
from reasonlib.story_qa.page.widget import Asker

STORIES = tuple(simulate(1, 2, seed=5))
WAIT = "<p>What would you answer? Then press Ask.</p>"


@pytest.fixture
def asker():
    pytest.importorskip("ipywidgets", reason="the optional package ipywidgets is not installed")
    return Asker(stories=STORIES)


def test_pick_a_story_and_ask(asker):
    assert asker.result.value == WAIT and asker.answered is None
    assert asker.story.value == "\n".join(STORIES[0].story) and asker.question.value == STORIES[0].question
    asker.picker.value = 1
    assert asker.story.value == "\n".join(STORIES[1].story)
    asker.button.click()
    assert isinstance(asker.answered, Answer) and asker.answered.support == STORIES[1].support
    assert asker.answered.text == STORIES[1].answer[0]
    assert (
        "rr-hops" in asker.result.value
        and 'rr-tag">needed' in asker.result.value
        and "✓" in asker.result.value
    )
    asker.picker.value = 0
    assert asker.result.value == WAIT


def test_write_a_story_and_ask(asker):
    asker.story.value = "Mary took the milk. John went to the office.\nMary moved to the garden."
    assert asker.picker.value == -1 and asker.picked() is None
    asker.question.value = "Where is the milk?"
    asker.button.click()
    assert asker.answered.text == "garden" and asker.answered.support is None
    assert 'rr-tag">' not in asker.result.value
    asker.question.value = "Where is Mary?"
    assert asker.result.value == WAIT, "an answer to another question does not stay"


def test_another_question_about_a_picked_story_has_no_labels(asker):
    asker.question.value = "Where is Nobody?"
    asker.button.click()
    assert asker.answered.expected is None and "never met this word" in asker.result.value


def test_a_mistake_is_told_in_the_form(asker):
    asker.question.value = " "
    asker.button.click()
    assert asker.result.value == "<p>The question has no words; ask something.</p>" and asker.answered is None


def test_a_network_of_ones_own(asker):
    vocabulary = build_vocabulary(STORIES)
    model = MemoryNetwork(MemoryConfig(vocabulary=len(vocabulary), width=4, hops=5))

    def ask(story, question):
        return ask_memory(model, vocabulary, split_sentences(story), question)

    own = Asker(ask, stories=STORIES)
    own.button.click()
    assert own.answered.weights.shape == (5, len(STORIES[0].story))


def test_no_stories_but_ones_own(asker):
    empty = Asker(stories=())
    assert empty.picker.value == -1 and empty.story.value == ""
    empty.button.click()
    assert empty.result.value == "<p>The story has no sentences; give at least one.</p>"
