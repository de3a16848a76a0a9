"""Every exercise turns the stub away with its hint, passes its solution, and knows a plausible mistake."""

import ast
from pathlib import Path

import pytest
import torch

from reasonlib.grading import checks
from reasonlib.nn.positions import position_encoding
from reasonlib.story_qa.data.example import words
from reasonlib.story_qa.data.masking import mask_tokens
from reasonlib.story_qa.experiments.memory import Recipe
from reasonlib.story_qa.models.bert import SpanOutput
from reasonlib.story_qa.models.memory_network import MemoryConfig
from reasonlib.story_qa.page import exercises

ALL = checks.exercises("story_qa")


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
        vocabulary=vocabulary, hops=hops, width=width, slots=slots, temporal=temporal, spread=0.2
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


SOLUTIONS = {
    "read_once": read_once,
    "position_weights": position_weights,
    "where": where,
    "two_hops": two_hops,
    "hide_words": hide_words,
    "pack": pack,
    "best_span": best_span,
}


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


MISTAKES = [
    ("read_once", other_reading(lambda q, k, v, s: (mix(s, v), s)), "a softmax turns them into weights"),
    (
        "read_once",
        other_reading(lambda q, k, v, s: (mix(s.softmax(0), v), s.softmax(0))),
        "over the questions",
    ),
    (
        "read_once",
        other_reading(lambda q, k, v, s: (mix((s / 2).softmax(1), v), (s / 2).softmax(1))),
        "root of the width",
    ),
    (
        "read_once",
        other_reading(lambda q, k, v, s: (mix(s.softmax(1), k), s.softmax(1))),
        "you mixed the keys",
    ),
    (
        "read_once",
        other_reading(lambda q, k, v, s: (q + mix(s.softmax(1), v), s.softmax(1))),
        "added after the hop",
    ),
    ("read_once", other_reading(lambda q, k, v, s: mix(s.softmax(1), v)), "return two things"),
    ("position_weights", counted(0, 0), "words and units are counted from 1"),
    ("position_weights", counted(0, 1), "the words are counted from 0"),
    ("position_weights", counted(1, 0), "the units are counted from 0"),
    ("position_weights", lambda words, width: position_weights(words, width).T, "the axes are exchanged"),
    ("where", first_mention, "people move on"),
    ("where", last_sentence, "look for the name"),
    ("where", unstripped, "without its full stop"),
    ("two_hops", lambda vocabulary, hops: two_hops(vocabulary, 2), "build it with `hops=hops`"),
    ("two_hops", lambda vocabulary, hops: two_hops(99, hops), "build it with `vocabulary=vocabulary`"),
    (
        "two_hops",
        lambda vocabulary, hops: two_hops(vocabulary, hops)[0],
        "return a MemoryConfig and a Recipe",
    ),
    ("two_hops", lambda vocabulary, hops: two_hops(vocabulary, hops, width=60), "may learn 5,000"),
    (
        "two_hops",
        lambda vocabulary, hops: two_hops(vocabulary, hops, linear_start=0),
        "begin without the softmax",
    ),
    ("two_hops", lambda vocabulary, hops: two_hops(vocabulary, hops, temporal=False), "what came last"),
    ("hide_words", other_masking(masked=1.0), "10 % should become a random word and 10 % stay"),
    ("hide_words", other_masking(kept=0.8), "0% of the selected words became another word"),
    ("hide_words", other_masking(kept=1.0), "0% of the selected words stay|1% of the selected words stay"),
    ("hide_words", other_masking(masked=0.7), "the rule is 80, 10 and 10"),
    ("hide_words", other_masking(share=0.5), "15 % of the words should be selected, yours are 50"),
    (
        "hide_words",
        other_masking(change=lambda h, y, t: (h, t.clone())),
        "tokens or padding are selected",
    ),
    (
        "hide_words",
        other_masking(change=lambda h, y, t: (h, torch.where(t >= 5, t, -100))),
        "every word is selected",
    ),
    (
        "hide_words",
        other_masking(change=lambda h, y, t: (h, torch.where(y >= 0, h, -100))),
        "a label must be the word that was hidden",
    ),
    ("hide_words", other_masking(change=lambda h, y, t: h), "return two tensors"),
    ("hide_words", in_place, "work on a copy"),
    ("hide_words", no_generator, "the same generator"),
    ("hide_words", marks_too, "tokens or padding are selected"),
    ("pack", keep_oldest, "keep the latest"),
    ("pack", cut_anywhere, "a sentence was cut in two"),
    ("pack", never_cut, "leave out the oldest sentences"),
    ("pack", mark_in_the_story, "the first .SEP. ends the question"),
    ("pack", segments_exchanged, "segments are exchanged"),
    ("best_span", apart, "apart from each other"),
    ("best_span", greedy, "compare the sums of all pairs"),
    ("best_span", unbounded, "are allowed"),
    ("best_span", lambda start, end, longest: (0, 99), "does not lie within"),
]


# Tests ------------------------------------------------------------------------------------------------------


def test_every_exercise_has_a_solution_and_a_mistake_here():
    names = {one.name for one in ALL}
    assert names == set(SOLUTIONS) == {name for name, _, _ in MISTAKES}


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_the_stub_is_turned_away_with_where_to_begin(one):
    result = one(checks.stub())
    assert result.untouched
    assert not result.passed
    assert one.hint in result.message


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_the_solution_passes(one):
    result = checks.require(one(SOLUTIONS[one.name]))
    assert result.earned == one.points


@pytest.mark.parametrize(("name", "answer", "hint"), MISTAKES)
def test_a_plausible_mistake_is_told_by_its_own_hint(name, answer, hint):
    result = next(one for one in ALL if one.name == name)(answer)
    assert not result.untouched
    with pytest.raises(AssertionError, match=hint):
        checks.require(result)


def test_hints_are_sentences_that_differ():
    hints = [one.hint for one in ALL]
    assert len(set(hints)) == len(hints)


def test_stories_of_two_facts_are_short_and_of_their_seed():
    stories = exercises.two_facts(50, seed=3, longest=6)
    assert len(stories) == 50
    assert {example.task for example in stories} == {2}
    assert max(len(example.story) for example in stories) <= 6
    assert stories == exercises.two_facts(50, seed=3, longest=6)
    assert stories != exercises.two_facts(50, seed=4, longest=6)


def test_the_formula_of_the_exercise_is_the_librarys():
    assert torch.allclose(position_weights(6, 8), position_encoding(torch.tensor([6]), 8)[0])


def test_every_check_says_what_it_asks_for():
    tree = ast.parse(Path(exercises.__file__).read_text(encoding="utf-8"))
    said = {node.name: ast.get_docstring(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    for one in ALL:
        assert f"``{one.name}(" in said[f"check_{one.name}"]
