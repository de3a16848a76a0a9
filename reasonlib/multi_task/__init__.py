"""Many tasks, one encoder: MT-DNN with its four kinds of heads, on simulated and real sentences.

>>> from reasonlib import multi_task
>>> example = multi_task.simulate("inference", 1, seed=3)[0]
>>> example.first, example.second
('a lady grips the tea .', 'a child grips a drink .')
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reasonlib.multi_task.data.corpus import read
    from reasonlib.multi_task.data.simulator import simulate
    from reasonlib.multi_task.models.multi_task import MultiTask
    from reasonlib.multi_task.models.pretrained import from_pretrained, predict

__all__ = ["MultiTask", "from_pretrained", "predict", "read", "simulate"]

_MODULES = {
    "MultiTask": "reasonlib.multi_task.models.multi_task",
    "from_pretrained": "reasonlib.multi_task.models.pretrained",
    "predict": "reasonlib.multi_task.models.pretrained",
    "read": "reasonlib.multi_task.data.corpus",
    "simulate": "reasonlib.multi_task.data.simulator",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
