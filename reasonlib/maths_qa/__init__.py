"""Questions of school mathematics, answered character by character, with and without pre-training.

>>> from reasonlib import maths_qa
>>> problem = maths_qa.simulate("arithmetic__add_or_sub", 1, seed=0)[0]
>>> problem.question, problem.answer
('Add -0.2935 and -0.55.', '-0.8435')
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reasonlib.maths_qa.data.corpus import read
    from reasonlib.maths_qa.data.generator import simulate
    from reasonlib.maths_qa.models.decoding import answer
    from reasonlib.maths_qa.models.pretrained import from_pretrained
    from reasonlib.maths_qa.models.transformer import Solver

__all__ = ["Solver", "answer", "from_pretrained", "read", "simulate"]

_MODULES = {
    "Solver": "reasonlib.maths_qa.models.transformer",
    "answer": "reasonlib.maths_qa.models.decoding",
    "from_pretrained": "reasonlib.maths_qa.models.pretrained",
    "read": "reasonlib.maths_qa.data.corpus",
    "simulate": "reasonlib.maths_qa.data.generator",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
