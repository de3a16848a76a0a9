"""The one result that the README and the first page name is what the records say."""

import re
from pathlib import Path

import pytest

from reasonlib.tracking import records

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["README.md", "book/intro.md"])
def test_the_shortcut_on_the_first_screen_is_measured(page):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    unfair, fair = map(int, re.findall(r"(\d+) %", text[text.index("One result as an example") :])[:2])
    for data, shown in (("raven", unfair), ("i-raven", fair)):
        group = records.best("visual_iq/shortcut", "vote", data=data)
        assert shown == round(100 * group.summary("accuracy").mean), data
