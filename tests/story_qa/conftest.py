"""What the tests of this topic share."""

import pytest
import torch


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Sums in another order are other bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
