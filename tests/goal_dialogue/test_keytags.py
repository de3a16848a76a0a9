"""Key tags against a NumPy transcription of eq. 4.8 to 4.13, and the variants the source gave up."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.encoding import EncodedTask, encode, encode_split
from reasonlib.goal_dialogue.experiments.train_memory import Recipe, train_network
from reasonlib.goal_dialogue.models.keytags import ENCODERS, build_keytags
from reasonlib.goal_dialogue.models.match_features import entity_types
from reasonlib.goal_dialogue.models.memory_network import NetworkConfig, build
from reasonlib.goal_dialogue.models.tagger import TAGS, look_up

CONFIG = NetworkConfig(width=6, hops=2, slots=20)


@pytest.fixture(scope="module")
def split():
    return datasets.load("simulated", 1, dialogues=8)


@pytest.fixture(scope="module")
def task(split) -> EncodedTask:
    return encode_split(split)


@pytest.fixture(scope="module")
def tagged(split):
    return partial(look_up, split.knowledge.types())


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def bag(task: EncodedTask, text: str, marks: tuple[str, ...] = ()) -> list[int]:
    """Word ids of a sentence, those the vocabulary knows."""
    return [task.vocabulary.id_of(w) for w in [*text.split(), *marks] if w in task.vocabulary]


def test_ktn2n_is_the_transcription(split, task, tagged):
    model, numbered, _ = build_keytags(CONFIG, task, tagged, seed=4)
    dialogue = split.test[0]
    turn = len(dialogue.turns) - 1
    memory = []
    for number, turn_before in enumerate(dialogue.turns[:turn]):
        memory += [(turn_before.user, ("$u", f"#{number}")), (turn_before.bot, ("$r", f"#{number}"))]
    item = int(np.flatnonzero((numbered.test.dialogue == 0) & (numbered.test.turn == turn))[0])
    with torch.no_grad():
        answered = model(numbered.test.batch([item], slots=20))

    tables = [table.detach().numpy() for table in model.encoder.words.tables]  # A, C, B and an unused W
    t = model.encoder.tags.detach().numpy()  # T
    h = model.steps[0].map.detach().numpy()  # H
    w = model.answers.words.tables[0].detach().numpy()  # W, V x 2d
    assert w.shape == (len(task.vocabulary), 2 * CONFIG.width)

    def z(text):
        return tagged([text.split()])[0]

    def embed(table, text, marks=()):
        return np.concatenate([table[bag(task, text, marks)].sum(0), t[list(z(text))].sum(0)])

    user = dialogue.turns[turn].user
    q_t = sum(t[number] for number in z(user))  # eq. 4.8
    q_emb = tables[2][bag(task, user)].sum(0)  # eq. 4.10; the query's own table, as layer-wise tying has it
    u = np.concatenate([q_emb, q_t])  # eq. 4.11
    m = np.stack([embed(tables[0], text, marks) for text, marks in memory])  # eq. 4.9, 4.12, 4.13
    c = np.stack([embed(tables[1], text, marks) for text, marks in memory])
    for hop in range(CONFIG.hops):
        p = softmax(m @ u)
        np.testing.assert_allclose(answered.weights[0, hop, : len(p)].numpy(), p, rtol=1e-4)
        u = h @ u + p @ c
    scores = np.stack([w[bag(task, candidate)].sum(0) for candidate in task.candidates]) @ u
    np.testing.assert_allclose(answered.logits[0].numpy(), scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_variant_is_what_the_text_says(split, task, tagged, encoder):
    model, numbered, texts = build_keytags(CONFIG, task, tagged, encoder=encoder, seed=0)
    common = list(texts.numbers)
    text = common.index(
        next(text for text in common if ("cuisine" in text and "two" in text) or "food" in text)
    )
    row = next(r for r in range(len(numbered.train.text)) if numbered.train.text[r] == text)
    turns = numbered.train
    index = int(np.flatnonzero(turns.question == row)[0])
    batch = turns.batch([index], slots=20)
    given = model.encoder(batch.sentences, [0])[0][batch.question[0]].detach().numpy()
    words = common[text].split()
    x = np.stack([model.encoder.words.tables[0].detach().numpy()[task.vocabulary.id_of(w)] for w in words])
    z = np.array(tagged([words])[0])
    assert z.max() > 1
    want = {
        "keytags": lambda: np.concatenate([x.sum(0), model.encoder.tags.detach().numpy()[z].sum(0)]),
        "tags-numbers": lambda: np.concatenate(
            [x.sum(0), np.pad(z, (0, model.encoder.width - 6 - len(z))).astype(float)]
        ),
        "tags-added": lambda: (x + z[:, None]).sum(0),
        "tags-multiplied": lambda: (x * z[:, None]).sum(0),
        "tags-sentence": lambda: x.sum(0) + model.encoder.tags[0].detach().numpy()[z.max()],
    }[encoder]()
    np.testing.assert_allclose(given, want, rtol=1e-5, atol=1e-5)


def test_without_tags_it_is_the_plain_network_with_an_answer_table_of_its_own(split, task):
    """With T at zero the second half of every vector is zero, and so is its share of attention and scores."""
    model, numbered, _ = build_keytags(CONFIG, task, partial(look_up, {}), seed=2)
    plain = build(CONFIG, task, seed=0)
    with torch.no_grad():
        model.encoder.tags.zero_()
        for mine, theirs in zip(plain.encoder.tables, model.encoder.words.tables, strict=True):
            mine.copy_(theirs)
        plain.encoder.tables[3].copy_(model.answers.words.tables[0][:, : CONFIG.width])
        items = range(10, 20)
        with_tags = model(numbered.test.batch(items, slots=20))
        without = plain(task.test.batch(items, slots=20))
    torch.testing.assert_close(with_tags.weights, without.weights)
    torch.testing.assert_close(with_tags.logits, without.logits)


def test_every_tying_takes_tags(task, tagged):
    for network in ("n2n", "gn2n", "un2n"):
        config = NetworkConfig(network=network, width=5, hops=3, slots=20)
        model, numbered, _ = build_keytags(config, task, tagged, seed=0)
        answered = model(numbered.train.batch([3, 9], slots=20))
        assert answered.logits.shape == (2, len(task.candidates))
        answered.logits.sum().backward()
        assert model.encoder.tags.grad is not None and model.encoder.tags.grad.abs().sum() > 0


def test_sets_keep_their_turns_and_new_texts_find_their_tags(split, task, tagged):
    model, numbered, texts = build_keytags(CONFIG, task, tagged, seed=0)
    for name, turns in numbered.sets.items():
        before = task.sets[name]
        assert [turns.texts[n] for n in turns.text] == [before.texts[n] for n in before.text]
        np.testing.assert_array_equal(turns.memory, before.memory)
    fresh = datasets.load("simulated", 1, dialogues=8, seed=7).test
    other = encode(fresh, task.vocabulary, task.candidates)
    count = len(texts.numbers)
    numbered_turns = texts.of_turns(other)
    assert len(model.encoder.counts) == len(texts.numbers) > count
    newest = tagged([list(texts.numbers)[-1].split()])[0]
    assert model.encoder.counts[-1].tolist() == [float(newest.count(n)) for n in range(len(TAGS))]
    assert model(numbered_turns.batch([0, 5], slots=20)).logits.isfinite().all()


def test_it_learns_and_repeats(task, tagged):
    """The loss falls, and the same seed gives the same bits."""
    recipe = Recipe(epochs=3, lr=0.01, patience=None)
    results = []
    for _ in range(2):
        model, numbered, _ = build_keytags(CONFIG, task, tagged, seed=0)
        history = train_network(model, numbered, recipe, seed=0, progress=False)
        results.append([row["loss"] for row in history.rows])
    assert results[0] == results[1]
    assert results[0][-1] < results[0][0]


def test_wrong_settings_are_named(task, tagged):
    with pytest.raises(ValueError, match=r"encoder must be one of keytags, .*, got 'tags'"):
        build_keytags(CONFIG, task, tagged, encoder="tags")
    with pytest.raises(ValueError, match="types must name at least one entity"):
        build_keytags(NetworkConfig(match=True), task, tagged)


def test_match_features_go_with_tags(split, tagged):
    types = entity_types(split)
    task = encode_split(split, types=types)
    model, numbered, _ = build_keytags(replace(CONFIG, match=True), task, tagged)
    items = [0, 8, 20]
    batch = numbered.oov.batch(items, slots=20)
    torch.testing.assert_close(batch.mentioned, task.oov.batch(items, slots=20).mentioned)
    with torch.no_grad():
        before = model(batch).logits
        model.match.types.add_(1.0)
        changed = (model(batch).logits - before).abs() > 1e-6
    naming = torch.tensor([any(word in types for word in text.split()) for text in task.candidates])
    assert changed.any() and not changed[:, ~naming].any()
