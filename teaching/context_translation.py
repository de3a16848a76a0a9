"""Teacher's edition of `context_translation`: solutions, wrong answers, and what each of them teaches."""

import math
from collections import Counter, defaultdict
from functools import partial
from itertools import pairwise
from statistics import linear_regression

import torch

from reasonlib.grading.edition import Mistake, Solved


def ceiling(pairs, best=lambda counts: max(counts.values())):
    targets = defaultdict(Counter)
    for source, target in pairs:
        targets[source][target] += 1
    return sum(best(counts) for counts in targets.values()) / len(pairs)


def mean_over_sources(pairs):
    sources = {source for source, _ in pairs}
    return sum(ceiling([pair for pair in pairs if pair[0] == source]) for source in sources) / len(sources)


def contrastive(right, wrong, score=sum, better=lambda a, b: a > b):
    return sum(better(score(a), score(b)) for a, b in zip(right, wrong, strict=True)) / len(right)


def fooling_document():
    context = ["mary found the key ."]
    return context, ["tom hid the lamp .", *context], "it was old ."


def gate_of(first, second, weight, bias):
    return (torch.cat([first, second], -1) @ weight.T + bias).sigmoid()


def gated_sum(source, context, weight, bias):
    gate = gate_of(source, context, weight, bias)
    return gate * source + (1 - gate) * context


def closed_keeps_source(source, context, weight, bias):
    gate = gate_of(source, context, weight, bias)
    return gate * context + (1 - gate) * source


def context_first(source, context, weight, bias):
    gate = gate_of(context, source, weight, bias)
    return gate * source + (1 - gate) * context


def context_in_full(source, context, weight, bias):
    return gate_of(source, context, weight, bias) * source + context


def pooled(states, weights):
    return (weights.unsqueeze(-1) * states).sum(-2)


def sentence_vector(states, scores, words):
    return pooled(states, scores.masked_fill(~words, -math.inf).softmax(-1))


def attention_pairs(system, source, context, count):
    if system == "no-context":
        return source**2
    if system == "concatenation":
        return (source + count * context) ** 2
    return source**2 + count * context**2 + count**2 + source * count


def reverse(text):
    return " ".join(reversed(text.split()))


def swap(text):
    first, second, *rest = text.split()
    return " ".join([second, first, *rest])


def lower_bleu(references, contrasts, spoil=reverse, longest=True, share=2 / 3):
    helpful = len(contrasts) - contrasts.count(None)
    clear = [number for number, contrast in enumerate(contrasts) if contrast is None]
    clear.sort(key=lambda number: len(references[number].split()), reverse=longest)
    chosen = clear[: math.floor(share * helpful)]
    return [spoil(text) if number in chosen else text for number, text in enumerate(references)]


def other_sentence(states, scores, query, weights=lambda scores: scores.softmax(-1), size=1.0):
    changed = states.clone()
    changed[0] += size * query / weights(scores)[0]
    changed[1] -= size * query / weights(scores)[1]
    return changed


def growth(sizes, costs, log=math.log):
    steps = [after - before for before, after in pairwise(costs)]
    across = [log(size) for size in sizes[1:]]
    return linear_regression(across, [log(step) for step in steps]).slope


def growth_of_all(sizes, costs):
    across = [math.log(size) for size in sizes]
    return linear_regression(across, [math.log(cost) for cost in costs]).slope


def growth_from_first(sizes, costs):
    added = [math.log(cost - costs[0]) for cost in costs[1:]]
    return linear_regression([math.log(size) for size in sizes[1:]], added).slope


def growth_of_two(sizes, costs):
    steps = [after - before for before, after in pairwise(costs)]
    return math.log(steps[-1] / steps[-2]) / math.log(sizes[-1] / sizes[-2])


def instead(system, pairs):
    """Answer as the solution does, but for one system."""
    return lambda name, *sizes: pairs(*sizes) if name == system else attention_pairs(name, *sizes)


EDITION = {
    "ceiling": Solved(
        ceiling,
        [
            Mistake(
                lambda pairs: ceiling(pairs, lambda counts: counts.total() * (len(counts) == 1)),
                "the ambiguous sentences count too",
                "guessing the most frequent target is often right",
            ),
            Mistake(mean_over_sources, "by how often they occur", "sentences are counted, not kinds of them"),
            Mistake(
                lambda pairs: ceiling(pairs, lambda counts: counts.total()),
                "only the most frequent target",
                "without context a system cannot tell two equal sources apart",
            ),
        ],
    ),
    "contrastive": Solved(
        contrastive,
        [
            Mistake(
                lambda right, wrong: contrastive(right, wrong, lambda words: sum(words) / len(words)),
                "these are means over the words",
                "the probability of a sentence is a product over its words",
            ),
            Mistake(
                partial(contrastive, better=lambda a, b: a >= b),
                "a tie is not right",
                "no preference is no knowledge",
            ),
            Mistake(
                partial(contrastive, better=lambda a, b: a < b),
                "whose wrong translation is more probable",
                "log-probabilities are negative: the larger one is more probable",
            ),
            Mistake(
                lambda right, wrong: contrastive(right, wrong) * len(right),
                "a share, not a number",
                "shares compare, counts do not",
            ),
        ],
    ),
    "fooling_document": Solved(
        fooling_document,
        [
            Mistake(
                lambda: (["mary found the key ."], ["tom hid the lamp ."], "it was old ."),
                "exactly one sentence more",
                "change one thing at a time",
            ),
            Mistake(
                lambda: (
                    ["mary found the key ."],
                    ["mary found the key .", "tom hid the lamp ."],
                    "it was old .",
                ),
                "the nearest sentence must stay",
                "a nearer noun is a fair reason to translate otherwise",
            ),
            Mistake(
                lambda: (["paul cried ."], ["tom hid the lamp .", "paul cried ."], "it was old ."),
                "does not decide how “it” is translated",
                "where the nearest sentence leaves it open, the earlier one rightly decides",
            ),
            Mistake(
                lambda: (["mary found the key ."], ["tom slept .", "anna sang ."], "it was old ."),
                "put one sentence into it",
                "two documents that differ in one sentence make an experiment",
            ),
            Mistake(
                lambda: (["mary found the spaceship ."], ["tom hid the lamp ."] * 2, "it was old ."),
                "does not know spaceship",
                "a word outside the vocabulary fools any model",
            ),
            Mistake(
                lambda: (
                    ["mary found the key ."],
                    ["snow fell outside .", "mary found the key ."],
                    "it was old .",
                ),
                "the sentence you put in changes nothing",
                "a sentence without a noun does not compete",
            ),
        ],
        open="the student writes the document",
    ),
    "gated_sum": Solved(
        gated_sum,
        [
            Mistake(gate_of, "this is the gate itself", "equation 3.8 names a gate; equation 3.9 uses it"),
            Mistake(closed_keeps_source, "the wrong way round", "what an open gate lets through"),
            Mistake(
                context_first,
                "the source first",
                "the weight matrix has one half for each input, in this order",
            ),
            Mistake(context_in_full, "both parts are weighed", "a gate mixes, a sum adds"),
        ],
    ),
    "sentence_vector": Solved(
        sentence_vector,
        [
            Mistake(
                lambda states, scores, words: pooled(states, scores.softmax(-1)),
                "padding takes a share",
                "padding has scores, too",
            ),
            Mistake(
                lambda states, scores, words: pooled(states, scores.softmax(-1).masked_fill(~words, 0)),
                "no longer sum to one",
                "hide before the softmax, not after",
            ),
            Mistake(
                lambda states, scores, words: pooled(states, words / words.sum(-1, keepdim=True)),
                "the mean over the words",
                "attention is a weighted mean with learned weights",
            ),
        ],
    ),
    "attention_pairs": Solved(
        attention_pairs,
        [
            Mistake(
                instead("concatenation", lambda s, c, n: s**2 + (n * c) ** 2),
                "attend to each other, too",
                "in one sequence every token attends to every other",
            ),
            Mistake(
                instead("concatenation", lambda s, c, n: s**2 + n * c**2),
                "each sentence is read separately",
                "this would be the cost of sentences encoded one by one",
            ),
            Mistake(
                instead("hce", lambda s, c, n: s**2 + n * c**2),
                "count the attention among the sentence vectors",
                "the upper encoder and the last layer attend, too",
            ),
            Mistake(
                instead("hce", lambda s, c, n: s**2 + n * c**2 + n**2),
                "the source attends to the sentence vectors",
                "how the context reaches the source",
            ),
            Mistake(
                instead("hce", lambda s, c, n: s**2 + n * c**2 + s * n),
                "sentence vectors attend to one another",
                "what the upper encoder does",
            ),
        ],
    ),
    "lower_bleu": Solved(
        lower_bleu,
        [
            Mistake(
                lambda references, contrasts: [
                    right if contrast is None else contrast
                    for right, contrast in zip(references, contrasts, strict=True)
                ],
                "has a contrast, so it is helpful",
                "these are the sentences that BLEU should care about most",
            ),
            Mistake(
                lambda references, contrasts: list(references),
                "spoil some sentences",
                "a perfect translation has BLEU 100",
            ),
            Mistake(
                partial(lower_bleu, share=1),
                "two thirds of",
                "BLEU disagrees with the number of wrong sentences even where the difference is large",
            ),
            Mistake(
                partial(lower_bleu, spoil=lambda text: "."),
                "change only their order",
                "missing words cost more than wrong ones: of n-grams, and by the penalty for brevity",
            ),
            Mistake(
                partial(lower_bleu, spoil=swap),
                "keep their neighbour",
                "two swapped words leave most n-grams of a long sentence",
            ),
            Mistake(
                partial(lower_bleu, longest=False),
                "choose the longest",
                "BLEU counts n-grams, so a long sentence weighs more than a short one",
            ),
        ],
    ),
    "other_sentence": Solved(
        other_sentence,
        [
            Mistake(
                lambda states, scores, query: states,
                "you changed nothing",
                "the sentence must be another one",
            ),
            Mistake(
                lambda states, scores, query: states.flip(0),
                "cancel in the plain mean",
                "another order keeps the mean, but each place has its own weight",
            ),
            Mistake(
                lambda states, scores, query: other_sentence(states, scores, query, torch.ones_like),
                "cancel in the plain mean",
                "a word of small weight may change more than one of large weight",
            ),
            Mistake(
                lambda states, scores, query: other_sentence(states, scores, query, lambda scores: scores),
                "the softmax of the scores",
                "scores are not weights yet",
            ),
            Mistake(
                lambda states, scores, query: states + query,
                "must sum to zero",
                "moving every word moves the mean",
            ),
            Mistake(
                partial(other_sentence, size=0.001),
                "almost the same as before",
                "attention to words notices what it is asked about, if the change is large enough",
            ),
        ],
    ),
    "growth": Solved(
        growth,
        [
            Mistake(growth_of_all, "the fixed cost a", "a constant flattens a curve on logarithmic axes"),
            Mistake(
                growth_from_first,
                "the first cost is not the fixed cost",
                "the cost at the smallest size already has a part that grows",
            ),
            Mistake(
                partial(growth, log=lambda x: x),
                "take logarithms",
                "the exponent is a slope on logarithmic axes only",
            ),
            Mistake(
                lambda sizes, costs: 1 / growth(sizes, costs),
                "the other way round",
                "the chosen quantity belongs on the horizontal axis, the measured one on the vertical",
            ),
            Mistake(
                growth_of_two,
                "fit one line to all differences",
                "the exponent of a sum of powers depends on where it is measured",
            ),
        ],
    ),
}
