"""Models that read tables of entities: built from the settings of a row, scored on any number of problems.

Axes: N problems, C 8 candidates.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from reasonlib.training.settings import construct
from reasonlib.visual_iq.data.encoding import TokenSet
from reasonlib.visual_iq.data.example import Problems
from reasonlib.visual_iq.data.symbols import SymbolSet
from reasonlib.visual_iq.models.candidates_only import context_blind
from reasonlib.visual_iq.models.pretrained import from_pretrained
from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig
from reasonlib.visual_iq.models.relational import Relational, RelationalConfig

__all__ = ["MODELS", "EncodedProblems", "Solver", "build", "encode", "predict_scores", "solve"]

Solver = Reasoner | Relational
EncodedProblems = TokenSet | SymbolSet
"""Problems as the one or the other model reads them."""

MODELS = ("reasoner", "context-blind", "relational")


def build(settings: Mapping[str, Any], seed: int = 0) -> Solver:
    """Make a model from the settings of a row: ``model``, one of `MODELS`, and fields of its config.

    Raises
    ------
    ValueError
        If there is no such model.
    """
    name = settings.get("model", "reasoner")
    if name == "relational":
        return Relational(construct(RelationalConfig, settings), seed=seed)
    if name == "context-blind":
        return context_blind(construct(ReasonerConfig, settings), seed=seed)
    if name == "reasoner":
        return Reasoner(construct(ReasonerConfig, settings), seed=seed)
    raise ValueError(f"model must be one of {', '.join(MODELS)}, got {name!r}")


def encode(model: Solver, problems: Problems) -> TokenSet | SymbolSet:
    """Write problems as the model reads them."""
    if isinstance(model, Relational):
        return SymbolSet.from_problems(problems, alike=model.config.alike)
    return TokenSet.from_problems(problems)


# Measuring --------------------------------------------------------------------------------------------------


@torch.no_grad()
def predict_scores(
    model: Solver, problems: Problems | EncodedProblems, *, batch_size: int = 256
) -> Float[ndarray, "N C"]:
    """Score every candidate of every problem; the model answers with the highest.

    The model is left in training or evaluation mode as it was.
    """
    encoded = encode(model, problems) if isinstance(problems, Problems) else problems
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    scores = [
        model(encoded.batch(range(start, min(start + batch_size, len(encoded)))).to(device))
        .logits.cpu()
        .numpy()
        for start in range(0, len(encoded), batch_size)
    ]
    model.train(was_training)
    return np.concatenate(scores) if scores else np.zeros((0, 8), dtype=np.float32)


def solve(problems: Problems, model: Solver | str = "relational") -> Int[ndarray, "N"]:
    """Choose the candidate that completes each matrix.

    Parameters
    ----------
    problems
        Such as `simulate` draws or `read` reads.
    model
        A model, or the name of bundled weights.

    Returns
    -------
    Int (N,)
        Candidates, 0 to 7.

    Examples
    --------
    >>> from reasonlib.visual_iq.data.simulator import simulate
    >>> problems = simulate("Center", 100, seed=1, answers="i-raven")
    >>> bool((solve(problems) == problems.target).mean() > 0.9)
    True
    """
    model = from_pretrained(model) if isinstance(model, str) else model
    return predict_scores(model, problems).argmax(1)
