"""What all forms of a notebook share."""

import sys
from importlib import import_module

import pytest

from reasonlib.display.widgets import Form
from reasonlib.errors import UserError


def test_a_form_is_shown_as_its_box(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    form = Form()
    form.box = "the box"
    form._ipython_display_()
    assert shown == ["the box"]


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("goal_dialogue", "Talker"),
        ("state_tracking", "Follower"),
        ("story_qa", "Asker"),
        ("transformer", "Looker"),
    ],
)
def test_without_ipywidgets_one_clear_line(topic, name, monkeypatch):
    form = getattr(import_module(f"reasonlib.{topic}.page.widget"), name)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(
        UserError, match=r"the widget needs ipywidgets; install it \(pip install ipywidgets\)"
    ):
        form()
