"""Graded exercises of the chapters on translation in context.

Each check tries what a student wrote on cases that it draws from a seed and answers with a `checks.Result`.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import linear_regression
from typing import Any

import torch
from torch import Tensor

from reasonlib.context_translation.experiments.cost import exponent, growth_exponent
from reasonlib.context_translation.models.pretrained import from_pretrained
from reasonlib.context_translation.page import pairs as encoders
from reasonlib.context_translation.page.reading import CONTEXTS, knows, translate_all
from reasonlib.grading.checks import exercise, expect, expect_close, expect_equal
from reasonlib.parallel import simulate
from reasonlib.parallel.metrics import bleu

__all__ = [
    "check_attention_pairs",
    "check_ceiling",
    "check_contrastive",
    "check_fooling_document",
    "check_gated_sum",
    "check_growth",
    "check_lower_bleu",
    "check_other_sentence",
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


def kept_neighbours(translations: Sequence[str], references: Sequence[str]) -> float:
    """Return the share of word pairs in wrong translations that are neighbours in the reference, too."""
    kept = total = 0
    for translation, reference in zip(translations, references, strict=True):
        if translation != reference:
            here, there = (list(pairwise(text.split())) for text in (translation, reference))
            kept += sum(pair in there for pair in here)
            total += len(here)
    return kept / max(total, 1)


@exercise(
    title="Make BLEU prefer the wrong meaning",
    minutes=20,
    points=3,
    hint="Which order of the words leaves no bigram right? Which sentences have the most n-grams?",
)
def check_lower_bleu(answer: Callable[..., Any], seed: int) -> None:
    """Check ``lower_bleu(references, contrasts)``: translations that are better than their BLEU.

    ``references`` is a list of right translations; ``contrasts`` has for each helpful sentence a fluent
    translation of wrong meaning, and None for each other sentence. System A gives the contrast where there is
    one and the reference elsewhere. Return the translations of a system B: every helpful sentence is right,
    at most two thirds as many sentences are wrong as in A, each sentence has the words of its reference in
    some order, and the BLEU of B is below that of A.
    """
    pairs = [pair for document in simulate(8, seed=100 + seed) for pair in document.pairs]
    references = [pair.target for pair in pairs]
    contrasts = [pair.decides.contrast if pair.decides else None for pair in pairs]
    first = [contrast or right for contrast, right in zip(contrasts, references, strict=True)]
    returned = answer(list(references), list(contrasts))
    expect(
        isinstance(returned, (list, tuple)) and len(returned) == len(references),
        f"return a list with one translation for each of the {len(references)} references",
    )
    written = [str(one) for one in returned]
    for one, right, contrast in zip(written, references, contrasts, strict=True):
        expect(
            contrast is None or one == right,
            f"“{right}” has a contrast, so it is helpful: B must translate it as the reference does",
        )
        expect(
            sorted(one.split()) == sorted(right.split()),
            f"“{one}” does not have the words of its reference “{right}”: change only their order",
        )
    wrong = sum(one != right for one, right in zip(written, references, strict=True))
    helpful = sum(contrast is not None for contrast in contrasts)
    expect(
        wrong > 0, "every sentence of B is right, so its BLEU is 100: spoil some sentences without a contrast"
    )
    expect(
        3 * wrong <= 2 * helpful,
        f"{wrong} sentences of B are wrong; two thirds of the {helpful} of A allow {2 * helpful // 3}",
    )
    scores = [bleu(some, references, tokenize="none").score for some in (first, written)]
    said = f"BLEU is {scores[0]:.1f} for A and {scores[1]:.1f} for B"
    expect(
        scores[1] < scores[0] or kept_neighbours(written, references) < 0.2,
        f"{said}: too many words keep their neighbour, so too many n-grams match; reverse whole sentences",
    )
    expect(
        scores[1] < scores[0],
        f"{said}: spoil as many sentences as you may, and choose the longest, which have the most n-grams",
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


@exercise(
    title="Find two sentences with the same vector",
    minutes=20,
    points=3,
    hint="Change one word vector. What must you add to another one to keep the weighted sum as it was?",
)
def check_other_sentence(answer: Callable[..., Any], seed: int) -> None:
    """Check ``other_sentence(states, scores, query)``: what HCE cannot see and word attention can.

    ``states`` is (T, D), the word vectors of a context sentence, ``scores`` (T) the inputs of the softmax
    that pools them, ``query`` (D) a source word. Return other word vectors, (T, D), that with the same scores
    give the same sentence vector. What the source word reads by attention to the words,
    softmax(states query) states, must change by a vector of length 0.1 or more.
    """
    draw = torch.Generator().manual_seed(seed)
    states, scores = torch.randn(4, 3, generator=draw), torch.randn(4, generator=draw)
    query = torch.randn(3, generator=draw)
    weights = scores.softmax(-1)

    def read(words: Tensor) -> Tensor:
        return (words @ query).softmax(-1) @ words

    changed = torch.as_tensor(answer(states.clone(), scores.clone(), query.clone()), dtype=torch.float32)
    expect(
        changed.shape == states.shape,
        f"return word vectors of shape {tuple(states.shape)}, got {tuple(changed.shape)}",
    )
    expect(changed.isfinite().all(), "every number must be finite")
    expect(not torch.equal(changed, states), "you changed nothing: return other word vectors")
    moved = (weights @ (changed - states)).norm()
    same = moved < 1e-4 * (1 + (weights @ changed.abs()).norm())
    for hint, sums in {
        "your changes cancel in the plain mean, but the sentence vector is a weighted sum: divide each "
        "change by the weight of its word": torch.ones(4),
        "the weights are the softmax of the scores, not the scores": scores,
    }.items():
        total = (sums @ (changed - states)).norm()
        expect(same or total > 1e-4 * (1 + (sums.abs() @ changed.abs()).norm()), hint)
    expect(
        same,
        f"the sentence vector moved by {moved:.2g}: the changes of the words, each times its weight, must "
        "sum to zero",
    )
    expect(
        (read(changed) - read(states)).norm() >= 0.1,
        "the source word reads almost the same as before: make the change larger, for example along `query`",
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


@exercise(
    title="Measure how the cost grows",
    minutes=20,
    points=2,
    hint="`statistics.linear_regression(x, y).slope` is the slope of a line; take logarithms for x and y.",
)
def check_growth(answer: Callable[..., Any], seed: int) -> None:
    """Check ``growth(sizes, costs)``: the exponent e of cost = a + c size ** e.

    ``sizes`` are numbers of context sentences, each twice the one before, and ``costs`` what they cost. The
    differences of successive costs do not depend on a. Return the slope of the least-squares line through
    their logarithms, over the logarithms of the larger size of each difference.
    """
    draw = random.Random(seed)
    least, fixed, power = draw.choice((2, 3, 4)), draw.uniform(40, 60), draw.uniform(1.2, 1.8)
    sizes = [least * 2**number for number in range(5)]
    costs = [fixed + 2 * size**power for size in sizes]
    steps = [after - before for before, after in pairwise(costs)]
    across = [math.log(size) for size in sizes[1:]]
    expect_close(
        answer(list(sizes), list(costs)),
        power,
        f"the costs are a + 2 size ** {power:.3f}, so the exponent is {power:.3f}",
        wrong={
            "the fixed cost a makes this too small: take the differences of successive costs": exponent(
                sizes, costs
            ),
            "the first cost is not the fixed cost a: take the differences of successive costs": exponent(
                sizes[1:], [cost - costs[0] for cost in costs[1:]]
            ),
            "take logarithms: a power is a straight line only on logarithmic axes": linear_regression(
                sizes[1:], steps
            ).slope,
            "take the logarithm of the sizes, too": linear_regression(
                sizes[1:], [math.log(step) for step in steps]
            ).slope,
            "the slope is the other way round: sizes go across, costs go up": linear_regression(
                [math.log(step) for step in steps], across
            ).slope,
        },
    )
    for system, said in {
        "concatenation": "with a term in N and one in N squared the exponent is between 1 and 2",
        "hce": "almost all pairs of HCE are in proportion to N, so the exponent is close to 1",
    }.items():
        compared = [
            float(encoders.attention_pairs(system, source=10, context=12, count=count)) for count in sizes
        ]
        expect_close(
            answer(list(sizes), list(compared)),
            growth_exponent(sizes, compared),
            f"these are the pairs of {system}: {said}; fit one line to all differences",
        )
