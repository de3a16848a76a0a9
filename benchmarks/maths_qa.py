"""Questions a second beside the generator's own loop; decoding with and without a cache; a training step."""

import random
import tempfile
from pathlib import Path

import numpy as np
import torch
from clocks import training_step
from transformers import BartConfig, BartForConditionalGeneration

from reasonlib.maths_qa.data.compatibility import load_generator
from reasonlib.maths_qa.data.encoding import Batch
from reasonlib.maths_qa.data.generator import BLOCK
from reasonlib.maths_qa.data.modules import CURVES
from reasonlib.maths_qa.data.prepared import draw, prepare
from reasonlib.maths_qa.data.vocabulary import SIZE
from reasonlib.maths_qa.models.transformer import Solver, SolverConfig, answer_loss
from reasonlib.nn import decoding

ROWS, QUESTION, ANSWER, WIDTH, LAYERS, HEADS = 64, 60, 12, 128, 2, 8
CONFIG = SolverConfig(width=WIDTH, layers=LAYERS, heads=HEADS, hidden=4 * WIDTH)
DRAWN = CURVES[:2]  # modules


def own_loop(count):
    """What ``python -m mathematics_dataset.generate`` does: draw, drop what is too long, in one process."""
    modules = load_generator().train(lambda entropy: (entropy[0], entropy[0] + (entropy[1] - entropy[0]) / 3))

    def run():
        random.seed(0)
        np.random.seed(0)
        for name in DRAWN:
            area, _, module = name.partition("__")
            drawn = 0
            while drawn < count:
                problem = modules[area][module]()
                drawn += len(str(problem.question)) <= 160 and len(str(problem.answer)) <= 30

    return run


def random_batch():
    draw = torch.Generator().manual_seed(0)
    question = torch.randint(4, SIZE, (ROWS, QUESTION), generator=draw)
    answer = torch.randint(4, SIZE, (ROWS, ANSWER), generator=draw)
    given = torch.cat((torch.ones(ROWS, 1, dtype=torch.long), answer[:, :-1]), 1)
    return Batch(question, given, answer, torch.zeros(ROWS, dtype=torch.long))


class WithoutCache:
    """The same solver, which runs over the question and the whole answer again for every character."""

    def __init__(self, solver):
        self.solver = solver

    def begin(self, question):
        return question, torch.zeros(len(question), 0, dtype=torch.long)

    def advance(self, reading, tokens):
        question, before = reading
        given = torch.cat((before, tokens.unsqueeze(1)), 1)
        decoded = self.solver.decode(given, self.solver.encode(question))
        return self.solver.output(decoded.output[:, -1]).log_softmax(-1), (question, given)


def bart():
    return BartForConditionalGeneration(
        BartConfig(
            vocab_size=SIZE, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS,
            encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=4 * WIDTH,
            decoder_ffn_dim=4 * WIDTH, max_position_embeddings=162, dropout=0.0, attention_dropout=0.0,
            activation_function="relu", pad_token_id=0, bos_token_id=1, eos_token_id=2,
            decoder_start_token_id=1, forced_eos_token_id=None,
        )
    )  # fmt: skip


def comparisons():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(DRAWN, BLOCK, difficulties=["easy"], folder=folder, workers=1)

        def read():
            for module in DRAWN:
                draw(module, BLOCK, folder=folder)

        yield f"{len(DRAWN) * BLOCK} questions drawn ahead", "the generator's own loop", read, own_loop(BLOCK)

    batch = random_batch()
    solver = Solver(CONFIG)
    theirs = bart()
    labels = batch.target
    yield (
        f"training step, {ROWS} x {QUESTION} + {ANSWER} characters, width {WIDTH}, {LAYERS} layers",
        "transformers.BartForConditionalGeneration",
        training_step(solver, lambda: answer_loss(solver, batch)),
        training_step(
            theirs,
            lambda: (
                theirs(
                    input_ids=batch.question,
                    attention_mask=torch.ones_like(batch.question),
                    decoder_input_ids=batch.given,
                    labels=labels,
                ).loss
            ),
        ),
    )

    solver.eval()
    yield (
        "answers of 30 characters, written with a cache",
        "the whole forward pass for each character",
        lambda: decoding.greedy(solver, batch.question, longest=30, end=-1),
        lambda: decoding.greedy(WithoutCache(solver), batch.question, longest=30, end=-1),
    )
