"""Graded exercises of the chapters on translation in context.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reasonlib.context_translation.models.pretrained import from_pretrained
from reasonlib.context_translation.page.reading import CONTEXTS, knows, translate_all
from reasonlib.grading.checks import exercise, expect, expect_close, expect_equal

__all__ = [
    "check_attention_pairs",
    "check_ceiling",
    "check_contrastive",
    "check_fooling_document",
    "check_gated_sum",
    "check_sentence_vector",
]

# Chapter "When a sentence is not enough" --------------------------------------------------------------------


def ceiling(pairs: Sequence[tuple[str, str]]) -> float:
    """Return the best sentence accuracy without context: the commonest target of every source sentence."""
    targets: dict[str, Counter[str]] = defaultdict(Counter)
    for source, target in pairs:
        targets[source][target] += 1
    return sum(max(counts.values()) for counts in targets.values()) / len(pairs)


@exercise(
    title="The ceiling without context",
    minutes=10,
    points=2,
    hint="Count the targets of every source sentence; the best answer is the most frequent one.",
)
def check_ceiling(answer: Callable[..., Any], seed: int) -> None:
    """Check ``ceiling(pairs)``: the highest accuracy that a system without context can have.

    ``pairs`` is a list of (source, target) sentences. The system gives one target for a source sentence,
    whatever comes before it.
    """
    draw = random.Random(seed)
    often, seldom, clear = draw.randint(4, 7), draw.randint(1, 3), draw.randint(5, 9)
    pairs = [("it fell", "il tomba")] * often + [("it fell", "elle tomba")] * seldom
    pairs += [("he ran", "il courut")] * clear
    draw.shuffle(pairs)
    expect_close(
        answer(list(pairs)),
        ceiling(pairs),
        f"{often} of the {often + seldom} “it fell” and all {clear} “he ran” can be right",
        wrong={
            "the ambiguous sentences count too: a system that always gives the most frequent target is right "
            "in some of them": clear / len(pairs),
            "weight the source sentences by how often they occur": (often / (often + seldom) + 1) / 2,
            "only the most frequent target of a source sentence can be right, not every one": 1.0,
        },
    )
    expect_close(answer([("a", "b")]), 1.0, "a source sentence with a single target is always right")
    even = [("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")]
    expect_close(answer(even), 0.25, "of four equally frequent targets one can be right")


@exercise(
    title="Is the right pronoun more probable?",
    minutes=10,
    points=2,
    hint="The log-probability of a sentence is the sum of the log-probabilities of its words.",
)
def check_contrastive(answer: Callable[..., Any], seed: int) -> None:
    """Check ``contrastive(right, wrong)``: the share of items whose right translation is likelier.

    ``right`` and ``wrong`` are lists, one entry an item: the log-probabilities of the words of the right
    and of the wrong translation. The two may differ in length. An item with equal probabilities counts as
    not right.
    """
    draw = random.Random(seed)
    # right by both; wrong by both; right by the mean alone; a tie in the sum, twice
    items = [([-1.0, -1.0], [-1.0, -2.0])] * draw.randint(5, 9) + [([-0.5], [-0.25, -0.125])] * draw.randint(
        1, 2
    )
    items += [([-0.75, -0.75], [-1.0])] * draw.randint(1, 2) + [([-0.5], [-0.25, -0.25])] * draw.randint(1, 2)
    draw.shuffle(items)
    right, wrong = [list(item[0]) for item in items], [list(item[1]) for item in items]
    sums = [sum(a) > sum(b) for a, b in zip(right, wrong, strict=True)]
    means = [sum(a) / len(a) > sum(b) / len(b) for a, b in zip(right, wrong, strict=True)]
    ties = [sum(a) >= sum(b) for a, b in zip(right, wrong, strict=True)]
    expect_close(
        answer([list(one) for one in right], [list(one) for one in wrong]),
        sum(sums) / len(sums),
        "compare the sums of the two sentences, item by item",
        wrong={
            "these are means over the words: the probability of a sentence is the product over all its "
            "words": sum(means) / len(means),
            "a tie is not right: the model does not prefer the right translation": sum(ties) / len(ties),
            "you counted the items whose wrong translation is more probable": 1 - sum(ties) / len(ties),
            "return a share, not a number of items": float(sum(sums)),
        },
    )


@exercise(
    title="A document that fools a context model",
    minutes=20,
    points=3,
    hint="Add an earlier sentence that mentions a different noun from the one in the nearest sentence.",
)
def check_fooling_document(answer: Callable[..., Any]) -> None:
    """Check ``fooling_document()``: two contexts and a sentence that the bundled translator confuses.

    It returns ``(context, longer, sentence)``. ``context`` is a list of sentences, the nearest last.
    ``longer`` is the same list with one sentence put in further back, so that the nearest sentence still
    decides what is meant. The bundled translator must give different translations for the two, and every
    word must be one that it knows.
    """
    returned = answer()
    expect(
        isinstance(returned, (tuple, list)) and len(returned) == 3,
        "return three things: the context, the longer context, and the sentence",
    )
    context, longer, sentence = [str(s) for s in returned[0]], [str(s) for s in returned[1]], str(returned[2])
    expect(
        bool(context) and bool(sentence.split()), "the context needs a sentence, and so does the translator"
    )
    translator = from_pretrained()
    words = {word for text in (*context, *longer, sentence) for word in text.split()}
    unknown = sorted(word for word in words if not knows(translator, word))
    expect(not unknown, f"the translator does not know {', '.join(unknown[:3])}: use words of the simulator")
    expect(len(longer) == len(context) + 1, "the longer context has exactly one sentence more")
    shorter = any(longer[:at] + longer[at + 1 :] == context for at in range(len(longer)))
    expect(shorter, "take the first context and put one sentence into it; change nothing else")
    expect(longer[-1] == context[-1], "put the sentence in further back: the nearest sentence must stay")
    expect(len(longer) <= CONTEXTS, f"the translator reads {CONTEXTS} sentences at most")
    first, second = translate_all(translator, [(sentence, context), (sentence, longer)])
    expect(first != second, f"both contexts give “{first}”: the sentence you put in changes nothing")


# Chapter "Seven ways to read the context" -------------------------------------------------------------------


def gated_sum(source: Tensor, context: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Mix two tensors by a gate, number by number."""
    gate = (torch.cat([source, context], -1) @ weight.T + bias).sigmoid()
    return gate * source + (1 - gate) * context


@exercise(
    title="Write HCE's gate",
    minutes=15,
    points=2,
    hint="`torch.cat` puts the two tensors side by side; the gate is a sigmoid of a linear map of them.",
)
def check_gated_sum(answer: Callable[..., Any], seed: int) -> None:
    """Check ``gated_sum(source, context, weight, bias)``: source and context mixed by a gate.

    ``source`` and ``context`` are (B, T, D), ``weight`` (D, 2 D), ``bias`` (D). The gate is the sigmoid of
    the weight times [source, context], plus the bias. An open gate keeps the source.
    """
    draw = torch.Generator().manual_seed(seed)
    source, context = torch.randn(2, 3, 4, generator=draw), torch.randn(2, 3, 4, generator=draw)
    weight, bias = torch.randn(4, 8, generator=draw), torch.randn(4, generator=draw)
    gate = (torch.cat([source, context], -1) @ weight.T + bias).sigmoid()
    swapped = (torch.cat([context, source], -1) @ weight.T + bias).sigmoid()
    expect_close(
        answer(source.clone(), context.clone(), weight.clone(), bias.clone()),
        gated_sum(source, context, weight, bias),
        "the gate times the source, plus one minus the gate times the context",
        wrong={
            "this is the gate itself, as equation 3.8 is printed; multiply with it": gate,
            "the gate is the wrong way round: an open gate keeps the source": gate * context
            + (1 - gate) * source,
            "the gate takes the source first, then the context": swapped * source + (1 - swapped) * context,
            "both parts are weighed: the context by one minus the gate": gate * source + context,
        },
    )
    closed = torch.full((4,), -50.0)
    expect_close(
        answer(source.clone(), context.clone(), torch.zeros(4, 8), closed),
        context,
        "a closed gate leaves the context alone",
    )


def sentence_vector(states: Tensor, scores: Tensor, words: Tensor) -> Tensor:
    """Pool the states of a sentence by a softmax of its scores over its words."""
    weights = scores.masked_fill(~words, -math.inf).softmax(-1)
    return (weights.unsqueeze(-1) * states).sum(-2)


@exercise(
    title="One vector for a sentence",
    minutes=15,
    points=2,
    hint="Set the scores of padding to minus infinity before the softmax.",
)
def check_sentence_vector(answer: Callable[..., Any], seed: int) -> None:
    """Check ``sentence_vector(states, scores, words)``: the attentive weighted sum of equation 3.15.

    ``states`` is (B, T, D), ``scores`` (B, T), and ``words`` (B, T) is true at words, false at padding.
    Return (B, D): the states weighed by a softmax of their scores. Padding has no weight.
    """
    draw = torch.Generator().manual_seed(seed)
    states, scores = torch.randn(2, 4, 3, generator=draw), torch.randn(2, 4, generator=draw)
    words = torch.tensor([[True, True, True, True], [True, True, False, False]])
    everything = (scores.softmax(-1).unsqueeze(-1) * states).sum(-2)
    zeroed = (scores.softmax(-1).masked_fill(~words, 0).unsqueeze(-1) * states).sum(-2)
    mean = (states * words.unsqueeze(-1)).sum(-2) / words.sum(-1, keepdim=True)
    expect_close(
        answer(states.clone(), scores.clone(), words.clone()),
        sentence_vector(states, scores, words),
        "a softmax over the words of each sentence, then the weighted sum of their states",
        wrong={
            "padding takes a share: hide it before the softmax": everything,
            "the weights of the shorter sentence no longer sum to one: hide padding before the softmax, "
            "not after": zeroed,
            "this is the mean over the words; weigh them by their scores": mean,
        },
    )


# Chapter "Cost and attention" -------------------------------------------------------------------------------


def attention_pairs(system: str, source: int, context: int, count: int) -> int:
    """Count the query-key pairs of one encoder layer."""
    if system == "no-context":
        return source**2
    if system == "concatenation":
        return (source + count * context) ** 2
    if system == "hce":
        return source**2 + count * context**2 + count**2 + source * count
    raise ValueError(f"system must be no-context, concatenation or hce, got {system!r}")


@exercise(
    title="Count the cost of concatenation",
    minutes=15,
    points=2,
    hint="Self-attention over T tokens compares T times T pairs; attention from T to S tokens T times S.",
)
def check_attention_pairs(answer: Callable[..., Any], seed: int) -> None:
    """Check ``attention_pairs(system, source, context, count)``: query-key pairs that are compared.

    For a source of ``source`` tokens and ``count`` context sentences of ``context`` tokens each. Count each
    self-attention once: "no-context" over the source; "concatenation" over everything joined; "hce" over the
    source, over each context sentence, over the sentence vectors, and from the source to the sentence
    vectors.
    """
    draw = random.Random(seed)
    for count in (draw.randint(2, 4), draw.randint(6, 20), 1):
        source, context = draw.randint(5, 15), draw.randint(16, 30)
        right = attention_pairs("concatenation", source, context, count)
        expect_equal(
            int(answer("concatenation", source, context, count)),
            right,
            f"concatenation joins {source} and {count} times {context} tokens, and each attends to all",
            wrong={
                "the source and the context attend to each other, too": source**2 + (count * context) ** 2
                if count > 1
                else None,
                "here each sentence is read separately; joined, every token attends to every other": source**2
                + count * context**2,
            },
        )
        hce = attention_pairs("hce", source, context, count)
        expect_equal(
            int(answer("hce", source, context, count)),
            hce,
            f"HCE reads {source} tokens, {count} sentences of {context}, and {count} sentence vectors",
            wrong={
                "count the attention among the sentence vectors, and from the source to them": source**2
                + count * context**2,
                "the source attends to the sentence vectors, too": hce - source * count,
                "sentence vectors attend to one another": hce - count**2,
            },
        )
        expect_equal(int(answer("no-context", source, context, count)), source**2, "the source alone")
