"""Exercises of the chapter "Reasoning".

Axes: N problems, B problems of a batch, C 8 candidates, D width, S slots, A attributes.
"""

from typing import cast

import numpy as np
import torch

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, hint
from reasonlib.visual_iq.data.encoding import STREAMS, TokenSet
from reasonlib.visual_iq.data.example import LEVELS
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.models.contrast import Contrast
from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig
from reasonlib.visual_iq.page.exercises.problems import some_problems

__all__ = ["check_contrast", "check_twin", "check_without_contrast"]


@exercise(title="Contrast the candidates", minutes=10, points=2)
@hint("Sum over the candidates, pass the sum through h, and take it from each candidate.")
def check_contrast(answer: Answer, seed: int) -> None:
    """Check ``contrast(features, h)``: each candidate less h of their sum; features are (B, C, D)."""
    draw = torch.Generator().manual_seed(5 + 100 * seed)
    features = torch.randn(2, 8, 6, generator=draw)
    weights = torch.randn(6, 6, generator=draw)

    def h(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x @ weights)

    total = features.sum(1, keepdim=True)
    expect_close(
        answer(features.clone(), h),
        features - h(total),
        "the result is not each candidate less h of the sum of all",
        wrong={
            "the sum is over the candidates, the second axis": features - h(features.sum(0, keepdim=True)),
            "h takes the sum, not the mean": features - h(total / 8),
            "h comes after the sum: h of each candidate, summed, is something else": (
                features - h(features).sum(1, keepdim=True)
            ),
            "subtract, do not add": features + h(total),
            "the sum is left as it was: pass it through h first": features - total,
        },
        what="the features",
    )


@exercise(title="Remove the contrast module", minutes=20, points=2)
@hint("Copy the model with copy.deepcopy, and put in the place of its contrast what changes nothing.")
def check_without_contrast(answer: Answer, seed: int) -> None:
    """Check ``without_contrast(model)``: a copy of a reasoner that scores each candidate by itself.

    Everything but the contrast module is to stay: the copy passes a candidate's features to the output as
    they are. The model that was given must score as before.
    """
    model = Reasoner(ReasonerConfig(width=12, hidden=10, entity_heads=3, output=7), seed=6 + seed).eval()
    problems = some_problems("raven", 14, seed)
    batch = TokenSet.from_problems(problems).batch(np.arange(len(problems)))
    with torch.no_grad():
        before = model(batch).logits
        copied = answer(model)
        expect(isinstance(copied, Reasoner), f"return a Reasoner, not {copied.__class__.__name__}")
        expect(
            copied is not model and bool((model(batch).logits == before).all()),
            "the model you were given scores differently now: change a copy of it",
        )
        features: list[torch.Tensor] = []
        contrast = cast(Contrast, model.contrast)
        hook = contrast.register_forward_pre_hook(lambda _, inputs: features.append(inputs[0]))
        model(batch)
        hook.remove()
        common = contrast.aggregate(features[0].sum(1, keepdim=True))
        expect_close(
            copied(batch).logits,
            model.output(features[0]).squeeze(-1),
            "the scores are not those of the same model without contrast",
            wrong={
                "the copy still contrasts: put something else in the place of its `contrast`": before,
                "the features themselves must reach the output, and only what was subtracted does": (
                    model.output(common.expand_as(features[0])).squeeze(-1)
                ),
                "nothing reaches the output: the features must pass as they are": (
                    model.output(torch.zeros_like(features[0])).squeeze(-1)
                ),
            },
            what="the scores",
        )


@exercise(title="Two panels with one sum", minutes=15, points=2)
@hint("A sum has no order. What happens to each of the five sums if two shapes exchange their sizes?")
def check_twin(answer: Answer, seed: int) -> None:
    """Check ``twin(panel)``: another panel that a reasoner without its entity encoder takes for the same.

    ``panel`` is a table (9, 4) of one panel of 3x3Grid: type, size, colour and angle of each slot, zeros for
    an empty slot. The twin must differ in the type, size or colour of some slot, and must have the same sum
    of embeddings in each of the five streams.
    """
    model = Reasoner(ReasonerConfig(entity_layers=0), seed=seed).eval()
    problems = simulate("3x3Grid", 40, seed=40 + seed)
    for number in range(len(problems)):
        panel = problems.entities[number, 0]
        filled = panel[panel[:, 0] > 0, :3]
        if (filled == filled[0]).all():
            continue  # all entities look alike: there is no twin
        result = np.asarray(answer(panel.copy()))
        expect(result.shape == (9, 4), f"return a table of shape (9, 4), got {result.shape}")
        expect(
            bool(((result >= 0) & (result < LEVELS)).all()),
            "a level is out of range: exchange levels that are in the panel",
        )
        expect(
            bool((result[:, :3] != panel[:, :3]).any()),
            "the twin shows what the panel shows: change the type, size or colour of some slot",
        )
        expect(not result[result[:, 0] == 0].any(), "an empty slot must be four zeros")
        pair = problems[[number, number]]
        pair.entities[1, 0] = result
        with torch.no_grad():
            ours, theirs = model.embed(TokenSet.from_problems(pair).batch([0, 1]))[:, :, 0]  # each (V, D)
        for stream, difference in zip(STREAMS, (ours - theirs).abs().amax(-1).tolist(), strict=True):
            same = "fill the same slots" if stream == "position" else f"show each {stream} equally often"
            expect(
                difference < 1e-4,
                f"the sums of the stream {stream} differ by {difference:.2g}: the twin must {same}",
            )
