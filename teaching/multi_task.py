"""Teacher's edition of `multi_task`: solutions, wrong answers, and what each of them teaches."""

import math
from functools import partial

import torch

from reasonlib.grading.edition import Mistake, Solved
from reasonlib.multi_task.data.simulator import simulate
from reasonlib.multi_task.data.world import NOUNS
from reasonlib.multi_task.page.answering import ask
from reasonlib.multi_task.page.relations import TRUTHS, relation


def cells(predicted, labels):
    pairs = list(zip(predicted, labels, strict=True))
    return pairs.count((1, 1)), pairs.count((0, 0)), pairs.count((1, 0)), pairs.count((0, 1))


def matthews(predicted, labels):
    tp, tn, fp, fn = cells(predicted, labels)
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(below) if below else 0.0


def accuracy(predicted, labels):
    tp, tn, _, _ = cells(predicted, labels)
    return (tp + tn) / len(labels)


def f1(predicted, labels):
    tp, _, fp, fn = cells(predicted, labels)
    return 2 * tp / (2 * tp + fp + fn)


def without_root(predicted, labels):
    tp, tn, fp, fn = cells(predicted, labels)
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / below if below else 0.0


def task_shares(sizes, temperature):
    raised = {task: size ** (1 / temperature) for task, size in sizes.items()}
    return {task: value / sum(raised.values()) for task, value in raised.items()}


def answer(logits, kept):
    return (logits.softmax(-1) * kept.unsqueeze(-1)).sum(0) / kept.sum(0).unsqueeze(-1)


def ranking_loss(scores, right, counts):
    parts = zip(scores.split(counts), right, strict=True)
    return torch.stack([-part.log_softmax(0)[index] for part, index in parts]).mean()


def starts_of(counts):
    return [sum(counts[:number]) for number in range(len(counts))]


def one_softmax(scores, right, counts):
    positions = [start + index for start, index in zip(starts_of(counts), right, strict=True)]
    return -scores.log_softmax(0)[positions].mean()


def each_alone(scores, right, counts):
    target = torch.zeros_like(scores)
    target[[start + index for start, index in zip(starts_of(counts), right, strict=True)]] = 1.0
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, target)


def fooling_pair():
    """Try every noun of some sentences with every related noun."""
    nouns = [word for words in NOUNS.values() for word in words]
    for example in simulate("paraphrase", 200, seed=9):
        words = example.first.split()
        for number, word in enumerate(words):
            for other in nouns:
                kind = None if "not" in words else relation(word, other)
                if kind is None:
                    continue
                second = " ".join([*words[:number], other, *words[number + 1 :]])
                wrong = [
                    ask(task, example.first, second).words != truth for task, truth in TRUTHS[kind].items()
                ]
                if sum(wrong) == 2:
                    return example.first, second
    raise LookupError("no such pair among these sentences")


def at_least(heads, throws):
    return sum(math.comb(throws, number) for number in range(heads, throws + 1)) / 2**throws


def luck(alone, joint, more=0):
    gained = sum(b > a for a, b in zip(alone, joint, strict=True))
    lost = sum(a > b for a, b in zip(alone, joint, strict=True))
    return at_least(gained + more, gained + lost)


def exactly(alone, joint):
    return luck(alone, joint) - luck(alone, joint, more=1)


def safe_weights(first, second):
    product, first_square, second_square = first @ second, first @ first, second @ second
    if product >= 0:
        return 0.0, 1.0
    return float(-product / (first_square - product)), float(second_square / (second_square - product))


def with_lengths(first, second):
    product, first_norm, second_norm = first @ second, first.norm(), second.norm()
    return float(-product / (first_norm - product)), float(second_norm / (second_norm - product))


def third_task(first, second, size=-10.0):
    return size * (second - (first @ second) / (first @ first) * first)


def project(gradient, other):
    product = gradient @ other
    return gradient - product / (other @ other) * other if product < 0 else gradient


EDITION = {
    "matthews": Solved(
        matthews,
        [
            Mistake(
                accuracy, "this is the accuracy", "where one label is frequent, accuracy rewards a constant"
            ),
            Mistake(f1, "this is F1", "F1 does not see the true negatives"),
            Mistake(without_root, "square root", "the denominator makes the result a correlation"),
        ],
    ),
    "task_shares": Solved(
        task_shares,
        [
            Mistake(
                lambda sizes, temperature: task_shares(sizes, 1.0),
                "proportional to the sizes",
                "with proportional shares a small task is seldom seen",
            ),
            Mistake(
                lambda sizes, temperature: task_shares(sizes, 1 / temperature),
                "1 divided by the temperature",
                "a high temperature makes the shares equal, as in a softmax",
            ),
            Mistake(
                lambda sizes, temperature: {task: size ** (1 / temperature) for task, size in sizes.items()},
                "must sum to one",
                "shares are a distribution over tasks",
            ),
            Mistake(
                lambda sizes, temperature: dict.fromkeys(sizes, 1 / len(sizes)),
                "only with a very high temperature",
                "equal shares overfit the smallest task",
            ),
        ],
    ),
    "answer": Solved(
        answer,
        [
            Mistake(
                lambda logits, kept: logits.mean(0).softmax(-1),
                "average probabilities, not scores",
                "one very sure step would decide alone",
            ),
            Mistake(
                lambda logits, kept: logits[-1].softmax(-1),
                "the last step alone",
                "the average is what makes the answer robust",
            ),
            Mistake(
                lambda logits, kept: logits.softmax(-1).mean(0),
                "dropped steps still count",
                "what dropout means here",
            ),
            Mistake(
                lambda logits, kept: (logits.softmax(-1) * kept.unsqueeze(-1)).mean(0),
                "not by K",
                "probabilities must sum to one",
            ),
        ],
    ),
    "ranking_loss": Solved(
        ranking_loss,
        [
            Mistake(
                one_softmax, "one softmax over all candidates", "candidates of two questions do not compete"
            ),
            Mistake(each_alone, "judges each pair alone", "what the ranking head adds to a pair classifier"),
            Mistake(
                lambda scores, right, counts: ranking_loss(scores, right, counts) * len(counts),
                "not their sum",
                "the loss of a batch should not grow with the batch",
            ),
            Mistake(
                lambda scores, right, counts: -scores.log_softmax(0)[right].mean(),
                "counts from 0 within each question",
                "an index needs its question",
            ),
        ],
    ),
    "fooling_pair": Solved(
        fooling_pair,
        [
            Mistake(
                lambda: ("a man sips a wine .", "a man sips a drink .", "entailment"),
                "return two sentences",
                "the right answers follow from the two words",
            ),
            Mistake(
                lambda: ("a man sips a wine .", "a man sips a zeppelin ."),
                "does not know zeppelin",
                "a word outside the vocabulary fools any model",
            ),
            Mistake(
                lambda: ("a man sips a wine .", "a lady sips a tea ."),
                "exactly one word",
                "change one thing at a time",
            ),
            Mistake(
                lambda: ("a man sips a wine .", "a man sips a guitar ."),
                "must be related",
                "only related words have a known answer",
            ),
            Mistake(
                lambda: ("a man does not sip a wine .", "a man does not sip a drink ."),
                "leave out",
                "a negation turns entailment around",
            ),
        ],
        open="the student writes the pair",
    ),
    "project": Solved(
        project,
        [
            Mistake(
                lambda gradient, other: gradient - (gradient @ other) / (gradient @ gradient) * gradient,
                "not along the gradient itself",
                "the projection is onto the task that would be hurt",
            ),
            Mistake(
                lambda gradient, other: gradient - (gradient @ other) * other,
                "squared length",
                "the length of the other gradient must not matter",
            ),
            Mistake(
                lambda gradient, other: gradient - (gradient @ other) / (other @ other) * other,
                "even where there is no conflict",
                "an agreement is worth keeping",
            ),
            Mistake(
                lambda gradient, other: gradient,
                "you changed nothing",
                "plain summing of gradients keeps the conflict",
            ),
        ],
    ),
    "luck": Solved(
        luck,
        [
            Mistake(
                lambda alone, joint: at_least(sum(joint), len(joint)),
                "both models are right or both are wrong",
                "only examples on which two models differ compare them",
            ),
            Mistake(
                partial(luck, more=1),
                "count exactly k heads as well",
                "the observed result is one of the cases that are at least as extreme",
            ),
            Mistake(
                exactly, "exactly k heads", "with many throws, each single number of heads is improbable"
            ),
            Mistake(
                lambda alone, joint: luck(joint, alone),
                "what the joint model gains",
                "the question was whether the joint model is better",
            ),
            Mistake(
                lambda alone, joint: 2 * luck(alone, joint),
                "do not double",
                "a test for a difference in either direction has two tails, a test for a gain one",
            ),
            Mistake(
                lambda alone, joint: (sum(joint) - sum(alone)) / len(alone),
                "the gain in accuracy",
                "the size of a gain does not say how certain it is",
            ),
        ],
    ),
    "safe_weights": Solved(
        safe_weights,
        [
            Mistake(
                lambda first, second: safe_weights(first, second)[::-1],
                "the least weight comes first",
                "each task gives one end of the interval",
            ),
            Mistake(
                lambda first, second: safe_weights(second, first),
                "the weight of the first gradient",
                "the task with the longer gradient needs the smaller weight",
            ),
            Mistake(with_lengths, "squared lengths", "a gradient times itself is its squared length"),
            Mistake(
                lambda first, second: safe_weights(first / first.norm(), second / second.norm()),
                "do not scale them",
                "the cosine says that two tasks conflict, the lengths say which of them loses",
            ),
            Mistake(
                lambda first, second: (0.0, 1.0),
                "these two conflict",
                "a step for one task alone raises the loss of the other",
            ),
            Mistake(
                lambda first, second: (0.5, 0.5),
                "a long gradient overrules a short one",
                "the plain mean is one choice of weights, not a fair one",
            ),
        ],
    ),
    "third_task": Solved(
        third_task,
        [
            Mistake(
                lambda first, second: -10 * first,
                "conflicts with the first",
                "a task that conflicts is expected to hurt; PCGrad removes that part",
            ),
            Mistake(
                partial(third_task, size=10.0),
                "does not conflict with the second",
                "without a conflict PCGrad changes nothing",
            ),
            Mistake(
                partial(third_task, size=-0.01),
                "too short to decide the mean",
                "in a mean the longest gradient counts most, also after projection",
            ),
            Mistake(
                lambda first, second: -second,
                "does not raise the loss of the first",
                "PCGrad removes all of a gradient that is opposite to the second",
            ),
        ],
    ),
}
