"""Many tasks, one encoder: MT-DNN with its four kinds of heads, on simulated and real sentences.

>>> from reasonlib import multi_task
>>> example = multi_task.simulate("inference", 1, seed=3)[0]
>>> example.first, example.second
('a lady grips the tea .', 'a child grips a drink .')
"""

from typing import TYPE_CHECKING

from reasonlib.lazy import lazy

if TYPE_CHECKING:
    from reasonlib.multi_task.data.corpus import read
    from reasonlib.multi_task.data.simulator import simulate
    from reasonlib.multi_task.models.multi_task import MultiTask
    from reasonlib.multi_task.models.pretrained import from_pretrained, predict

__all__ = ["MultiTask", "from_pretrained", "predict", "read", "simulate"]

__getattr__ = lazy(__name__, __file__)
