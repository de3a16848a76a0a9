"""The shortcut: choose among the eight candidates without one look at the question.

Source of the doubt: Hu et al. (2021), "Stratified Rule-Aware Network for Abstract Visual Reasoning",
section 3; https://arxiv.org/abs/2002.06838. The reasoner's own source names it (section 3.3.1 there) and
leaves it for later.

Seven of RAVEN's candidates are the right one with one attribute changed, so the right one is the most like
all others. A model that sees candidates alone can find it: `solve.majority_vote` does so without training,
and `context_blind` learns to. On answer sets that are fair both must fall to one in eight.
"""

from dataclasses import replace

from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig

__all__ = ["context_blind"]


def context_blind(config: ReasonerConfig | None = None, *, seed: int = 0) -> Reasoner:
    """Make a reasoner that never sees the eight context panels.

    Everything else is as it was: the panel encoder relates the candidates to each other, the contrast module
    compares them, and the same numbers are trained the same way. What it solves, it solves without reasoning
    from the question.

    Parameters
    ----------
    config
        Sizes and parts; the source's by default.
    seed
        Draws the first weights.

    Examples
    --------
    >>> context_blind().config.context
    False
    """
    return Reasoner(replace(ReasonerConfig() if config is None else config, context=False), seed=seed)
