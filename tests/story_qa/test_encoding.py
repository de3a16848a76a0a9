"""Stories as tables of sentences: nothing is lost, nothing is reordered, padding is nothing."""

import numpy as np
import pytest
import torch

from reasonlib.nn import position_encoding
from reasonlib.story_qa.data.bags import sentence_bags
from reasonlib.story_qa.data.encoding import answer_token, build_vocabulary, encode
from reasonlib.story_qa.data.example import Example, words
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.training import batch_weight, split_batch

MARY = "Mary moved to the bathroom."
JOHN = "John went to the hallway."
BACK = "Mary went to the garden."


def make_example(*story, question="Where is Mary?", answer=("garden",), support=(0,), task=1, group=0):
    return Example(task=task, story=story, question=question, answer=answer, support=support, group=group)


@pytest.fixture(scope="module")
def mixed():
    """Forty questions of four tasks: stories of 2 to 100 sentences, lists and paths among the answers."""
    return [example for task in (1, 3, 8, 19) for example in simulate(task, 10, seed=5)]


@pytest.fixture(scope="module")
def stories(mixed):
    return encode(mixed, build_vocabulary(mixed))


def rows_in_slots(stories, batch):
    """Give the rows of `stories.bags` that each question's filled slots hold, latest first."""
    row_of = {row.numpy().tobytes(): index for index, row in enumerate(stories.bags)}
    rows = [row_of[row.numpy().tobytes()] for row in batch.sentences]
    return [
        [rows[index] for index in slots[filled].tolist()]
        for slots, filled in zip(batch.story, batch.filled, strict=True)
    ]


# The vocabulary


def test_every_word_and_every_answer_has_an_id(mixed):
    vocabulary = build_vocabulary(mixed)
    first, rest = vocabulary.tokens[:2], vocabulary.tokens[2:]
    assert first == ("<pad>", "<unk>") and list(rest) == sorted(rest)
    for example in mixed:
        assert answer_token(example.answer) in vocabulary
        assert all(word in vocabulary for text in (*example.story, example.question) for word in words(text))
    assert any("," in token for token in vocabulary.tokens)  # a list is one class


def test_ids_do_not_depend_on_order_or_counts(mixed):
    assert build_vocabulary(mixed[::-1] + mixed[:3]).tokens == build_vocabulary(mixed).tokens


def test_an_unknown_word_and_an_unknown_answer_are_unk():
    vocabulary = build_vocabulary([make_example(MARY, answer=("bathroom",))])
    stories = encode([make_example(JOHN, answer=("kitchen",))], vocabulary)
    assert stories.answer.tolist() == [1]
    assert stories.bags[0, 0].nonzero().flatten().tolist() == sorted(
        set(vocabulary.encode(words(JOHN)[:-1]))
    )  # the last word weighs (1 - J/J) = 0 in P


# Sentences


def test_two_words_by_hand():
    # J = 2: word 1 has P = 1 - 1/2, Q = -(1 - 1); word 2 has P = 0, Q = -(1 - 2) = 1
    bags = sentence_bags([[3, 2]], 5)
    assert bags.tolist() == [[[0, 0, 0, 0.5, 0], [0, 0, 1, 0, 0]]]
    assert sentence_bags([[3, 2, 3]], 5, "bag").tolist() == [[[0, 0, 1, 2, 0], [0] * 5]]


@pytest.mark.parametrize("width", [1, 2, 7])
def test_two_matrix_products_are_the_position_encoding(width):
    generator = torch.Generator().manual_seed(0)
    sentences = [[4, 5, 6, 7], [5], [6, 4, 6, 6, 5, 9, 4], [8, 9]]  # words repeat within a sentence
    table = torch.randn(10, width, generator=generator, dtype=torch.float64)
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    weights = position_encoding(lengths, width).double()  # (N, W, D), the definition
    for number, sentence in enumerate(sentences):
        explicit = (weights[number, : len(sentence)] * table[sentence]).sum(0)
        bag = sentence_bags([sentence], 10)[0].double()
        unit = torch.arange(1, width + 1) / width
        torch.testing.assert_close(bag[0] @ table + unit * (bag[1] @ table), explicit, atol=1e-6, rtol=0)


def test_a_bag_forgets_the_order_and_a_position_encoding_does_not():
    forward, backward = [[2, 3, 4]], [[4, 3, 2]]
    assert torch.equal(sentence_bags(forward, 6, "bag"), sentence_bags(backward, 6, "bag"))
    assert not torch.equal(sentence_bags(forward, 6), sentence_bags(backward, 6))


@pytest.mark.parametrize("encoding", ["position", "bag"])
def test_the_null_symbol_weighs_nothing(encoding):
    bags = sentence_bags([[0, 0, 0], [2, 0, 3]], 5, encoding)
    assert not bags[0].any() and not bags[:, :, 0].any()
    assert bags[1].any()


def test_an_unknown_encoding():
    with pytest.raises(ValueError, match="encoding must be one of position, bag, got 'order'"):
        sentence_bags([[1]], 3, "order")
    with pytest.raises(ValueError, match="encoding must be one of position, bag, got 'order'"):
        encode([make_example(MARY)], build_vocabulary([make_example(MARY)]), "order")


def test_no_examples():
    with pytest.raises(ValueError, match="examples must hold at least one question, got none"):
        encode([], build_vocabulary([make_example(MARY)]))


# Sets of stories


def test_each_distinct_sentence_is_one_row():
    first, second = make_example(MARY, JOHN), make_example(JOHN, BACK, answer=("hallway",))
    stories = encode([first, second], build_vocabulary([first, second]))
    assert stories.flat.tolist() == [0, 1, 1, 2] and stories.starts.tolist() == [0, 2, 4]
    assert stories.question.tolist() == [3, 3]
    assert stories.bags.shape == (4, 2, len(stories.vocabulary)) and stories.bags.dtype == torch.float32
    assert len(stories) == 2 and stories.lengths.tolist() == [2, 2] and stories.task.tolist() == [1, 1]
    assert stories.vocabulary.decode(stories.answer) == ["garden", "hallway"]


def test_the_set_says_what_the_examples_say(mixed, stories):
    texts = list(dict.fromkeys(text for example in mixed for text in example.story))
    texts += [example.question for example in mixed if example.question not in texts]
    rows = encode(mixed, stories.vocabulary).bags
    assert len(rows) == len(dict.fromkeys(texts))
    for number, example in enumerate(mixed):
        mine = stories.flat[stories.starts[number] : stories.starts[number + 1]]
        alone = sentence_bags(
            [stories.vocabulary.encode(words(text)) for text in example.story], rows.shape[2]
        )
        assert torch.equal(stories.bags[torch.from_numpy(mine)], alone)


# Batches


def test_slot_zero_holds_the_latest_sentence(mixed, stories):
    items = [12, 0, 35]
    batch = stories.batch(items, slots=200)
    lengths = stories.lengths[items]
    assert len(batch) == 3 and batch.story.shape == batch.filled.shape == (3, lengths.max())
    assert batch.filled.sum(1).tolist() == lengths.tolist()
    for row, item in enumerate(items):
        expected = stories.flat[stories.starts[item] : stories.starts[item + 1]][::-1]
        assert rows_in_slots(stories, batch)[row] == expected.tolist()
        assert torch.equal(batch.sentences[batch.question[row]], stories.bags[stories.question[item]])
    assert batch.answer.tolist() == stories.answer[items].tolist()


def test_a_batch_holds_only_its_own_sentences(stories):
    batch = stories.batch([0, 1], slots=50)
    used = {*batch.story[batch.filled].tolist(), *batch.question.tolist()}
    assert used == set(range(len(batch.sentences))) and len(batch.sentences) < len(stories.bags)


@pytest.mark.parametrize("slots", [1, 3])
def test_the_latest_sentences_are_kept(stories, slots):
    items = range(len(stories))
    batch = stories.batch(items, slots=slots)
    assert batch.story.shape[1] == slots
    for row, item in enumerate(items):
        story = stories.flat[stories.starts[item] : stories.starts[item + 1]]
        assert rows_in_slots(stories, batch)[row] == story[::-1][:slots].tolist()


def test_a_question_without_a_story_has_an_empty_memory():
    both = [make_example(answer=("garden",), support=()), make_example(MARY)]
    stories = encode(both, build_vocabulary(both))
    batch = stories.batch([0], slots=5)
    assert batch.filled.tolist() == [[False]] and len(batch.sentences) == 1
    assert stories.batch([0, 1], slots=5).filled.tolist() == [[False], [True]]


def test_noise_keeps_every_sentence_and_its_order(stories):
    rng = np.random.default_rng(0)
    items = np.arange(len(stories))
    still = rows_in_slots(stories, stories.batch(items, slots=150))
    lengths = stories.lengths
    blanks = []
    for _ in range(20):
        batch = stories.batch(items, slots=150, noise=0.1, rng=rng)
        assert rows_in_slots(stories, batch) == still
        last = np.array([int(row.nonzero().max()) for row in batch.filled])
        blanks.append(last + 1 - lengths)  # slots by which the oldest sentence seems older
    shift = np.stack(blanks)
    assert shift.min() == 0 and (shift <= np.ceil(0.1 * lengths)).all()
    assert (shift.max(0) > 0).mean() > 0.9  # nearly every story was shifted in some draw
    assert (shift.min(0) == 0).mean() > 0.9


def test_noise_does_not_push_sentences_out_of_a_full_memory(stories):
    rng = np.random.default_rng(1)
    for _ in range(10):
        batch = stories.batch(range(len(stories)), slots=8, noise=1.0, rng=rng)
        assert batch.story.shape[1] <= 8
        assert batch.filled.sum(1).tolist() == np.minimum(stories.lengths, 8).tolist()


def test_the_same_draws_make_the_same_batch(stories):
    first, second = (
        stories.batch([3, 4, 39], slots=150, noise=0.5, rng=np.random.default_rng(7)) for _ in range(2)
    )
    for name in first.__dataclass_fields__:
        assert torch.equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slots": 0}, "slots must be at least 1, got 0"),
        ({"slots": 5, "noise": -0.1}, "noise must be at least 0, got -0.1"),
        ({"slots": 5, "noise": 0.1}, "noise draws random numbers: give it an rng"),
    ],
)
def test_bad_batches(stories, options, message):
    with pytest.raises(ValueError, match=message):
        stories.batch([0], **options)


def test_slices_for_several_processes_are_the_whole(stories):
    batch = stories.batch(range(5), slots=10)
    shards = [split_batch(batch, index, 2) for index in range(2)]
    assert [batch_weight(shard) for shard in shards] == [3.0, 2.0]
    for shard in shards:
        assert torch.equal(shard.sentences, batch.sentences)
    for name in ("story", "filled", "question", "answer"):
        rows = torch.cat([getattr(shard, name) for shard in shards])
        whole = getattr(batch, name)
        assert sorted(map(str, rows.tolist())) == sorted(map(str, whole.tolist()))
    assert len(split_batch(stories.batch([0], slots=10), 1, 2)) == 0


def test_a_batch_moves_as_a_whole(stories):
    batch = stories.batch([0, 1], slots=10).to("meta")
    assert {getattr(batch, name).device.type for name in batch.__dataclass_fields__} == {"meta"}


def test_an_answer_of_several_words_is_scored_as_a_whole():
    both = [make_example(MARY, answer=("milk", "apple")), make_example(MARY, answer=("milk",))]
    stories = encode(both, build_vocabulary(both))
    assert stories.vocabulary.decode(stories.answer) == ["milk,apple", "milk"]
    assert stories.examples == tuple(both)
