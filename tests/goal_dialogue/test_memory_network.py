"""The memory networks against their equations in NumPy; what reduces to what; what masks hide."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from reasonlib.goal_dialogue.data.bags import build_vocabulary, make_bags, words
from reasonlib.goal_dialogue.data.encoding import EncodedTask, encode
from reasonlib.goal_dialogue.data.example import Dialogue, Fact, Note, Turn
from reasonlib.goal_dialogue.models.hop_updates import Linear, Residual, UnifiedStep
from reasonlib.goal_dialogue.models.match_features import Match
from reasonlib.goal_dialogue.models.memory_network import (
    NETWORKS,
    BagOfWordsEncoder,
    Candidates,
    MemoryNetwork,
    NetworkConfig,
    build,
)
from reasonlib.goal_dialogue.models.tying import Adjacent, Layerwise, Unified

DIALOGUES = [
    Dialogue(
        task=1,
        events=(
            Turn("good morning", "hello what can i help you with today"),
            Turn("book a table in paris", "any preference on a type of cuisine"),
            Turn("thai food please", "api_call thai paris"),
            Fact("resto_a", "R_cuisine", "thai"),
            Note("api_call no result"),
            Turn("<SILENCE>", "here it is resto_a_phone"),
        ),
    ),
    Dialogue(
        task=1,
        events=(Turn("hi", "hello what can i help you with today"), Turn("rome", "api_call thai rome")),
    ),
]
CANDIDATES = (
    "hello what can i help you with today",
    "any preference on a type of cuisine",
    "api_call thai paris",
    "api_call thai rome",
    "here it is resto_a_phone",
    "here it is resto_b_phone",
)
TYPES = {
    "paris": "location",
    "resto_a_phone": "phone",
    "resto_b_phone": "phone",
    "rome": "location",
    "thai": "cuisine",
}


def encoded(slots_types=None):
    vocabulary = build_vocabulary(DIALOGUES, CANDIDATES)
    entities = None if slots_types is None else {name: index for index, name in enumerate(slots_types)}
    turns = encode(DIALOGUES, vocabulary, CANDIDATES, entities=entities)
    bags = make_bags((words(candidate) for candidate in CANDIDATES), vocabulary)
    return EncodedTask(vocabulary, CANDIDATES, bags, slots_types or {}, turns, turns, turns, None)


def build_network(network, hops=3, match=False, seed=1, init_std=0.5):
    task = encoded(TYPES if match else None)
    config = NetworkConfig(network=network, width=6, hops=hops, slots=50, match=match, init_std=init_std)
    return build(config, task, seed=seed), task


def softmax(scores):
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


def sigmoid(value):
    return 1 / (1 + np.exp(-value))


def bags_of(task, turn, slots=50):
    """Bag (V,) of the question and bags (S, V) of the memory of one turn, from the dialogues' text."""
    vocabulary, count = task.vocabulary, 0
    for dialogue in DIALOGUES:
        memory, turn_index = [], 0
        for event in dialogue.events:
            if isinstance(event, Turn):
                if count == turn:
                    return bag(vocabulary, event.user), np.array(
                        [bag(vocabulary, line) for line in memory[-slots:]]
                    ).reshape(-1, len(vocabulary))
                memory += [f"{event.user} $u #{turn_index}", f"{event.bot} $r #{turn_index}"]
                count, turn_index = count + 1, turn_index + 1
            elif isinstance(event, Fact):
                memory.append(f"{event.subject} {event.relation} {event.value} $r #{turn_index}")
            else:
                memory.append(f"{event.text} $r #{turn_index}")
    raise IndexError(turn)


def bag(vocabulary, text):
    counts = np.zeros(len(vocabulary))
    for word in vocabulary.encode(text.split()):
        counts[word] += 1
    return counts


def numbers(model):
    return {name: value.detach().double().numpy() for name, value in model.state_dict().items()}


def by_hand(network, model, task, turn):
    """Scores of every candidate at one turn, from equations 3.1 to 3.5 and 3.10 to 3.16 as printed."""
    own, hops = numbers(model), len(model.order)
    tables = [own[f"encoder.tables.{index}"] for index in range(len(model.encoder.tables))]
    question, memory = bags_of(task, turn)
    candidates = np.array([bag(task.vocabulary, candidate) for candidate in CANDIDATES])
    z = None
    if network == "un2n":
        a, c = [tables[0]], [tables[1]]
        u, hidden = question @ tables[0], np.zeros(6)
        w, b = own["tying.story.weight_ih_l0"], own["tying.story.bias_ih_l0"]
        r, d = own["tying.story.weight_hh_l0"], own["tying.story.bias_hh_l0"]
        for sentence in memory @ tables[0]:  # a GRU, eq. 3.14
            from_input, from_hidden = np.split(w @ sentence + b, 3), np.split(r @ hidden + d, 3)
            reset, update = sigmoid(from_input[0] + from_hidden[0]), sigmoid(from_input[1] + from_hidden[1])
            hidden = (1 - update) * np.tanh(from_input[2] + reset * from_hidden[2]) + update * hidden
        z = sigmoid(own["tying.gate.weight"] @ np.concatenate([u, hidden]) + own["tying.gate.bias"])  # 3.15
        for hop in range(1, hops):
            a.append(a[-1] * z + c[-1] * (1 - z))  # 3.12
            c.append(c[-1] * z + tables[hop + 1] * (1 - z))  # 3.13
        answer = c[-1]
    elif network.endswith("adjacent"):
        a, c, u, answer = tables[:-1], tables[1:], question @ tables[0], tables[-1]
    else:
        a, c, u, answer = [tables[0]] * hops, [tables[1]] * hops, question @ tables[2], tables[3]
    for hop in range(hops):
        if len(memory):
            p = softmax((memory @ a[hop]) @ u)  # 3.1
            o = p @ (memory @ c[hop])  # 3.2
        else:
            o = np.zeros(6)
        if network.startswith("gn2n"):
            index = model.order[hop]
            gate = sigmoid(own[f"steps.{index}.weight"] @ u + own[f"steps.{index}.bias"])  # 3.10
            u = o * gate + u * (1 - gate)  # 3.11
        elif network == "un2n":
            u = o + (own["steps.0.map"] * (1 - z)) @ u  # 3.16: z scales the columns of G
        elif network == "n2n":
            u = own["steps.0.map"] @ u + o
        else:
            u = u + o  # 3.4
    return (candidates @ answer) @ u  # 3.5


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("hops", [1, 3])
def test_a_network_computes_its_equations(network, hops):
    model, task = build_network(network, hops)
    with torch.no_grad():  # so that no special value hides a term
        for name, value in model.named_parameters():
            if "map" in name or "bias" in name:
                value.add_(torch.randn(value.shape, generator=torch.Generator().manual_seed(3)) * 0.4)
    model = model.double()
    logits = model(task.train.batch(range(len(task.train)), slots=50)).logits.detach().numpy()
    for turn in range(len(task.train)):
        np.testing.assert_allclose(logits[turn], by_hand(network, model, task, turn), atol=1e-6)


def test_match_features_add_a_word_for_each_type_that_is_shared():
    model, task = build_network("n2n", match=True)
    batch = task.train.batch([2, 3], slots=50)
    plain = replace_match(model, None)(batch).logits
    state = final_state(model, batch)
    names, worth = model.match.names, model.match.types
    for row, text in enumerate(["paris thai", "paris thai resto_a"]):
        for column, candidate in enumerate(CANDIDATES):
            kinds = [TYPES[word] for word in candidate.split() if word in TYPES and word in text.split()]
            extra = sum((state[row] @ worth[names.index(kind)] for kind in kinds), torch.zeros(()))
            torch.testing.assert_close(model(batch).logits[row, column], plain[row, column] + extra)


def replace_match(model, match):
    copy = MemoryNetwork(
        encoder=model.encoder,
        tying=model.tying,
        steps=[model.steps[index] for index in model.order],
        answers=model.answers,
        match=match,
    )
    return copy


def final_state(model, batch):
    readings = model(batch).readings
    state = model.encoder(batch.sentences, [model.tying.query])[0][batch.question]
    for index, reading in zip(model.order, readings, strict=True):
        state = model.steps[index](state, reading.output, None).state
    return state


@pytest.mark.parametrize("network", NETWORKS)
def test_empty_slots_and_what_lies_outside_the_window_change_nothing(network):
    model, task = build_network(network)
    alone = [model(task.train.batch([turn], slots=50)).logits for turn in range(len(task.train))]
    together = model(task.train.batch(range(len(task.train)), slots=50))
    torch.testing.assert_close(together.logits, torch.cat(alone))
    sums = together.weights.sum(2)
    first = torch.tensor([turn in (0, 4) for turn in range(len(task.train))])
    torch.testing.assert_close(sums[~first], torch.ones_like(sums[~first]))
    assert (together.weights[first] == 0).all()

    batch = task.train.batch([2], slots=2)
    events = [Turn("never heard", "never said"), *DIALOGUES[0].events[1:]]
    other = encode([Dialogue(task=1, events=tuple(events))], task.vocabulary, CANDIDATES)
    torch.testing.assert_close(model(batch).logits, model(other.batch([2], slots=2)).logits)
    assert not torch.allclose(model(batch).logits, alone[2])


def assemble(tying, steps, encoder, bags):
    return MemoryNetwork(encoder=encoder, tying=tying, steps=steps, answers=Candidates(bags, tying.answers))


@pytest.mark.parametrize("fixed", [0.0, 1.0])
def test_a_fixed_gating_vector_is_adjacent_or_layerwise_tying(fixed):
    task = encoded()
    draw = torch.Generator().manual_seed(0)
    batch = task.train.batch(range(len(task.train)), slots=50)
    tying = Unified(3, 6, generator=draw)
    with torch.no_grad():
        tying.gate.weight.zero_()
        tying.gate.bias.fill_(100.0 if fixed else -1000.0)
    words = BagOfWordsEncoder(len(task.vocabulary), 4, 6, generator=draw, init_std=0.5)
    unified = assemble(tying, [UnifiedStep(6)] * 3, words, task.bags)
    if fixed:  # z = 1: the first A and C at every hop, and nothing carried over
        same = BagOfWordsEncoder(len(task.vocabulary), 4, 6, generator=draw)
        with torch.no_grad():
            for index, table in enumerate((0, 1, 0, 1)):  # A, C, B = A, W = C
                same.tables[index].copy_(words.tables[table])
        step = Linear(6)
        torch.nn.init.zeros_(step.map)
        plain = assemble(Layerwise(3), [step] * 3, same, task.bags)
    else:
        plain = assemble(Adjacent(3), [Residual()] * 3, words, task.bags)
    torch.testing.assert_close(unified(batch).logits, plain(batch).logits)


def test_gates_of_one_half_halve_the_adjacent_update():
    model, task = build_network("gn2n-adjacent", hops=1)
    with torch.no_grad():
        model.steps[0].weight.zero_()
    batch = task.train.batch(range(len(task.train)), slots=50)
    plain = assemble(Adjacent(1), [Residual()], model.encoder, task.bags)
    torch.testing.assert_close(2 * model(batch).logits, plain(batch).logits)
    with torch.no_grad():
        model.steps[0].bias.fill_(-1000.0)  # closed: the question alone answers
    alone = task.train.batch(range(len(task.train)), slots=0)
    torch.testing.assert_close(model(batch).logits, plain(alone).logits)


def test_gates_are_returned_with_their_axes():
    for network, count in (("gn2n", 3), ("gn2n-shared", 3), ("un2n", 1)):
        model, task = build_network(network)
        answered = model(task.train.batch([0, 1], slots=50))
        assert answered.gates.shape == (2, count, 6)
        assert answered.weights.shape[:2] == (2, 3)
    assert build_network("n2n")[0](task.train.batch([0, 1], slots=50)).gates is None
    assert len(build_network("gn2n-shared")[0].steps) == 1 and len(build_network("gn2n")[0].steps) == 3


def test_the_seed_decides_the_first_weights():
    first, second, other = (numbers(build_network("un2n", seed=seed)[0]) for seed in (1, 1, 2))
    assert all((first[name] == second[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match=r"network must be one of n2n, .*, got 'm2m'"):
        NetworkConfig(network="m2m")
    with pytest.raises(ValueError, match="hops must be at least 1, got 0"):
        NetworkConfig(hops=0)
    with pytest.raises(ValueError, match="types must name at least one entity, got none"):
        Match(CANDIDATES, {}, 4, generator=torch.Generator())
    model, _ = build_network("n2n", match=True)
    batch = replace(encoded(TYPES).train.batch([0], slots=5), mentioned=None)
    with pytest.raises(ValueError, match="match features need turns encoded with entities"):
        model(batch)
