"""The live figure of the first screen: change the digits, and the vote answers in the browser."""

from pathlib import Path

import torch
from reasonlib.TOPIC.models.vote import Vote, VoteConfig

from reasonlib.display import live
from reasonlib.display.plotting import Picture

__all__ = ["SCRIPTS", "vote"]

SCRIPTS = (Path(__file__).with_name("live.js"),)
DIGITS = (1, 0, 1, 1, 0, 0, 1, 0, 1)


def vote() -> Picture:
    """Show a vote in which every digit counts alike; the reader changes the digits."""
    model = Vote(VoteConfig(length=len(DIGITS)))
    state = {"weight": torch.ones(1, len(DIGITS)), "bias": model.bias.detach()[None]}
    description = f"The digits {' '.join(map(str, DIGITS))}: the vote says 1."
    return live.figure(
        "vote",
        label="Change the digits and see the vote",
        static=Picture(f"<p>{description}</p>", alt=description),
        scripts=SCRIPTS,
        data={"digits": DIGITS},
        models={"vote": live.pack_weights(state)},
        about="A weighted sum of nine digits.",
        offer="With scripts you can change every digit.",
    )
