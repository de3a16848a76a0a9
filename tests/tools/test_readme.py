"""The one result that the README names is what the records say."""

import re
from pathlib import Path

from reasonlib.tracking import records

ROOT = Path(__file__).resolve().parents[2]


def test_the_shortcut_in_the_readme_is_measured():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    unfair, fair = map(int, re.findall(r"(\d+) %", text[text.index("One result as an example") :])[:2])
    for data, shown in (("raven", unfair), ("i-raven", fair)):
        group = records.best("visual_iq/shortcut", "vote", data=data)
        assert shown == round(100 * group.summary("accuracy").mean), data
