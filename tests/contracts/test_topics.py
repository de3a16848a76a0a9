"""What every topic offers to who imports it."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from reasonlib.tracking.experiment import topics

OFFERS = {"data/simulator.py": "simulate", "data/corpus.py": "read", "weights": "from_pretrained"}
"""What a topic offers under a name of its own if it has a file or folder."""


@pytest.mark.parametrize("topic", topics())
def test_a_topic_shows_its_use_and_offers_it_in_one_import(topic):
    package = import_module(f"reasonlib.{topic}")
    assert doctest.DocTestParser().get_examples(package.__doc__)
    folder = Path(package.__file__).parent
    offered = getattr(package, "__all__", [])
    assert set(offered) >= {name for part, name in OFFERS.items() if (folder / part).exists()}
    assert all(callable(getattr(package, name)) for name in offered)
    with pytest.raises(AttributeError):
        package.nothing_of_this_name  # noqa: B018
