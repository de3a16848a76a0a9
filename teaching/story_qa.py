"""Teacher's edition of `story_qa`: solutions, wrong answers, and what each of them teaches."""

import torch

from reasonlib.grading.edition import Mistake, Solved
from reasonlib.story_qa.data.example import words
from reasonlib.story_qa.data.masking import mask_tokens
from reasonlib.story_qa.experiments.memory import Recipe
from reasonlib.story_qa.models.bert import SpanOutput
from reasonlib.story_qa.models.memory_network import MemoryConfig

# Solutions --------------------------------------------------------------------------------------------------


def read_once(query, keys, values):
    weights = torch.einsum("bd,bsd->bs", query, keys).softmax(-1)
    return torch.einsum("bs,bsd->bd", weights, values), weights


def position_weights(words, width):
    place = torch.arange(1, words + 1)[:, None] / words
    unit = torch.arange(1, width + 1) / width
    return (1 - place) - unit * (1 - 2 * place)


def where(story, question):
    person = words(question)[-1]
    return next(words(sentence)[-1] for sentence in reversed(story) if person in words(sentence))


def two_hops(vocabulary, hops, *, width=30, slots=8, temporal=True, linear_start=0.4):
    config = MemoryConfig(
        vocabulary=vocabulary, hops=hops, width=width, slots=slots, temporal=temporal, init_std=0.2
    )
    recipe = Recipe(
        epochs=10,
        batch_size=16,
        optimiser="adam",
        lr=0.03,
        summed=False,
        schedule="linear",
        linear_start=linear_start,
    )
    return config, recipe


def hide_words(tokens, specials, mask, words, generator):
    return mask_tokens(tokens, specials=specials, mask=mask, words=words, generator=generator)


def pack(question, story, longest):
    room = longest - len(question) - 3
    kept = []
    while story and len(story[-1]) <= room:
        room -= len(story[-1])
        kept = [*story.pop(), *kept]
    tokens = ["[CLS]", *question, "[SEP]", *kept, "[SEP]"]
    return tokens, [0] * (len(question) + 2) + [1] * (len(kept) + 1)


def best_span(start, end, longest):
    return SpanOutput(start[None], end[None]).best(longest)[0]


# Mistakes ---------------------------------------------------------------------------------------------------


def other_reading(change):
    """Build the solution of `read_once` with another way of weighing, reading or returning."""

    def wrong(query, keys, values):
        scores = torch.einsum("bd,bsd->bs", query, keys)
        return change(query, keys, values, scores)

    return wrong


def mix(weights, values):
    return torch.einsum("bs,bsd->bd", weights, values)


def counted(words_from, units_from):
    def wrong(words, width):
        place = torch.arange(words_from, words + words_from)[:, None] / words
        unit = torch.arange(units_from, width + units_from) / width
        return (1 - place) - unit * (1 - 2 * place)

    return wrong


def first_mention(story, question):
    person = words(question)[-1]
    return next(words(sentence)[-1] for sentence in story if person in words(sentence))


def last_sentence(story, question):
    return words(story[-1])[-1]


def unstripped(story, question):
    return where(story, question) + "."


def other_masking(share=0.15, masked=0.8, kept=0.9, change=lambda hidden, labels, tokens: (hidden, labels)):
    """Build the solution of `hide_words` with other shares, or with something done to its result."""

    def wrong(tokens, specials, mask, words, generator):
        asked = (torch.rand(tokens.shape, generator=generator) < share) & (tokens >= specials)
        fate = torch.rand(tokens.shape, generator=generator)
        other = torch.randint(specials, words, tokens.shape, generator=generator)
        hidden = torch.where(asked & (fate < masked), mask, tokens)
        hidden = torch.where(asked & (fate >= masked) & (fate < kept), other, hidden)
        return change(hidden, torch.where(asked, tokens, -100), tokens)

    return wrong


def in_place(tokens, specials, mask, words, generator):
    tokens[torch.rand(tokens.shape, generator=generator) < 0.15] = mask
    return tokens, tokens


def no_generator(tokens, specials, mask, words, generator):
    return hide_words(tokens, specials, mask, words, None)


def marks_too(tokens, specials, mask, words, generator):
    return hide_words(tokens, 0, mask, words, generator)


def keep_oldest(question, story, longest):
    room, kept = longest - len(question) - 3, []
    for sentence in story:
        if len(sentence) > room:
            break
        room -= len(sentence)
        kept += sentence
    return ["[CLS]", *question, "[SEP]", *kept, "[SEP]"], [0] * (len(question) + 2) + [1] * (len(kept) + 1)


def cut_anywhere(question, story, longest):
    room = longest - len(question) - 3
    kept = [word for sentence in story for word in sentence][-room:]
    return ["[CLS]", *question, "[SEP]", *kept, "[SEP]"], [0] * (len(question) + 2) + [1] * (len(kept) + 1)


def never_cut(question, story, longest):
    return pack(question, story, 1000)


def mark_in_the_story(question, story, longest):
    tokens, segments = pack(question, story, longest)
    return tokens, [0] * (len(question) + 1) + [1] * (len(segments) - len(question) - 1)


def segments_exchanged(question, story, longest):
    tokens, segments = pack(question, story, longest)
    return tokens, [1 - one for one in segments]


def apart(start, end, longest):
    return int(start.argmax()), int(end.argmax())


def greedy(start, end, longest):
    first = int(start.argmax())
    return first, first + int(end[first : first + longest].argmax())


def unbounded(start, end, longest):
    return best_span(start, end, 1000)


def every_seventh(tokens, specials, mask, words, generator):
    """Ask for the same share in fixed positions: 15 of 99 words of a row."""
    ranks = torch.arange(tokens.shape[1]).expand_as(tokens)
    asked = ((ranks * 15) % 99 < 15) & (tokens >= specials)
    fate = torch.rand(tokens.shape, generator=generator)
    other = torch.randint(specials, words, tokens.shape, generator=generator)
    hidden = torch.where(asked & (fate < 0.8), mask, tokens)
    hidden = torch.where(asked & (fate >= 0.8) & (fate < 0.9), other, hidden)
    return hidden, torch.where(asked, tokens, -100)


def own_generator(tokens, specials, mask, words, generator):
    return hide_words(tokens, specials, mask, words, torch.Generator().manual_seed(0))


EDITION = {
    "read_once": Solved(
        read_once,
        [
            Mistake(
                other_reading(lambda q, k, v, s: (mix(s, v), s)),
                "a softmax turns them into weights",
                "scores are not weights",
            ),
            Mistake(
                other_reading(lambda q, k, v, s: (mix(s.softmax(0), v), s.softmax(0))),
                "over the questions",
                "which axis sums to one",
            ),
            Mistake(
                other_reading(lambda q, k, v, s: (mix((s / 2).softmax(1), v), (s / 2).softmax(1))),
                "root of the width",
                "a memory network does not scale",
            ),
            Mistake(
                other_reading(lambda q, k, v, s: (mix(s.softmax(1), k), s.softmax(1))),
                "you mixed the keys",
                "keys are matched, values are read",
            ),
            Mistake(
                other_reading(lambda q, k, v, s: (q + mix(s.softmax(1), v), s.softmax(1))),
                "added after the hop",
                "what a function returns is a contract",
            ),
            Mistake(
                other_reading(lambda q, k, v, s: mix(s.softmax(1), v)),
                "return two things",
                "the weights are shown, too",
            ),
        ],
    ),
    "position_weights": Solved(
        position_weights,
        [
            Mistake(counted(0, 0), "words and units are counted from 1", "the formula counts from one"),
            Mistake(counted(0, 1), "the words are counted from 0", "the formula counts from one"),
            Mistake(counted(1, 0), "the units are counted from 0", "the formula counts from one"),
            Mistake(
                lambda words, width: position_weights(words, width).T,
                "the axes are exchanged",
                "a row a word",
            ),
        ],
    ),
    "where": Solved(
        where,
        [
            Mistake(first_mention, "people move on", "the latest mention counts"),
            Mistake(last_sentence, "look for the name", "whose place it is"),
            Mistake(unstripped, "without its full stop", "a word is not its punctuation"),
        ],
    ),
    "two_hops": Solved(
        two_hops,
        [
            Mistake(
                lambda vocabulary, hops: two_hops(vocabulary, 2),
                "build it with `hops=hops`",
                "the check asks for both numbers of hops",
            ),
            Mistake(
                lambda vocabulary, hops: two_hops(99, hops),
                "build it with `vocabulary=vocabulary`",
                "the size comes from the data",
            ),
            Mistake(
                lambda vocabulary, hops: two_hops(vocabulary, hops)[0],
                "return a MemoryConfig and a Recipe",
                "an interface is part of the task",
            ),
            Mistake(
                lambda vocabulary, hops: two_hops(vocabulary, hops, width=60),
                "may learn 5,000",
                "capacity has a price",
            ),
            Mistake(
                lambda vocabulary, hops: two_hops(vocabulary, hops, linear_start=0),
                "begin without the softmax",
                "why linear start exists",
            ),
            Mistake(
                lambda vocabulary, hops: two_hops(vocabulary, hops, temporal=False),
                "what came last",
                "why memories carry time",
            ),
        ],
        open="training answers, on questions of its own: no case is shown",
    ),
    "hide_words": Solved(
        hide_words,
        [
            Mistake(
                other_masking(masked=1.0),
                "10 % should become a random word and 10 % stay",
                "[MASK] never occurs later",
            ),
            Mistake(
                other_masking(kept=0.8),
                "0% of the selected words became another word",
                "a wrong word must be possible",
            ),
            Mistake(
                other_masking(kept=1.0),
                "0% of the selected words stay|1% of the selected words stay",
                "the right word must be possible",
            ),
            Mistake(other_masking(masked=0.7), "the rule is 80, 10 and 10", "three shares of one draw"),
            Mistake(
                other_masking(share=0.5),
                "15 % of the words should be selected, yours are",
                "too many holes leave nothing to read",
            ),
            Mistake(
                other_masking(change=lambda h, y, t: (h, t.clone())),
                "tokens or padding are selected",
                "marks are no words",
            ),
            Mistake(
                other_masking(change=lambda h, y, t: (h, torch.where(t >= 5, t, -100))),
                "every word is selected",
                "only hidden words are scored",
            ),
            Mistake(
                other_masking(change=lambda h, y, t: (h, torch.where(y >= 0, h, -100))),
                "a label must be the word that was hidden",
                "the label is the truth",
            ),
            Mistake(
                other_masking(change=lambda h, y, t: h),
                "return two tensors",
                "inputs and labels are two things",
            ),
            Mistake(in_place, "work on a copy", "arguments belong to the caller"),
            Mistake(no_generator, "the same generator", "reproducible draws"),
            Mistake(marks_too, "tokens or padding are selected", "marks are no words"),
            Mistake(every_seventh, "the same positions", "positions must be drawn anew"),
            Mistake(own_generator, "another generator", "a seed of your own is a constant"),
        ],
    ),
    "pack": Solved(
        pack,
        [
            Mistake(keep_oldest, "keep the latest", "answers stand near the end"),
            Mistake(cut_anywhere, "a sentence was cut in two", "half a sentence can lie"),
            Mistake(never_cut, "leave out the oldest sentences", "the encoder has a last position"),
            Mistake(mark_in_the_story, "the first [SEP] ends the question", "where the first part ends"),
            Mistake(segments_exchanged, "segments are exchanged", "0 is the question"),
        ],
    ),
    "best_span": Solved(
        best_span,
        [
            Mistake(apart, "apart from each other", "a span is one choice, not two"),
            Mistake(greedy, "compare the sums of all pairs", "greedy is not best"),
            Mistake(unbounded, "are allowed", "a limit is part of the search"),
            Mistake(lambda start, end, longest: (0, 99), "does not lie within", "positions are indices"),
        ],
    ),
}
