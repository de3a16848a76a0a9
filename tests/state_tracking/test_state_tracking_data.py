"""Simulated and real dialogues: labels, statistics, readers, cleaning, candidates."""

import json

import pytest

from reasonlib.errors import DataError
from reasonlib.state_tracking.data import corpus
from reasonlib.state_tracking.data.cleaning import clean_state, clean_value
from reasonlib.state_tracking.data.datasets import load
from reasonlib.state_tracking.data.encoding import Candidates, TurnTokens, batches, candidates_of, encode
from reasonlib.state_tracking.data.example import Dialogue, Origin, Turn
from reasonlib.state_tracking.data.ontology import DONTCARE, PAIRS, SLOTS, slot_of
from reasonlib.state_tracking.data.simulator import SimulatorConfig, simulate
from reasonlib.state_tracking.data.simulator_fit import MULTIWOZ, describe
from reasonlib.state_tracking.data.values import check_values, read_values
from reasonlib.state_tracking.data.world import SIZES, make_world
from reasonlib.training.masked_words import UNSCORED, word_tokenizer

DIALOGUES = simulate(300, seed=1)


def test_the_same_seed_gives_the_same_dialogues_whatever_the_count():
    assert simulate(20, seed=1) == DIALOGUES[:20] != simulate(20, seed=2)


def test_thirty_pairs_with_seventeen_slots():
    assert len(PAIRS) == 30 and len(SLOTS) == 17


def test_every_value_has_an_origin_and_inherited_ones_equal_their_source():
    kinds, distances = set(), set()
    for dialogue in DIALOGUES:
        for number, turn in enumerate(dialogue.turns):
            assert turn.state.keys() == turn.origins.keys()
            for pair, origin in turn.origins.items():
                kinds.add(origin.kind)
                assert origin.turn <= number
                if origin.kind == "inherited" and origin.turn == number:
                    assert turn.state[pair] == turn.state[origin.source]
                    assert origin.distance == number - turn.origins[origin.source].turn
                    distances.add(origin.distance)
                if origin.kind == "dontcare":
                    assert turn.state[pair] == DONTCARE
    assert kinds == {"stated", "offered", "inherited", "dontcare", "changed"}
    assert min(distances) <= 1 and max(distances) > 5  # referred to at once, and turns later


def test_a_declined_offer_fills_nothing_and_a_changed_value_replaces_another():
    declined = changed = 0
    for dialogue in DIALOGUES:
        for number, turn in enumerate(dialogue.turns):
            for pair, value in turn.unfilled:
                assert f" {value} " in f" {turn.system} " and turn.state.get(pair) != value
                declined += 1
            for pair, origin in turn.origins.items():
                if origin.kind == "changed" and origin.turn == number:
                    assert dialogue.turns[number - 1].state[pair] != turn.state[pair]
                    changed += 1
    assert declined > 20 and changed > 20


def test_a_stated_value_is_said_and_an_inherited_one_is_not():
    spoken = missing = 0
    for dialogue in DIALOGUES:
        for number, turn in enumerate(dialogue.turns):
            for pair, origin in turn.origins.items():
                if origin.turn != number or slot_of(pair) in ("parking", "internet"):
                    continue
                said = turn.state[pair] in f"{turn.system} {turn.user}"
                if origin.kind in ("stated", "changed"):
                    assert f" {turn.state[pair]} " in f" {turn.user} ", (pair, turn)
                elif origin.kind == "offered":
                    assert turn.state[pair] in turn.system and turn.state[pair] not in turn.user
                elif origin.kind == "inherited":
                    spoken, missing = spoken + said, missing + (not said)
    assert missing > 3 * spoken  # the rest is said in the same turn about another slot


@pytest.mark.parametrize("rate", ["inherit", "dontcare", "change", "chatter", "decline"])
def test_a_rate_of_zero_switches_its_phenomenon_off(rate):
    without = simulate(80, seed=3, config=SimulatorConfig(**{rate: 0.0}))
    kinds = {origin.kind for d in without for t in d.turns for origin in t.origins.values()}
    assert {"inherit": "inherited", "dontcare": "dontcare", "change": "changed"}.get(rate) not in kinds
    if rate == "chatter":
        assert len([t for d in without for t in d.turns]) < len([t for d in DIALOGUES[:80] for t in d.turns])


def test_statistics_are_near_those_of_multiwoz():
    ours = describe(simulate(1000, seed=4))
    for name in (
        "turns",
        "user_words",
        "system_words",
        "dialogue_words",
        "filled",
        "filled_at_end",
        "domains",
    ):
        assert ours[name] == pytest.approx(MULTIWOZ[name], rel=0.27), name
    for name in ("dontcare", "inherited"):
        assert 0.5 < ours[name] / MULTIWOZ[name] < 1.6, name


def test_dialogues_beyond_512_tokens_occur():
    words = [sum(len(f"{t.system} {t.user}".split()) for t in d.turns) for d in simulate(400, seed=5)]
    assert max(words) > 512 > sum(words) / len(words)


def test_noise_removes_labels_and_changes_no_word():
    clean, noisy = simulate(30, seed=6), simulate(30, seed=6, config=SimulatorConfig(noise=0.2))
    count = [sum(len(d.turns[-1].state) for d in dialogues) for dialogues in (clean, noisy)]
    assert 0.6 < count[1] / count[0] < 0.95
    assert {tuple(t.user for t in d.turns) for d in clean[:1]} == {
        tuple(t.user for t in d.turns) for d in noisy[:1]
    }


def test_unseen_names_share_words_but_no_name():
    world = make_world("small")
    for domain, places in world.places.items():
        assert not {p.name for p in places} & {p.name for p in world.unseen[domain]}
    splits = load("simulated-unseen", train=40, valid=5, test=40)
    names = [
        {t.state.get("hotel-name") for d in part for t in d.turns} - {None} for part in (splits[0], splits[2])
    ]
    assert names[0] and names[1] and not names[0] & names[1]


@pytest.mark.parametrize("size", SIZES)
def test_cities_of_all_sizes(size):
    world = make_world(size)
    assert len(set(world.times)) == len(world.times) == SIZES[size][3]
    assert all(len(places) == SIZES[size][0] for places in world.places.values())
    assert simulate(3, seed=0, config=SimulatorConfig(size=size))


# -- real files


def test_what_is_written_is_read(tmp_path):
    corpus.write(DIALOGUES[:5], tmp_path / "train.tsv")
    back = corpus.read_table(tmp_path / "train.tsv", clean=False)
    assert [d.name for d in back] == [d.name for d in DIALOGUES[:5]]
    for expected, actual in zip(DIALOGUES[:5], back, strict=True):
        for turn, read_turn in zip(expected.turns, actual.turns, strict=True):
            assert (turn.system, turn.user, dict(turn.state)) == (
                read_turn.system,
                read_turn.user,
                dict(read_turn.state),
            )


@pytest.mark.parametrize(("change", "message"), [
    (lambda t: t.replace("hotel-area", "hotel-garden", 1), r"line 1: 'hotel-garden' is not one of the 30"),
    (lambda t: t.replace("\tFalse\t", "\t", 1), r"line 2: expected 35 columns, got 34"),
    (lambda t: t.replace("\t1\t", "\t7\t", 1), r"line 3: expected turn 1 of SIM1-0, got '7'"),
    (lambda t: "", r"line 1: expected 35 columns, got 0"),
])  # fmt: skip
def test_malformed_tables_are_named(tmp_path, change, message):
    (tmp_path / "t.tsv").write_text(change(corpus.dumps(DIALOGUES[:2])))
    with pytest.raises(DataError, match=message):
        corpus.read_table(tmp_path / "t.tsv")


RAW = {
    "MUL1.json": {
        "goal": {},
        "log": [
            {"text": "I need a cheap hotel, in the center.", "metadata": {}},
            {
                "text": "Sure! Which day?",
                "metadata": {
                    "hotel": {
                        "book": {"booked": [{"name": "x"}], "day": "", "people": "2"},
                        "semi": {"name": "not mentioned", "area": "center", "pricerange": "cheap"},
                    },
                    "hospital": {"book": {}, "semi": {"department": "x"}},
                },
            },
        ],
    }
}


def test_the_released_json_is_read(tmp_path):
    (tmp_path / "data.json").write_text(json.dumps(RAW))
    (dialogue,) = corpus.read_json(tmp_path / "data.json")
    (turn,) = dialogue.turns
    assert turn.user == "i need a cheap hotel , in the center ." and turn.system == ""
    assert turn.state == {"hotel-book people": "2", "hotel-area": "centre", "hotel-pricerange": "cheap"}


@pytest.mark.parametrize(("change", "message"), [
    (lambda raw: raw["MUL1.json"]["log"].pop(), r"MUL1.json: expected user and system in turn, got 1"),
    (lambda raw: raw["MUL1.json"]["log"][1].pop("metadata"), r"MUL1.json, turn 0: malformed"),
    (lambda raw: raw["MUL1.json"]["log"][1]["metadata"]["hotel"]["semi"].update(garden="big"),
     r"turn 0: malformed .*hotel-garden"),
    (lambda raw: raw["MUL1.json"]["log"][1]["metadata"]["hotel"]["semi"].update(stars=4),
     r"turn 0: malformed .*hotel-stars"),
    (lambda raw: raw["MUL1.json"]["log"][0].update(text=7), r"turn 0: malformed"),
])  # fmt: skip
def test_malformed_dialogues_are_named(tmp_path, change, message):
    raw = json.loads(json.dumps(RAW))
    change(raw)
    (tmp_path / "data.json").write_text(json.dumps(raw))
    with pytest.raises(DataError, match=message):
        corpus.read_json(tmp_path / "data.json")


@pytest.mark.parametrize("read", [corpus.read_table, corpus.read_json])
def test_a_file_that_cannot_be_read_is_named(tmp_path, read):
    with pytest.raises(DataError, match="absent: no such file; name "):
        read(tmp_path / "absent")
    (tmp_path / "latin").write_bytes(b"caf\xe9\n")
    with pytest.raises(DataError, match="latin, line 1: byte 3 is not UTF-8"):
        read(tmp_path / "latin")


@pytest.mark.parametrize(("pair", "value", "cleaned"), [
    ("hotel-area", "cen", "centre"), ("restaurant-area", "cambridge", "none"), ("hotel-type", "4", "hotel"),
    ("train-day", "we", "wednesday"), ("train-day", "no", "none"), ("hotel-parking", "no", "no"),
    ("hotel-internet", "free", "yes"), ("hotel-pricerange", "ch", "cheap"), ("taxi-departure", "ely", "ely"),
    ("attraction-type", "musuem", "museum"), ("attraction-area", "ely", "none"),
])  # fmt: skip
def test_labels_are_cleaned(pair, value, cleaned):
    assert clean_value(pair, value) == cleaned
    assert clean_state({pair: value}) == ({} if cleaned == "none" else {pair: cleaned})


# -- numbers


def small_tokens(longest=None):
    words = {w for d in DIALOGUES[:20] for t in d.turns for w in f"{t.system} {t.user}".split()}
    return TurnTokens(word_tokenizer(sorted(words)), longest)


def test_candidates_come_from_training_alone():
    candidates = candidates_of(DIALOGUES[:50])
    assert all(values[:2] == ("none", "dontcare") for values in candidates.values)
    pair = PAIRS.index("hotel-name")
    assert candidates.number(pair, "no such inn") == UNSCORED and candidates.number(pair, "none") == 0
    state = DIALOGUES[3].turns[-1].state
    assert (
        candidates.state([candidates.number(p, state.get(n, "none")) for p, n in enumerate(PAIRS)]) == state
    )
    with pytest.raises(ValueError, match="30 lists that begin with none and dontcare"):
        Candidates((("none",),))


def test_a_turn_is_its_whole_history_with_a_mark_after_each_utterance():
    tokens = small_tokens()
    encoded = encode(DIALOGUES[:2], tokens, candidates_of(DIALOGUES))
    text = tokens.tokenizer.convert_ids_to_tokens(encoded[1].tokens)
    turns = DIALOGUES[0].turns
    words = " ".join([turns[0].user, "[SEPU]", turns[1].system, "[SEPU]", turns[1].user, "[SEPU]"])
    assert text == ["[CLS]", *words.split(), "[SEP]"]
    roles = "".join(map(str, encoded[1].roles))
    assert roles.strip("0").startswith("2") and len(roles) == len(text) and {*roles} == {"0", "1", "2"}


def test_a_long_history_loses_its_oldest_tokens():
    whole, short = small_tokens(), small_tokens(20)
    last = len(DIALOGUES[0].turns) - 1
    all_tokens, _, none = whole.history(DIALOGUES[0], last)
    cut, _, dropped = short.history(DIALOGUES[0], last)
    assert none == 0 and len(cut) == 20 and dropped == len(all_tokens) - 20
    assert cut[1:] == all_tokens[-19:] and cut[0] == all_tokens[0]


def test_some_turns_of_every_dialogue_are_drawn_by_the_seed():
    candidates = candidates_of(DIALOGUES)
    every = {(turn.dialogue, turn.turn): turn for turn in encode(DIALOGUES, small_tokens(), candidates)}
    drawn = {seed: encode(DIALOGUES, small_tokens(), candidates, each=2, seed=seed) for seed in (0, 1)}
    for turn in drawn[0]:
        assert turn == every[turn.dialogue, turn.turn]  # the whole history, the whole state
    turns = [len(dialogue.turns) for dialogue in DIALOGUES]
    assert [sum(turn.dialogue == k for turn in drawn[0]) for k in range(len(turns))] == [
        min(2, n) for n in turns
    ]
    assert drawn[0] == encode(DIALOGUES, small_tokens(), candidates, each=2) != drawn[1]
    assert encode(DIALOGUES, small_tokens(), candidates, each=1000) == list(every.values())
    with pytest.raises(ValueError, match="each must be at least 1 or None, got 0"):
        encode(DIALOGUES, small_tokens(), candidates, each=0)


def test_batches_hold_every_turn_once():
    encoded = encode(DIALOGUES[:10], small_tokens(), candidates_of(DIALOGUES))
    parts = list(batches(encoded, batch_size=8, seed=0))
    assert sum(len(part) for part in parts) == len(encoded)
    assert all((part.tokens[~part.mask] == 0).all() for part in parts)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: simulate(0, seed=0), "count must be at least 1, got 0"),
    (lambda: SimulatorConfig(inherit=1.5), "inherit must be between 0 and 1, got 1.5"),
    (lambda: SimulatorConfig(size="huge"), "size must be one of small, medium, large, got 'huge'"),
    (lambda: Turn(system="", user="", state={"pub-name": "x"}), "pairs of the ontology, got 'pub-name'"),
    (lambda: Dialogue(name="a", turns=()), "at least one turn, got none in 'a'"),
    (lambda: Origin(kind="guessed", turn=0), "kind must be one of stated"),
    (lambda: Origin(kind="inherited", turn=0), "source must be given for 'inherited' alone"),
    (lambda: small_tokens(2), "longest must be at least 3 or None, got 2"),
    (lambda: load("other", train=1, valid=1, test=1), "data must be one of simulated"),
    (lambda: corpus.read("dev"), "part must be one of train, valid, test, got 'dev'"),
    (lambda: describe([]), "at least one dialogue, got none"),
])  # fmt: skip
def test_wrong_values_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_labels_outside_an_ontology_are_named(tmp_path):
    ontology = {"hotel-area": ["North|South", "east"], "hotel-name": ["acorn house"]}
    (tmp_path / "ontology.json").write_text(json.dumps(ontology))
    values = read_values(tmp_path / "ontology.json")

    def check(*states):
        turns = tuple(Turn(system="", user="hi", state=state) for state in states)
        check_values([Dialogue(name="MUL1", turns=turns)], values)

    check({}, {"hotel-area": "south|east", "hotel-name": DONTCARE})
    wrong = {"hotel-area": "south|west", "hotel-stars": "4"}
    with pytest.raises(
        DataError, match=r"^MUL1, turn 1: hotel-area has no value 'south\|west'; 2 labels are"
    ):
        check({}, wrong)


@pytest.mark.parametrize(("text", "message"), [
    ("[]", "not an ontology"), ("{", "not an ontology"), ('{"hotel-pool": []}', "'hotel-pool' is not one of"),
    ('{"hotel-area": "north"}', "hotel-area needs a list"), (None, "not an ontology"),
    ('{"hotel-area": [1]}', "hotel-area needs a list"),
])  # fmt: skip
def test_what_is_no_ontology_is_one_clear_line(tmp_path, text, message):
    if text is not None:
        (tmp_path / "ontology.json").write_text(text)
    with pytest.raises(DataError, match=message) as error:
        read_values(tmp_path / "ontology.json")
    assert "\n" not in str(error.value)
