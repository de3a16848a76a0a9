"""The trained models that are bundled with the library, and how to use them.

::

    weights/pretrained.safetensors   a solver whose encoder and decoder began as the filler's encoder
    weights/scratch.safetensors      a solver with the same fine-tuning and no pre-training
    weights/filler.safetensors       the model that was pre-trained by QA-MLM

Half precision; sizes, modules and how each was made as metadata.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from reasonlib.maths_qa.models.qa_mlm import MaskedModel
from reasonlib.maths_qa.models.transformer import Solver, SolverConfig
from reasonlib.training.weights import Bundle, find_weights, reading, save_bundle

__all__ = ["BUNDLED", "BundledFiller", "BundledSolver", "from_pretrained", "load_filler", "save_model"]

WEIGHTS = Path(__file__).parents[1] / "weights"
BUNDLED = ("pretrained", "scratch")
KINDS = {Solver: "solver of mathematics questions", MaskedModel: "filler of hidden characters"}


class BundledSolver(NamedTuple):
    """A solver with what is needed to use it.

    Attributes
    ----------
    model
        In float32, on the CPU.
    modules
        The kinds of question it was trained on.
    made
        How it was trained, and what it was measured to do.
    """

    model: Solver
    modules: tuple[str, ...]
    made: Mapping[str, Any]


class BundledFiller(NamedTuple):
    """A pre-trained model, with the attributes of a `BundledSolver`."""

    model: MaskedModel
    modules: tuple[str, ...]
    made: Mapping[str, Any]


def save_model(
    model: Solver | MaskedModel, path: Path, *, modules: Sequence[str], made: Mapping[str, Any]
) -> Path:
    """Write a model as one safetensors file, atomically and in half precision."""
    settings = asdict(model.config)
    return save_bundle(
        path, model, kind=KINDS[type(model)], settings=settings, modules=list(modules), made=dict(made)
    )


@lru_cache(maxsize=4)
def from_pretrained(name: str | Path = "pretrained") -> BundledSolver:
    """Load a trained solver.

    Parameters
    ----------
    name
        One of `BUNDLED`, or a file that `save_model` wrote.

    Raises
    ------
    UserError
        If there is no such solver, or its file is damaged or holds something else.
    """
    with reading(find_weights(name, WEIGHTS, BUNDLED), kind=KINDS[Solver]) as bundle:
        model = Solver(SolverConfig(**bundle["settings"]))
        bundle.fill(model)
        return BundledSolver(model, *_rest(bundle))


@lru_cache(maxsize=2)
def load_filler(name: str | Path = "filler") -> BundledFiller:
    """Load a trained model that fills in hidden characters.

    Parameters
    ----------
    name
        ``"filler"``, which is bundled, or a file that `save_model` wrote.

    Raises
    ------
    UserError
        If there is no such model, or its file is damaged or holds something else.
    """
    with reading(find_weights(name, WEIGHTS, ("filler",)), kind=KINDS[MaskedModel]) as bundle:
        model = MaskedModel(SolverConfig(**bundle["settings"]))
        bundle.fill(model)
        return BundledFiller(model, *_rest(bundle))


def _rest(bundle: Bundle) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    return tuple(bundle["modules"]), bundle["made"]
