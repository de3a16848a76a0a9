"""What any topic draws from records and claims: means and their origin, published numbers, no record."""

import pytest
from toy_topic import measured

from reasonlib.display import results
from reasonlib.display.intervals import Spread

pytestmark = pytest.mark.usefixtures("topic")


def test_rows_with_records_are_summarised_over_seeds():
    measured("net", "small", [0.6, 0.8])
    measured("net", "small", 0.1, data="made")
    measured("rules", "all", 0.9)
    rows = [("toy_claims/net", "small"), ("toy_claims/net", "large"), ("toy_claims/rules", "all")]
    values, origins = results.spreads(rows, "accuracy", names={"small": "a small net"})
    assert values == {
        "a small net": Spread(pytest.approx(0.7), pytest.approx(12.7062 * 0.1)),
        "all": Spread(0.9),
    }
    assert origins == {"paper scale, found (released), 2 seeds", "paper scale, found (released), 1 seed"}
    made, _ = results.spreads(rows, "accuracy", names={}, data="made")
    assert made == {"small": Spread(0.1)}
    points, _ = results.spreads(rows, "accuracy", names={}, factor=100)
    assert points["small"] == Spread(pytest.approx(70), pytest.approx(127.062))
    assert points["all"] == Spread(90.0)
    assert results.spreads(rows, "bleu", names={}) == ({}, set())


def test_published_numbers_are_those_of_the_claims(topic):
    topic(
        """
        defaults: {source: mehak2019, experiment: toy_claims/net, metric: accuracy}
        claims:
          - {id: toy_claims/tests/small, kind: published-only, where: {section: "1"}, published: 0.7}
          - {id: toy_claims/tests/large, kind: published-only, where: {section: "1"}, published: null}
          - {id: toy_claims/other, kind: published-only, where: {section: "1"}, published: 3}
        """
    )
    assert results.published("toy_claims/tests/") == {"small": 0.7}
    assert results.published("toy_claims/") == {"tests/small": 0.7, "other": 3.0}


def test_what_is_missing_names_its_command():
    picture = results.missing("toy_claims/net")
    command = "reasonlib run toy_claims/net --scale quick"
    assert command in picture.alt and f"<code>{command}</code>" in picture.html
