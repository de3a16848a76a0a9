"""The canonical generator of the Mathematics Dataset, made to run on today's SymPy and NumPy.

Source: Saxton et al. (2019), "Analysing Mathematical Reasoning Abilities of Neural Models", package
``mathematics_dataset`` 1.0.1 (Apache 2.0). https://github.com/google-deepmind/mathematics_dataset

The package was written for the Python, NumPy and SymPy of 2018. What no longer runs is replaced in the text
of three of its modules while they are imported: `EDITS` lists every replacement. The files on disk stay as
they are. NumPy is not changed, and SymPy prints as it did in 2018 only while `released_printing` is on.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType

from reasonlib.errors import UserError

__all__ = ["EDITS", "load_generator", "released_printing"]

EDITS: Mapping[str, Sequence[tuple[str, str]]] = {
    "mathematics_dataset.sample.polynomials": (
        # SymPy 1.7 moved the function.
        (
            "from sympy.solvers.diophantine import base_solution_linear",
            "from sympy.solvers.diophantine.diophantine import base_solution_linear",
        ),
        # NumPy 2 has no ndarray.itemset, NumPy 1.24 no numpy.object.
        ("coeffs.itemset(index, value)", "coeffs[index] = value"),
        ("expanded_coefficients.itemset(power, coeffs)", "expanded_coefficients[power] = coeffs"),
        ("dtype=np.object)", "dtype=object)"),
        # A number that is not split draws its entropy from a Dirichlet weight of 1e-9: 0, but once 1e-84.
        ("    assert entropy == 0\n", ""),
    ),
    "mathematics_dataset.util.composition": (
        # The order of a set of letters, or of objects, differs from one Python process to the next.
        ("random.choice(list(allowed))", "random.choice(sorted(allowed))"),
        ("entities = set(context.child_entities)", "entities = dict.fromkeys(context.child_entities)"),
        ("entities.add(maybe_entity)", "entities[maybe_entity] = None"),
    ),
    "mathematics_dataset.modules.numbers": (
        # Python 3.12 draws no integers between floats.
        ("remainder_divisor / 2", "remainder_divisor // 2"),
    ),
}
"""Module to pairs of text, each replaced by its successor wherever it occurs."""


@lru_cache(maxsize=1)
def load_generator() -> ModuleType:
    """Import the generator with its `EDITS` and return its module ``modules``.

    That module has ``train(restrict)``, ``test()`` and ``test_extra()``; each gives a nested dictionary of
    functions without arguments that draw one problem from Python's and NumPy's global generators.

    Raises
    ------
    UserError
        If the package is not installed, or is a version whose text the edits do not fit.
    """
    if importlib.util.find_spec("mathematics_dataset") is None:
        raise UserError("the questions come from another package; run `pip install mathematics_dataset`")
    for name, edits in EDITS.items():
        _import_edited(name, edits)
    return importlib.import_module("mathematics_dataset.modules.modules")


@contextmanager
def released_printing() -> Iterator[None]:
    """Let SymPy print sums by falling powers, as in the release: ``-13*k + 498``, today ``498 - 13*k``."""
    import sympy

    before = sympy.Basic.__str__
    sympy.Basic.__str__ = lambda expression: sympy.sstr(expression, order="lex")
    try:
        yield
    finally:
        sympy.Basic.__str__ = before


def _import_edited(name: str, edits: Sequence[tuple[str, str]]) -> None:
    """Import one module from its text with replacements."""
    spec = importlib.util.find_spec(name)
    text = None if spec is None else spec.loader.get_source(name)  # type: ignore[union-attr]
    if spec is None or text is None:
        raise UserError(f"{name} has no source; install mathematics_dataset 1.0.1")
    for old, new in edits:
        if old not in text:
            raise UserError(f"{name} lacks {old!r}; install mathematics_dataset 1.0.1")
        text = text.replace(old, new)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(text, str(spec.origin), "exec"), module.__dict__)
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, module)
