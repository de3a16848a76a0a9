"""Dialogue state tracking: a token for every domain and slot.

>>> from reasonlib import state_tracking
>>> turn = state_tracking.simulate(1, seed=0)[0].turns[0]
>>> turn.user
'one more thing , i want to see something in town of the museum kind .'
>>> tracker = state_tracking.from_pretrained("tracker")
>>> tracker.track([(turn.system, turn.user)]).state
{'attraction-type': 'museum'}
"""

from typing import TYPE_CHECKING

from reasonlib.lazy import lazy

if TYPE_CHECKING:
    from reasonlib.state_tracking.data.corpus import read
    from reasonlib.state_tracking.data.simulator import simulate
    from reasonlib.state_tracking.models.pretrained import from_pretrained
    from reasonlib.state_tracking.models.tracker import Tracker
    from reasonlib.state_tracking.page.track import follow

__all__ = ["Tracker", "follow", "from_pretrained", "read", "simulate"]

__getattr__ = lazy(__name__, __file__)
