"""What several modules of these tests read."""

import pytest

from reasonlib.goal_dialogue.data.simulator import make_split


@pytest.fixture(scope="session")
def forty():
    """Forty full dialogues; nobody changes them."""
    return make_split(5, dialogues=40)
