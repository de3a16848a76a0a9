"""Models whose candidates are told apart, and problems for the live puzzles."""

import json
import re
from functools import cache

import numpy as np
import torch

from reasonlib.visual_iq.models.candidates_only import context_blind
from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig
from reasonlib.visual_iq.models.relational import Relational, RelationalConfig
from reasonlib.visual_iq.models.solvers import encode
from reasonlib.visual_iq.page.live import some_problems

SETS = ("i-raven", "raven")
SMALL = {"width": 12, "hidden": 10, "entity_heads": 3, "output": 7}
MODELS = {
    "source": lambda: Reasoner(seed=3),
    "no-entities": lambda: Reasoner(ReasonerConfig(entity_layers=0, separators=False, **SMALL), seed=1),
    "no-panels": lambda: Reasoner(ReasonerConfig(panel_layers=0, contrast=False, **SMALL), seed=2),
    "ce": lambda: Reasoner(ReasonerConfig(loss="ce", panel_layers=2, **SMALL), seed=4),
    "context-blind": lambda: context_blind(ReasonerConfig(**SMALL), seed=5),
    "relational": lambda: Relational(seed=1),
    "panels-for-rows": lambda: Relational(
        RelationalConfig(rows=False, alike=False, width=9, hidden=20, rule=8), seed=2
    ),
}


@cache
def model_of(name):
    """A model with weights large enough that candidates are told apart."""
    model = MODELS[name]()
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator) * (parameter.std(correction=0) + 0.05)
            parameter.add_(0.3 * noise.clamp(-3, 3))
    return model


def rounded(model, bits=16):
    """The same model with weights of 16 bits, or matrices of 8 bits, computing in 32."""
    state = {name: tensor.half().float() for name, tensor in model.state_dict().items()}
    for name, tensor in model.state_dict().items():
        if bits == 8 and tensor.ndim == 2:
            factor = (tensor.abs().amax(1, keepdim=True) / 127).half().float()
            state[name] = (tensor / factor).round() * factor
    copy = type(model)(model.config)
    copy.load_state_dict(state)
    return copy.eval()


@cache
def few(each=2):
    return some_problems(SETS, each=each)


def only(problems, index):
    return {name: problem_set[index] for name, problem_set in problems.items()}


def data_of(figure):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', figure.html)[1])


def logits(model, problems):
    with torch.no_grad():
        return model(encode(model, problems).batch(np.arange(len(problems)))).logits.numpy()
