"""Which heads can go: each head of a trained language model is switched off alone.

After Michel et al. (2019), https://arxiv.org/abs/1905.10650. A head that resembles the others of its layer
should be missed less.
"""

import numpy as np

from reasonlib.head_diversity.experiments.language_model import fit_language_model
from reasonlib.head_diversity.experiments.measures import rank_correlation
from reasonlib.head_diversity.experiments.train import text_heads, text_loss
from reasonlib.head_diversity.models.diversity import compare_heads
from reasonlib.head_diversity.models.hooks import switch_off
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured

__all__ = ["run_pruning"]


def run_pruning(trial: Trial) -> Measured:
    """Train a language model, then switch off one head at a time.

    Metrics
    -------
    ``damage``: mean rise of the test loss (nats a word) over heads; ``damage_least``, ``damage_most``;
    ``correlation``: Spearman's, over heads, of the mean debiased CKA with the other heads of the layer and
    the rise of the loss.
    """
    model, history, (_, _, test) = fit_language_model(trial)
    whole = text_loss(model, test)
    rows = []
    for layer, (name, heads) in enumerate(text_heads(model, test, tokens=trial.settings["tokens"]).items()):
        matrix = compare_heads(heads).cka_debiased.numpy()
        for head in range(len(heads)):
            with switch_off(model, {name: [head]}):
                damage = text_loss(model, test) - whole
            similarity = float(np.delete(matrix[head], head).mean())
            rows.append({"layer": layer, "head": head, "similarity": similarity, "damage": damage})
    damages = [row["damage"] for row in rows]
    return measured(
        history,
        {
            "damage": float(np.mean(damages)),
            "damage_least": min(damages),
            "damage_most": max(damages),
            "correlation": rank_correlation([row["similarity"] for row in rows], damages),
        },
        details={"heads": [{name: round(value, 5) for name, value in row.items()} for row in rows]},
    )
