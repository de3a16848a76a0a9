"""Five answers at once and in a loop: context matching, the second LSTM, and a training step of TVQA_abc.

Sizes and questions are those of the scale ``quick``, which trains on batches of 32 questions. There most of a
step is the second LSTM, which reads the context once for each answer, in a batch or in a loop. With many
questions the loop keeps one core as busy as the batch does, so that batching saves no more than calls.
"""

import torch
from torch.nn import functional

from reasonlib.modality_alignment.data.encoding import build_vocabulary, encode
from reasonlib.modality_alignment.data.scene import SceneConfig
from reasonlib.modality_alignment.data.simulator import SimulatorConfig, simulate
from reasonlib.modality_alignment.models.context_matching import attend, match_context
from reasonlib.modality_alignment.models.encoders import PairedEncoders
from reasonlib.modality_alignment.models.objectives import ALIGNMENTS, cosine
from reasonlib.modality_alignment.models.recurrent import max_over_time, read_sequences
from reasonlib.modality_alignment.models.tvqa_abc import TVQA_abc, TVQAConfig

KINDS = ("presence", "wish", "colour", "moment", "meeting", "opposite")


class Loop(TVQA_abc):
    """The same system; each answer is read, matched and scored apart, as in the public code."""

    def forward(self, batch):
        question, question_mask = self._words(batch.question)
        contexts = {name: self._context(name, batch) for name in self.config.streams}
        answers = [self._words(batch.answers[:, number]) for number in range(batch.answers.shape[1])]
        total = 0
        for name, (states, mask) in contexts.items():
            about, _ = attend(states, question, question_mask)
            scores = []
            for words, words_mask in answers:
                each, _ = attend(states, words, words_mask)
                matched = torch.cat((states, each, about, each * states, about * states), -1)
                second = read_sequences(self.second[name], matched, mask)
                scores.append(self.classifier[name](max_over_time(second, mask)))
            total = total + torch.cat(scores, 1)
        return total


def matching(model, batch):
    """Return context matching of the subtitles with five answers, there and back, batched and in a loop."""
    question, question_mask = (each.detach() for each in model._words(batch.question))
    flat, mask = (each.detach() for each in model._words(batch.answers.flatten(0, 1)))
    answers, answer_mask = flat.unflatten(0, (-1, 5)).requires_grad_(), mask.unflatten(0, (-1, 5))
    context = model._words(batch.subtitle)[0].detach().requires_grad_()

    def batched():
        match_context(context, question, question_mask, answers, answer_mask).states.sum().backward()

    def loop():
        about, _ = attend(context, question, question_mask)
        states = []
        for number in range(5):
            each, _ = attend(context, answers[:, number], answer_mask[:, number])
            states.append(torch.cat((context, each, about, each * context, about * context), -1))
        torch.stack(states, 1).sum().backward()

    return batched, loop


def reading(model, batch):
    """Return the second LSTM over matched subtitles, there and back, for five answers at once and in turn."""
    count = len(batch)
    states, mask = model._words(batch.subtitle)
    matched = torch.randn(5 * count, states.shape[1], model.second["subtitle"].input_size, requires_grad=True)
    five = mask.repeat(5, 1)

    def batched():
        read_sequences(model.second["subtitle"], matched, five).sum().backward()

    def loop():
        for part in matched.split(count):
            read_sequences(model.second["subtitle"], part, mask).sum().backward()

    return batched, loop


def aligning(name):
    """Return a step of two small encoders, for cosine similarity and an alignment of 512 pairs."""
    encoders = PairedEncoders()
    optimiser = torch.optim.Adam(encoders.parameters(), lr=1e-3)
    pairs = torch.randn(2, 512, 64)

    def step():
        embedded = encoders(*pairs)
        optimiser.zero_grad()
        (-cosine(*embedded) - 0.1 * ALIGNMENTS[name](*embedded)).backward()
        optimiser.step()

    return step


def comparisons():
    scene = SceneConfig(frames_each=1, features=32)
    questions = simulate(32, seed=0, config=SimulatorConfig(kinds=KINDS, scene=scene))
    vocabulary = build_vocabulary(questions)
    for count in (1, 4, 32):
        batch = encode(questions[:count], vocabulary)
        config = TVQAConfig(
            vocabulary=len(vocabulary), features=32, embedding=48, hidden=24, matched=24, dropout=0.0
        )
        batched, loop = TVQA_abc(config), Loop(config)
        noun = f"{count} question{'s' * (count > 1)}"

        yield (
            f"match the subtitles of {noun} with five answers",
            "a loop over the answers",
            *matching(TVQA_abc(config), batch),
        )
        yield (
            f"read the matched subtitles of {noun} by LSTM",
            "a loop over the answers",
            *reading(TVQA_abc(config), batch),
        )

        def step(model, logits, batch=batch):
            def run():
                model.zero_grad()
                functional.cross_entropy(logits(model(batch)), batch.right).backward()

            return run

        yield (
            f"train TVQA_abc on {noun}, five answers at once",
            "a loop over the answers",
            step(batched, lambda answered: answered.logits),
            step(loop, lambda logits: logits),
        )
    for name, other in (("infonce", "InfoNCE"), ("cka-rbf", "CKA with an RBF kernel")):
        yield "align 512 pairs of points by CKA, one step", other, aligning("cka-linear"), aligning(name)
