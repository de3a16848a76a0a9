"""Questions of school mathematics, answered character by character, with and without pre-training.

>>> from reasonlib import maths_qa
>>> problem = maths_qa.simulate("arithmetic__add_or_sub", 1, seed=0)[0]
>>> problem.question, problem.answer
('Add -0.2935 and -0.55.', '-0.8435')
"""

from typing import TYPE_CHECKING

from reasonlib.lazy import lazy

if TYPE_CHECKING:
    from reasonlib.maths_qa.data.corpus import read
    from reasonlib.maths_qa.data.generator import simulate
    from reasonlib.maths_qa.models.decoding import answer
    from reasonlib.maths_qa.models.pretrained import from_pretrained
    from reasonlib.maths_qa.models.transformer import Solver

__all__ = ["Solver", "answer", "from_pretrained", "read", "simulate"]

__getattr__ = lazy(__name__, __file__)
