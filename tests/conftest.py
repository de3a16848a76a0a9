"""What tests of every topic share: one headless browser a process."""

import pytest
from browsing import chromium


@pytest.fixture(scope="session")
def browser():
    with chromium() as opened:
        yield opened
