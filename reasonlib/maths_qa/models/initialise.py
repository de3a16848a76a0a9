"""Start a solver from a pre-trained encoder (section 5.2.2).

::

    start        encoder, embedding     decoder                          output
    scratch      random                 random                           random
    encoder      pre-trained            random                           random
    both         pre-trained            pre-trained, but its attention   pre-trained
                                        to the question random

Nothing is tied: the copies are trained apart.
"""

from reasonlib.arguments import check_choice
from reasonlib.maths_qa.models.qa_mlm import MaskedModel
from reasonlib.maths_qa.models.transformer import Solver
from reasonlib.nn import DecoderLayer, EncoderLayer

__all__ = ["STARTS", "initialise_solver"]

STARTS = ("scratch", "encoder", "both")


def initialise_solver(solver: Solver, pretrained: MaskedModel | None, start: str) -> Solver:
    """Copy pre-trained weights into a solver, in place, and return it.

    Parameters
    ----------
    solver
        With random weights.
    pretrained
        Of the same sizes; not read, and may be None, if `start` is ``scratch``.
    start
        One of `STARTS`.

    Raises
    ------
    ValueError
        If the start is unknown, or the sizes differ.
    """
    check_choice("start", start, STARTS)
    if start == "scratch":
        return solver
    if pretrained is None or pretrained.config != solver.config:
        raise ValueError(f"start {start!r} needs a pre-trained model of the solver's sizes")
    solver.embedding.load_state_dict(pretrained.embedding.state_dict())
    solver.encoder.load_state_dict(pretrained.encoder.state_dict())
    if start == "both":
        # excerpt: decoder
        pairs = zip(solver.decoder.layers, pretrained.encoder.layers, strict=True)
        for layer, trained in pairs:
            # all but the attention to the question
            _copy(layer, trained)  # type: ignore[arg-type]
        # end excerpt
        solver.decoder.end.load_state_dict(pretrained.encoder.end.state_dict())
        solver.output.load_state_dict(pretrained.output.state_dict())
    return solver


def _copy(layer: DecoderLayer, trained: EncoderLayer) -> None:  # type: ignore[type-arg, unused-ignore]
    for name, part in trained.named_children():
        getattr(layer, name).load_state_dict(part.state_dict())
