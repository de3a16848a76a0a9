"""The taggers: their cell against the printed equations, what they learn, what letters cannot tell."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.example import Dialogue, Fact, KnowledgeBase, Split, Turn
from reasonlib.goal_dialogue.experiments.tagger_data import (
    TaggerData,
    collect_tagger_data,
    count_sentences,
    training_entities,
)
from reasonlib.goal_dialogue.experiments.train_tagger import (
    TaggerRecipe,
    make_tagger,
    tag_accuracy,
    train_on_data,
    train_tagger,
)
from reasonlib.goal_dialogue.models.tagger import (
    CHARACTERS,
    NONE,
    TAGS,
    ContextTagger,
    TaggerConfig,
    WordTagger,
    encode_characters,
    look_up,
    lstm_step,
    tag,
    tag_counts,
)

SMALL = TaggerConfig(letter=8, width=16, context=16)
CUISINE, LOCATION = TAGS.index("cuisine"), TAGS.index("location")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def printed_cell(x, h, cell, w, b_f, b_i):
    """Equations 4.1 to 4.7 as the thesis prints them: one bias b_i in 4.3, 4.4 and 4.6."""
    joined = np.concatenate([h, x])
    forget = sigmoid(w["f"] @ joined + b_f)
    kept = cell * forget
    use = sigmoid(w["i"] @ joined + b_i)
    update = np.tanh(w["c"] @ joined + b_i)
    cell = kept + use * update
    out = sigmoid(w["o"] @ joined + b_i)
    return out * np.tanh(cell), cell


def test_cell_is_the_printed_one_and_torch_s():
    rng = np.random.default_rng(0)
    wide, hidden = 3, 4
    w = {gate: rng.normal(size=(hidden, hidden + wide)) for gate in "fico"}
    b_f, b_i = rng.normal(size=hidden), rng.normal(size=hidden)
    x, h, cell = rng.normal(size=wide), rng.normal(size=hidden), rng.normal(size=hidden)
    ours = {f"W_{gate}": torch.tensor(matrix) for gate, matrix in w.items()}
    ours |= {f"b_{gate}": torch.tensor(b_f if gate == "f" else b_i) for gate in "fico"}
    output = lstm_step(torch.tensor(x)[None], (torch.tensor(h)[None], torch.tensor(cell)[None]), ours)
    for tensor, number in zip(output, printed_cell(x, h, cell, w, b_f, b_i), strict=True):
        np.testing.assert_allclose(tensor[0].numpy(), number, rtol=1e-12)

    theirs = nn.LSTMCell(
        wide, hidden
    ).double()  # gates in the order i, f, g, o; separate matrices for x and h
    order = "ifco"
    with torch.no_grad():
        theirs.weight_hh.copy_(torch.cat([ours[f"W_{gate}"][:, :hidden] for gate in order]))
        theirs.weight_ih.copy_(torch.cat([ours[f"W_{gate}"][:, hidden:] for gate in order]))
        theirs.bias_ih.copy_(torch.cat([ours[f"b_{gate}"] for gate in order]))
        theirs.bias_hh.zero_()
        torch.testing.assert_close(
            theirs(torch.tensor(x)[None], (torch.tensor(h)[None], torch.tensor(cell)[None])), output
        )


def test_a_word_s_vector_is_that_of_the_cells_run_by_hand():
    tagger = WordTagger(SMALL, seed=1)
    lstm = tagger.reader.lstm
    spelled = encode_characters([["thai", "a"], ["british"]])
    with torch.no_grad():
        vectors = tagger.reader(spelled)
        for row, word in enumerate(("thai", "a", "british")):
            sides = []
            for side, letters in (("", word), ("_reverse", word[::-1])):
                w_x, w_h = getattr(lstm, f"weight_ih_l0{side}"), getattr(lstm, f"weight_hh_l0{side}")
                bias = getattr(lstm, f"bias_ih_l0{side}") + getattr(lstm, f"bias_hh_l0{side}")
                weights = {}
                for index, gate in enumerate("ifco"):
                    cut = slice(16 * index, 16 * (index + 1))
                    weights[f"W_{gate}"] = torch.cat([w_h[cut], w_x[cut]], dim=1)
                    weights[f"b_{gate}"] = bias[cut]
                state = torch.zeros(1, 16), torch.zeros(1, 16)
                for letter in letters:
                    number = torch.tensor([CHARACTERS.index(letter) + 2])
                    state = lstm_step(tagger.reader.letters(number), state, weights)
                sides.append(state[0][0])
            torch.testing.assert_close(vectors[row], torch.cat(sides))


def made_up_order(share=0.5) -> tuple[TaggerData, dict[str, int]]:
    """Words of the same letters: a vowel first makes a cuisine, a vowel last a place."""
    rng = np.random.default_rng(5)
    words: dict[str, int] = {}
    for _ in range(60):
        body = "".join(rng.choice(list("bdglmnrst"), size=3))
        vowel = str(rng.choice(list("aeiou")))
        words[vowel + body], words[body + vowel] = CUISINE, LOCATION
    names = sorted(words)
    seen = [name for index, name in enumerate(names) if index % 3]
    data = TaggerData(
        patterns=((CUISINE,), (LOCATION,)),
        chance=np.array([0.5, 0.5]),
        entities={kind: tuple(name for name in seen if words[name] == kind) for kind in (CUISINE, LOCATION)},
        types={},
        ordinary=(),
    )
    return data, {name: words[name] for name in names if name not in seen}


class LetterBag(nn.Module):
    """The ablation: which letters a word has, not in which order."""

    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(len(CHARACTERS) + 2, 32, padding_idx=0)
        self.tags = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, len(TAGS)))
        for parameter in self.parameters():
            with torch.no_grad():
                parameter.copy_(
                    torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.2
                )

    def forward(self, spelled):
        return self.tags(self.letters(spelled.letters).sum(1))[spelled.words]


def test_the_order_of_letters_is_learned_and_a_bag_of_letters_cannot():
    data, unseen = made_up_order()
    recipe = TaggerRecipe(steps=60, batch_size=32, made_up=0.0, lr=0.02)
    right = {}
    for name, model in (("lstm", WordTagger(SMALL)), ("bag", LetterBag())):
        train_on_data(model, data, recipe, progress=False)
        with torch.no_grad():
            given = model(encode_characters([[word] for word in unseen]))[:, 0].argmax(1)
        right[name] = float((given == torch.tensor(list(unseen.values()))).float().mean())
    assert right["lstm"] > 0.9
    assert right["bag"] < 0.7


@pytest.fixture(scope="module")
def split() -> Split:
    return datasets.load("simulated", 1, dialogues=60)


def test_context_tells_a_new_place_from_a_new_cuisine_and_letters_do_not(split):
    shares = {}
    for tagger, steps in ((ContextTagger(), 200), (WordTagger(SMALL), 60)):
        alone = isinstance(tagger, WordTagger)
        data = without_restaurants(collect_tagger_data(split, alone=alone))
        train_on_data(tagger, data, TaggerRecipe(steps=steps, lr=0.02), progress=False)
        rows = tag_accuracy(tagger, split, split.oov)
        unseen = [row for row in rows if row.type in ("cuisine", "location") and not row.seen]
        assert {row.type for row in unseen} == {"cuisine", "location"}
        assert all(row.words and row.places for row in unseen)
        shares["alone" if alone else "context"] = min(row.accuracy for row in unseen)
    assert shares["context"] > 0.8
    assert shares["alone"] < 0.6


def without_restaurants(data: TaggerData) -> TaggerData:
    """Leave the long names out, which take most of the time."""
    long = {TAGS.index(kind) for kind in ("restaurant", "phone", "address")}
    keep = [not long & set(pattern) for pattern in data.patterns]
    chance = data.chance[keep]
    patterns = tuple(pattern for pattern, kept in zip(data.patterns, keep, strict=True) if kept)
    return TaggerData(patterns, chance / chance.sum(), data.entities, data.types, data.ordinary)


def test_lessons_come_from_the_known_half_alone(split):
    train_types = training_entities(split).types()
    heard = {word for sentence in count_sentences(split.train) for word in sentence}
    everything = split.knowledge.types()
    assert 0 < len(train_types) < len(everything)
    assert {w for w in train_types if train_types[w] in ("cuisine", "location")} <= heard
    unseen = {word for sentence in count_sentences(split.oov) for word in sentence} - heard
    cuisines = {word for word in unseen if everything.get(word) == "cuisine"}
    assert cuisines and not cuisines & set(train_types)
    for alone in (True, False):
        data = collect_tagger_data(split, alone=alone)
        assert not cuisines & {name for names in data.entities.values() for name in names}
        assert not cuisines & {slot for pattern in data.patterns for slot in pattern}
        assert all(len(pattern) == 1 for pattern in data.patterns) == alone
        np.testing.assert_allclose(data.chance.sum(), 1)


def test_same_seed_same_tagger(split):
    tagged = []
    for seed in (0, 0, 1):
        tagger = ContextTagger(SMALL, seed=seed)
        data = without_restaurants(collect_tagger_data(split, alone=False))
        train_on_data(tagger, data, TaggerRecipe(steps=5, batch_size=8), seed=seed, progress=False)
        tagged.append(tagger(encode_characters([["in", "paris", "please"]])))
    assert torch.equal(tagged[0], tagged[1])
    assert not torch.equal(tagged[0], tagged[2])


def test_tags_do_not_depend_on_the_company_of_other_sentences():
    sentences = [["in", "seoul", "please"], ["hi"], [], ["with", "thai", "food", "for", "two"], ["hi"]]
    for tagger in (WordTagger(SMALL, seed=3), ContextTagger(SMALL, seed=3)):
        together = tag(tagger, sentences)
        assert together == [tag(tagger, [sentence])[0] for sentence in sentences]
        assert [len(numbers) for numbers in together] == [len(sentence) for sentence in sentences]
        assert all(number > 0 for numbers in together for number in numbers)
    words = tag(WordTagger(SMALL, seed=3), [["two", "thai"], ["thai", "two"]])
    assert words[0] == words[1][::-1]


def test_looking_up_and_counting():
    types = {"italian": "cuisine", "rome": "location"}
    tags = look_up(types, ["some italian food in rome rome".split(), []])
    assert tags == [(NONE, CUISINE, NONE, NONE, LOCATION, LOCATION), ()]
    counts = tag_counts(tags)
    assert counts.sum(1).tolist() == [6, 0]
    assert counts[0, [NONE, CUISINE, LOCATION]].tolist() == [3, 1, 2]
    assert (TAGS[0], TAGS[1]) == ("<pad>", "none")


def test_mistakes_of_the_user_are_named():
    turn = Dialogue(task=6, events=(Turn("hi", "hello"),))
    bare = Split(
        task=6, train=[turn], valid=[turn], test=[turn], oov=[], candidates=["hello"], knowledge=None
    )
    with pytest.raises(UserError, match="task 6 has no knowledge base"):
        train_tagger(WordTagger(SMALL), bare)
    foreign = KnowledgeBase(facts={"resto": {"R_cuisine": "greek", "R_location": "athens"}})
    lost = Split(
        task=1, train=[turn], valid=[turn], test=[turn], oov=[], candidates=["hello"], knowledge=foreign
    )
    with pytest.raises(UserError, match="task 1: no restaurant of the knowledge base"):
        training_entities(lost)
    with pytest.raises(ValueError, match="width must be at least 1, got 0"):
        TaggerConfig(width=0)
    with pytest.raises(ValueError, match="made_up must be between 0 and 1, got 2"):
        TaggerRecipe(made_up=2)
    with pytest.raises(ValueError, match="sentences must each hold at least one word"):
        encode_characters([["hi"], []])


def test_taggers_by_name(split):
    everything, train_types = split.knowledge.types(), training_entities(split).types()
    new = next(word for word, kind in everything.items() if kind == "cuisine" and word not in train_types)
    assert make_tagger(split, "look-up")([[new]]) == [(NONE,)]
    assert make_tagger(split, "look-up-all")([[new]]) == [(CUISINE,)]
    for name in ("letters", "letters-all", "context"):
        tagged = make_tagger(split, name, steps=1)
        assert [len(numbers) for numbers in tagged([["in", new], []])] == [2, 0]
    with pytest.raises(ValueError, match=r"tagger must be one of letters, letters-all, .*, got 'x'"):
        make_tagger(split, "x")
    with pytest.raises(UserError, match="has no knowledge base"):
        make_tagger(replace(split, knowledge=None))


def test_facts_are_read_as_sentences():
    events = (Fact("resto", "R_price", "cheap"), Turn("hi there", "hello"))
    counts = count_sentences([Dialogue(task=3, events=events)])
    assert counts == {("resto", "R_price", "cheap"): 1, ("hi", "there"): 1, ("hello",): 1}
