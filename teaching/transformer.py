"""Teacher's edition of `transformer`: solutions, wrong answers, and what each of them teaches."""

from collections import Counter
from functools import partial
from itertools import pairwise

import torch

from reasonlib.grading.edition import Mistake, Solved
from reasonlib.transformer.data.stories import NAMES

# Attention --------------------------------------------------------------------------------------------------


def attend(query, key, value, *, root=None, axis=-1):
    scores = query @ key.T / (query.shape[-1] ** 0.5 if root is None else root)
    return scores.softmax(axis) @ value


def may_see(length):
    return torch.arange(length)[:, None] >= torch.arange(length)


def waves(length, width, *, power=1.0):
    angle = torch.arange(length)[:, None] * 10_000 ** (-power * torch.arange(0, width, 2) / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def waves_apart(length, width):
    pairs = waves(length, width)
    return torch.cat([pairs[:, ::2], pairs[:, 1::2]], 1)


# Parts ------------------------------------------------------------------------------------------------------


def best_pair(words, *, weighed=True, neighbours=lambda word: list(pairwise(word)), ties="alphabet"):
    counts = Counter()
    for word, count in words.items():
        for pair in neighbours(word):
            counts[pair] += count if weighed else 1
    if ties == "first":
        return max(counts, key=counts.get)
    return min(counts, key=lambda pair: (-counts[pair], pair))


def apart(word):
    """Count pairs that do not overlap, as ``str.count`` does."""
    pairs, last = [], {}
    for index, pair in enumerate(pairwise(word)):
        if last.get(pair, -2) + 2 <= index:
            pairs.append(pair)
            last[pair] = index
    return pairs


def once(word):
    return list(dict.fromkeys(pairwise(word)))


def next_beam(beam, scores, width, *, so_far=True):
    grown = [
        ((*tokens, token), (total if so_far else 0) + score)
        for (tokens, total), row in zip(beam, scores, strict=True)
        for token, score in enumerate(row)
    ]
    return sorted(grown, key=lambda each: -each[1])[:width]


def fixed_quota(beam, scores, width):
    """Keep as many of each answer, then the best of the rest."""
    each = [
        next_beam([hypothesis], [row], -(-width // len(beam)))
        for hypothesis, row in zip(beam, scores, strict=True)
    ]
    return sorted(
        (hypothesis for some in each for hypothesis in some), key=lambda hypothesis: -hypothesis[1]
    )[:width]


def shared(written, reference, *, clipped=True, of=None):
    have = Counter(reference)
    both = sum(min(n, have[word]) if clipped else n * (word in have) for word, n in Counter(written).items())
    return both / len(written if of is None else reference)


# BERT in miniature ------------------------------------------------------------------------------------------


def hide(tokens, selected, fate, other, mask, *, stays=0.9):
    seen = torch.where(selected & (fate < 0.8), torch.full_like(tokens, mask), tokens)
    return torch.where(selected & (fate >= 0.8) & (fate < stays), other, seen)


def pair(first, second, *, late=False):
    tokens = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
    start = len(first) + (1 if late else 2)
    return tokens, [int(position >= start) for position in range(len(tokens))]


def continues(first, second):
    return bool(set(first) & set(second) & set(NAMES))


EDITION = {
    "attend": Solved(
        attend,
        [
            Mistake(partial(attend, root=1), "not divided by the root", "why scores are scaled"),
            Mistake(
                lambda q, k, v: attend(q, k, v, root=q.shape[-1]), "not by the width", "a root, not the width"
            ),
            Mistake(partial(attend, axis=0), "over the keys", "which axis sums to one"),
            Mistake(
                lambda q, k, v: attend(q, k, k), "the keys were mixed", "keys are matched, values are read"
            ),
            Mistake(
                partial(attend, root=6**0.5), "the mixture is not right", "right at the width of 6 alone"
            ),
        ],
    ),
    "may_see": Solved(
        may_see,
        [
            Mistake(lambda length: may_see(length).T, "exchanged", "rows look, columns are looked at"),
            Mistake(
                lambda length: torch.arange(length)[:, None] > torch.arange(length),
                "a token may attend to itself",
                "the softmax of an empty row is not a number",
            ),
            Mistake(lambda length: may_see(length).float(), "return booleans", "a mask is no weight"),
            Mistake(lambda length: may_see(4), "the shape must be", "right for four tokens alone"),
            Mistake(
                lambda length: torch.ones(length, length, dtype=torch.bool),
                "hide the tokens that come after",
                "a decoder that sees its answer learns to copy it",
            ),
        ],
    ),
    "waves": Solved(
        waves,
        [
            Mistake(waves_apart, "take turns", "two layouts in use; a checkpoint fits one of them"),
            Mistake(partial(waves, power=2), "not twice that", "2i counts units, i counts pairs"),
            Mistake(partial(waves, power=0.5), "not i / D", "2i counts units, i counts pairs"),
            Mistake(
                lambda length, width: waves(length, width).unflatten(1, (-1, 2)).flip(-1).flatten(1),
                "the sine comes before",
                "position 0 is 0, 1, 0, 1, ...",
            ),
        ],
    ),
    "best_pair": Solved(
        best_pair,
        [
            Mistake(partial(best_pair, weighed=False), "as often as it occurs", "types and tokens"),
            Mistake(partial(best_pair, neighbours=once), "twice in each", "a pair can repeat in a word"),
            Mistake(partial(best_pair, neighbours=apart), "may overlap", "how str.count counts"),
            Mistake(
                partial(best_pair, ties="first"), "a tie", "an order that does not depend on the input's"
            ),
        ],
    ),
    "next_beam": Solved(
        next_beam,
        [
            Mistake(
                lambda beam, scores, width: [
                    next_beam([hypothesis], [row], 1)[0] for hypothesis, row in zip(beam, scores, strict=True)
                ][:width],
                "keep 4 answers|not the best of each",
                "a beam is not several greedy searches",
            ),
            Mistake(fixed_quota, "not the best of each answer", "one answer may take all places"),
            Mistake(partial(next_beam, so_far=False), "sum of all its tokens", "log-probabilities add up"),
            Mistake(lambda *a: next_beam(*a)[::-1], "best first", "the order is part of the answer"),
            Mistake(
                lambda beam, scores, width: [
                    (tokens, total - dict(beam)[tokens[:-1]])
                    for tokens, total in next_beam(beam, scores, width)
                ],
                "its own so far plus",
                "the next step needs the whole sum",
            ),
        ],
    ),
    "shared": Solved(
        shared,
        [
            Mistake(partial(shared, clipped=False), "at most as often", "why BLEU clips"),
            Mistake(partial(shared, of="reference"), "for 'the cat sat'", "precision is not recall"),
            Mistake(
                lambda w, r: len(set(w) & set(r)) / len(w),
                "for 'the the the the'|smaller of both",
                "words repeat",
            ),
            Mistake(
                lambda w, r: sum(a == b for a, b in zip(w, r, strict=False)) / len(w),
                "the order of single words",
                "precision of single words knows no order",
            ),
        ],
    ),
    "hide": Solved(
        hide,
        [
            Mistake(
                lambda t, selected, *rest: hide(t, torch.ones_like(selected), *rest),
                "only words that are asked",
                "choose first",
            ),
            Mistake(partial(hide, stays=1.0), "one in ten stays", "10 % see the word itself"),
            Mistake(
                lambda t, selected, fate, other, mask: torch.where(selected, mask, t),
                "hides every word",
                "[MASK] never occurs later",
            ),
            Mistake(
                lambda t, a, f, o, mask: hide(t, a, f, o, 4),
                "the mask is the argument",
                "an id is no constant",
            ),
        ],
    ),
    "pair": Solved(
        pair,
        [
            Mistake(partial(pair, late=True), "the first [SEP] ends the first part", "where a part ends"),
            Mistake(
                lambda a, b: (pair(a, b)[0][:-1], pair(a, b)[1][:-1]),
                "the tokens of",
                "both parts end in [SEP]",
            ),
            Mistake(
                lambda a, b: (pair(a, b)[0], [1 - n for n in pair(a, b)[1]]),
                "belongs to it",
                "0 is the first part",
            ),
            Mistake(
                lambda a, b: (pair(a, b)[0], [0] * len(a) + [1] * len(b)), "one number a token", "marks count"
            ),
            Mistake(lambda a, b: pair(a, b)[0], "return two lists", "the parts are an input of their own"),
        ],
    ),
    "continues": Solved(
        continues,
        [
            Mistake(lambda first, second: True, "the answer is always True", "half of the pairs continue"),
            Mistake(
                lambda first, second: bool(set(first) & set(second)),
                "always True|are right",
                "every text has its full stops",
            ),
            Mistake(
                lambda first, second: first[0] == second[0],
                "are right",
                "the first word is one name of several",
            ),
        ],
    ),
}
