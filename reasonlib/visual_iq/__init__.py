"""Visual IQ tests: Raven's matrices drawn, read, perceived and solved.

    >>> from reasonlib import visual_iq
    >>> problems = visual_iq.simulate("2x2Grid", 20, seed=1, answers="i-raven")
    >>> model = visual_iq.from_pretrained("relational")
    >>> bool((visual_iq.solve(problems, model) == problems.target).mean() > 0.8)
    True

`simulate` draws problems and `read` reads the released files; `Detector`, `Reasoner` and `Relational` are the
models, and `from_pretrained` loads their bundled weights.
"""

from typing import TYPE_CHECKING

from reasonlib.lazy import lazy

if TYPE_CHECKING:
    from reasonlib.visual_iq.data.corpus import read
    from reasonlib.visual_iq.data.simulator import simulate
    from reasonlib.visual_iq.models.detector.detector import Detector
    from reasonlib.visual_iq.models.pretrained import from_pretrained
    from reasonlib.visual_iq.models.reasoner import Reasoner
    from reasonlib.visual_iq.models.relational import Relational
    from reasonlib.visual_iq.models.solvers import solve

__all__ = ["Detector", "Reasoner", "Relational", "from_pretrained", "read", "simulate", "solve"]

__getattr__ = lazy(__name__, __file__)
