"""The widget: turns are added, offered and tracked; what is wrong is said."""

import pytest

pytest.importorskip("ipywidgets")

from reasonlib.state_tracking.data.cases import CASES
from reasonlib.state_tracking.models.pretrained import from_pretrained
from reasonlib.state_tracking.page.widget import Follower


def test_a_dialogue_is_offered_turn_by_turn_and_tracked():
    turns = CASES[0].turns[:2]
    form = Follower(turns=turns)
    assert form.user.value == turns[0][1] and "empty" in form.result.value
    form.button.click()
    state = from_pretrained().track(turns[:1]).state
    assert all(f"{pair} = {value}" in form.result.value for pair, value in state.items())
    assert (form.system.value, form.user.value) == turns[1]
    form.button.click()
    assert form.turns == list(turns) and form.user.value == ""
    form.button.click()
    assert form.turns == list(turns) and "Write what the user says" in form.hint.value


def test_unknown_words_are_named_and_a_new_dialogue_begins():
    form = Follower()
    form.user.value = "i need a zeppelin ."
    form.button.click()
    assert "zeppelin" in form.hint.value and len(form.turns) == 1
    form.again.click()
    assert form.turns == [] and form.hint.value == ""
