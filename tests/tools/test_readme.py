"""The one result that the README and the first page name is what the records say."""

import re
from pathlib import Path

import parts
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


def test_the_readme_lists_the_topics_with_their_chapters():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for topic in parts.topics().values():
        line = f"| [{topic.title}](book/{topic.name}/index.md) | {topic.question} | {len(topic.chapters)} |"
        assert text.count(line) == 1, line
