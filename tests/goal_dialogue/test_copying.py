"""The copying network: what a name is, its equations, what it learns that its ablations cannot."""

import dataclasses
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from rows import trial

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.encode_mentions import encode
from reasonlib.goal_dialogue.data.example import Dialogue, Event, Fact, Turn, examples
from reasonlib.goal_dialogue.data.mentions import Batch, Candidates, vocabulary_of
from reasonlib.goal_dialogue.data.templates import Derivation, Language, learn_language
from reasonlib.goal_dialogue.experiments import copying, metrics, train_copying
from reasonlib.goal_dialogue.experiments.copying import ABLATIONS
from reasonlib.goal_dialogue.experiments.tasks import TaskRun
from reasonlib.goal_dialogue.experiments.train_copying import CopyRecipe, evaluate_copier, train_copier
from reasonlib.goal_dialogue.models.copier import Copier, EncodingConfig, build_copier
from reasonlib.goal_dialogue.models.copying import CopyConfig, CopyNetwork
from reasonlib.goal_dialogue.models.pretrained import from_pretrained, save_copier


def make_dialogue(*events: Event) -> Dialogue:
    return Dialogue(task=5, events=events)


TRAIN = tuple(
    make_dialogue(
        Turn("hi", "hello"),
        Turn(f"book {city} please", f"call {city}"),
        Fact(f"resto_{city}", "R_rating", rating),
        Fact(f"resto_{city}", "R_phone", f"phone_{city}"),
        Turn("<SILENCE>", f"try resto_{city}"),
        Turn("its phone please", f"here phone_{city}"),
    )
    for city, rating in (("rome", "1"), ("paris", "2"), ("london", "1"), ("bombay", "2"), ("madrid", "1"))
)


@lru_cache
def trained(task: int = 4, part: str = "copying") -> tuple[Copier, dict]:
    copier, parts = build_copier(
        datasets.load("simulated", task, dialogues=80), {"width": 32, **ABLATIONS[part]}
    )
    train_copier(copier, parts, CopyRecipe(epochs=10, lr=0.01, batch_size=16), progress=False)
    return copier, parts


def small(seed: int = 0, **settings: int) -> tuple[Copier, Batch]:
    """A network with random weights on the dialogues above."""
    language = learn_language(TRAIN, common=0.3)
    turns = encode(TRAIN, language, radius=settings.get("radius", 2))
    config = CopyConfig(
        vocabulary=len(vocabulary_of(language)),
        gaps=language.gaps,
        **{"width": 5, "radius": 2, "init_std": 0.7, **settings},
    )
    model = CopyNetwork(config, seed=seed)
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        model.template.normal_(generator=draw)
        model.ask.normal_(generator=draw)
    batch = turns.batch(range(len(turns)), slots=config.slots)
    return Copier(model, language, EncodingConfig(radius=2)), batch


def renamed(dialogue: Dialogue, names: dict[str, str]) -> Dialogue:
    def change(text: str) -> str:
        return " ".join(names.get(word, word) for word in text.split())

    events = (type(event)(*map(change, dataclasses.astuple(event))) for event in dialogue.events)
    return dataclasses.replace(dialogue, events=tuple(events))


# What a name is ---------------------------------------------------------------------------------------------


def test_a_language_is_learnt_from_what_is_repeated_and_stored() -> None:
    language = learn_language(TRAIN, common=0.3)
    assert {"rome", "resto_rome", "phone_paris"} <= set(language.names)
    assert {"hello", "please", "call", "R_rating", "1", "2"} <= set(language.words)
    assert {language.write(number) for number in range(4)} == {"call _", "try _", "here _", "hello"}
    assert "1" in learn_language(TRAIN, common=0.3, numbers=False).names


def test_an_echo_that_never_varies_is_a_word() -> None:
    always = [
        make_dialogue(Turn("a table please", f"which kind of a table for {name}")) for name in ("x", "y")
    ]
    assert {"a", "table"} <= set(learn_language(always).words)


def test_a_response_comes_apart_in_every_way_it_can_be_said() -> None:
    language = Language(
        words=("call", "for", "x"),
        names=(),
        templates=(("call", None), ("call", "rome"), (None, "rome"), ("x",)),
    )
    assert language.derive("call rome") == (Derivation(0, ("rome",)), Derivation(1, ()))
    assert language.derive("call x") == ()  # a word is no name
    assert language.derive("you rome") == (Derivation(2, ("you",)),)
    with pytest.raises(ValueError, match="fillers must be as many as the template's gaps, 1, got 2"):
        language.write(0, ("a", "b"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repeated": 1.5}, "repeated must be between 0 and 1, got 1.5"),
        ({"common": -1}, "common must be between 0 and 1, got -1"),
    ],
)
def test_shares_out_of_range(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learn_language(TRAIN, **settings)


def test_nothing_to_learn_from() -> None:
    with pytest.raises(ValueError, match="dialogues must hold at least one dialogue, got none"):
        learn_language([])
    with pytest.raises(ValueError, match="dialogues must hold at least one turn, got none"):
        encode([make_dialogue()], learn_language(TRAIN))
    with pytest.raises(ValueError, match="candidates must hold at least one response, got none"):
        Candidates.make([], learn_language(TRAIN))
    with pytest.raises(ValueError, match="radius must be at least 0, got -1"):
        encode(TRAIN, learn_language(TRAIN), radius=-1)


# What it reads ----------------------------------------------------------------------------------------------


def test_a_mention_worked_by_hand() -> None:
    language = learn_language(TRAIN, common=0.3)
    turns = encode(TRAIN[:1], language, radius=2)
    assert turns.spelling == (("rome", "resto_rome", "1", "phone_rome"),)
    assert turns.windows_of(3) == [  # latest first
        ("resto_rome", "$system try *"),
        ("phone_rome", "* R_phone *"),
        ("resto_rome", "$fact * R_phone *"),
        ("1", "* R_rating *"),
        ("resto_rome", "$fact * R_rating 1"),
        ("rome", "$system call *"),
        ("rome", "$user book * please"),
    ]
    batch = turns.batch([3], slots=9)
    assert batch.age[0].tolist() == [1, 1, 1, 1, 1, 2, 2]
    assert batch.heard.tolist() == [[False, True, True, True, True]]
    assert batch.template.shape == (1, 1)
    assert batch.fillers.tolist() == [[[4]]]


def test_renaming_changes_nothing() -> None:
    copier = trained()[0]
    dialogues = datasets.load("simulated", 4, dialogues=80).test[:6]
    language = copier.language
    words = {
        word
        for dialogue in dialogues
        for event in dialogue.events
        for text in (
            (event.user, event.bot) if isinstance(event, Turn) else (event.subject, event.value)  # type: ignore[union-attr]
        )
        for word in text.split()
    }
    new = {word: f"{word[::-1]}!" for word in words - language.word_set}
    assert len(new) > 10
    before, after = (
        copier.encode(some) for some in (dialogues, [renamed(dialogue, new) for dialogue in dialogues])
    )
    for name in Batch.__dataclass_fields__:
        if name != "identity":
            first, second = (getattr(some.batch(range(len(some)), slots=9), name) for some in (before, after))
            assert torch.equal(first, second), name
    assert [
        new.get(response.text.split()[-1], response.text.split()[-1]) for response in copier.generate(before)
    ] == [response.text.split()[-1] for response in copier.generate(after)]


# Mathematics ------------------------------------------------------------------------------------------------


def test_parity_with_the_equations() -> None:
    copier, batch = small()
    model = copier.model
    with torch.no_grad():
        output = model(batch)
        likelihood = model.likelihood(output, batch.template[:, None], batch.fillers[:, None])[:, 0]
    weight = {name: value.detach().double().numpy() for name, value in model.named_parameters()}

    def softmax(scores: np.ndarray) -> np.ndarray:
        powers = np.exp(scores - scores.max())
        return powers / powers.sum()

    for row in range(len(batch)):
        bags = batch.sentences.double().numpy()
        u = bags[batch.question[row]] @ weight["sentence"][0]
        filled = int(batch.filled[row].sum())
        memory = bags[batch.memory[row, :filled]]
        for _ in range(model.config.hops):
            if filled:
                p = softmax((memory @ weight["sentence"][1] + weight["slot"][0, :filled]) @ u)
                u = u + p @ (memory @ weight["sentence"][2] + weight["slot"][1, :filled])
        chances = softmax(weight["template"] @ u)
        d = np.zeros((batch.heard.shape[1], model.config.width))
        for _ in range(model.config.rounds):
            new = np.zeros_like(d)
            for mention in range(batch.name.shape[1]):
                name = int(batch.name[row, mention])
                if not name:
                    continue
                content = weight["age"][int(batch.age[row, mention])].copy()
                for offset, word in enumerate(batch.windows[batch.window[row, mention]].tolist()):
                    other = int(batch.beside[row, mention, offset])
                    x = (weight["word"][word] if word else 0.0) + (d[other] if other else 0.0)
                    content += x @ weight["offset"][offset] if np.ndim(x) else 0.0
                new[name] += np.maximum(content, 0)
            d = new
        name_ids = np.flatnonzero(batch.heard[row].numpy())
        template = int(batch.template[row, 0])
        expected = np.log(chances[template])
        for gap in range(copier.language.gaps[template]):
            number = int(model.first[template]) + gap
            share = softmax(d[name_ids] @ (weight["gap"][number] + u @ weight["ask"]))
            expected += np.log(share[list(name_ids).index(int(batch.fillers[row, 0, gap]))])
            np.testing.assert_allclose(output.names[row, number].exp()[name_ids], share, atol=1e-5)
        assert float(likelihood[row]) == pytest.approx(expected, abs=1e-4)


def test_what_is_padded_or_hidden_leaks_nothing() -> None:
    copier, batch = small()
    model = copier.model
    with torch.no_grad():
        whole = model(batch)
        empty = batch.name == 0
        changed = dataclasses.replace(
            batch,
            window=torch.where(empty, 1, batch.window),
            age=torch.where(empty, 7, batch.age),
            memory=torch.where(batch.filled, batch.memory, 1),
            identity=torch.zeros_like(batch.identity),
        )
        other = model(changed)
    assert empty.any()
    assert torch.equal(whole.templates, other.templates)
    assert torch.equal(whole.names, other.names)
    assert torch.isfinite(whole.names).all()
    name_mask = batch.heard.unsqueeze(1).expand_as(whole.names)
    assert (whole.names[~name_mask] == torch.finfo(torch.float32).min).all()
    some = batch.heard.any(1)
    torch.testing.assert_close(whole.names.exp().sum(-1)[some], torch.ones_like(whole.names[some, :, 0]))
    assert (whole.evidence.masked_select(empty.unsqueeze(1)) == 0).all()


def test_chances_of_all_responses_sum_to_one() -> None:
    copier, batch = small()
    with torch.no_grad():
        output = copier.model(batch)
    last = len(batch) - 1
    ways = [
        (template, filler)
        for template, gaps in enumerate(copier.language.gaps)
        for filler in (range(1, batch.heard.shape[1]) if gaps else [0])
    ]
    template = torch.tensor([[[template_id] for template_id, _ in ways]])
    fillers = torch.tensor([[[[name]] for _, name in ways]])
    row = type(output)(*(part[last : last + 1] for part in output[:4]), output.readings)
    assert copier.model.likelihood(row, template, fillers).exp().sum().item() == pytest.approx(1, abs=1e-5)
    several = torch.tensor([[[0, 0, -1]]])  # the same way twice, and none: twice the chance
    twice = copier.model.likelihood(row, several, torch.ones(1, 1, 3, 1, dtype=torch.long))
    once = copier.model.likelihood(row, several[..., :1], torch.ones(1, 1, 1, 1, dtype=torch.long))
    assert (twice - once).item() == pytest.approx(np.log(2), abs=1e-5)


# Choosing and speaking --------------------------------------------------------------------------------------


def test_the_best_candidate_is_what_it_says_freely() -> None:
    copier, parts = trained()
    turns = parts["test"].take(range(40))
    free = copier.generate(turns)
    assert copier.choose(turns) == [response.text for response in free] == list(turns.responses)
    texts = copier.candidates.texts  # type: ignore[union-attr]
    for items, scores in copier.scores(turns):
        for item, row in zip(items, scores, strict=True):
            assert float(row[texts.index(free[item].text)]) == pytest.approx(free[item].likelihood, abs=1e-5)
    with pytest.raises(ValueError, match="scores needs candidates to choose from, got none"):
        dataclasses.replace(copier, candidates=None).choose(turns)


def test_it_answers_examples_as_any_system_does() -> None:
    copier = trained()[0]
    test_set = list(examples(datasets.load("simulated", 4, dialogues=80).oov[:5]))
    assert metrics.score_answers(test_set, copier.answer(test_set)) == {
        "per_response": 1.0,
        "per_dialogue": 1.0,
    }
    assert dataclasses.replace(copier, candidates=None).answer(test_set) == [
        example.response for example in test_set
    ]
    response = copier.ask(test_set[-1])
    assert response.text == test_set[-1].response and response.template == "here it is _"
    assert response.names[0][0][0] == response.text.split()[-1] and response.names[0][0][1] > 0.5


def test_it_has_words_before_any_name_was_heard() -> None:
    copier = small(seed=3)[0]
    turns = copier.encode([make_dialogue(Turn("hi", "hello"))])
    assert copier.generate(turns)[0].text == "hello"


# Learning ---------------------------------------------------------------------------------------------------


def test_unheard_names_are_no_harder_than_heard_ones() -> None:
    copier, parts = trained()
    assert evaluate_copier(copier, parts["oov"]) == {"per_response": 1.0, "per_dialogue": 1.0}
    assert evaluate_copier(copier, parts["oov"], free=True) == {"per_response": 1.0, "per_dialogue": 1.0}
    blind, parts = trained(part="own-vectors")
    assert evaluate_copier(blind, parts["oov"])["per_dialogue"] < 0.5


def test_without_company_a_phone_is_no_address() -> None:
    blind, parts = trained(part="no-context")
    assert evaluate_copier(blind, parts["test"])["per_dialogue"] < 0.8


def test_same_seed_same_bits_and_a_round_trip(tmp_path) -> None:  # type: ignore[no-untyped-def]
    runs = []
    for _ in range(2):
        copier, parts = build_copier(datasets.load("simulated", 5, dialogues=4), {"width": 8}, seed=1)
        train_copier(copier, parts, CopyRecipe(epochs=1), seed=1, progress=False)
        runs.append(copier.model.state_dict())
    assert all(torch.equal(value, runs[1][name]) for name, value in runs[0].items())
    first, parts = trained()
    path = save_copier(first, tmp_path / "copying.safetensors", {"seed": 0}, half=False)
    loaded = from_pretrained(path)
    turns = parts["test"].take(range(20))
    assert loaded.made == {"seed": 0}
    assert loaded.generate(turns) == first.generate(turns)


# Errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, "width must be at least 1, got 0"),
        ({"radius": -1}, "radius must be at least 0, got -1"),
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
        ({"gaps": ()}, r"gaps must be a number of at least 0 for each template, got \(\)"),
    ],
)
def test_sizes_out_of_range(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CopyConfig(**{"vocabulary": 5, "gaps": (1,), **settings})
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        CopyRecipe(batch_size=0)


def test_files_that_hold_no_network(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match=r"there is no trained model .*; take one of copying, .*, or a file"):
        from_pretrained(tmp_path / "none.safetensors")
    copier, _ = small()
    path = save_copier(copier, tmp_path / "a.safetensors", {})
    shorter = dataclasses.replace(copier, language=dataclasses.replace(copier.language, words=("one",)))
    save_copier(shorter, path, {})
    with pytest.raises(UserError, match=r"a damaged copying network .1 words for .* rows.; make it again"):
        from_pretrained(path)


def test_the_shipped_network_books_a_table_in_a_town_it_never_heard_of() -> None:
    copier = from_pretrained("copying")
    turns = copier.encode(datasets.load("simulated", 5, dialogues=6).oov[:3])
    assert [response.text for response in copier.generate(turns)] == list(turns.responses)
    assert copier.made is not None and "ship-copying" in copier.made["command"]


@pytest.mark.parametrize(
    ("right", "kept"), [([0.5, 1.0, 0.7], 1), ([0.5, 0.7, 0.6], 1), ([1.0, 1.0, 1.0], 0)]
)
def test_of_several_starts_the_one_that_validation_prefers_is_kept(monkeypatch, right, kept):
    seeds = []
    monkeypatch.setattr(copying, "_train_once", lambda run: started(run, seeds))
    monkeypatch.setattr(
        train_copying, "evaluate_copier", lambda start, turns: {"per_response": right[start // 1000]}
    )
    restarts = trial("goal_dialogue/copying:restarts", {"starts": 3})
    run = TaskRun(trial=restarts, task=5, settings=restarts.settings, split=None, minutes=None, folder=None)
    start, _, _ = copying._train(run)
    assert start == 1000 * kept
    assert seeds == [0, 1000, 2000][: right.index(1.0) + 1 if 1.0 in right else 3]


def started(run, seeds):
    seeds.append(run.trial.seed)
    return run.trial.seed, {"valid": None}, SimpleNamespace(stopped="finished")


def test_a_start_that_the_budget_cuts_off_leaves_the_run_unfinished(monkeypatch):
    seeds, budgets = [], []

    def train(run):
        budgets.append(run.minutes)
        seed, sets, history = started(run, seeds)
        return seed, sets, SimpleNamespace(stopped="minutes") if len(seeds) == 2 else history

    monkeypatch.setattr(copying, "_train_once", train)
    monkeypatch.setattr(train_copying, "evaluate_copier", lambda start, turns: {"per_response": 0.5})
    restarts = trial("goal_dialogue/copying:restarts", {"starts": 3}, minutes=5.0)
    run = TaskRun(trial=restarts, task=5, settings=restarts.settings, split=None, minutes=5.0, folder=None)
    start, _, history = copying._train(run)
    assert (start, history.stopped) == (1000, "minutes")
    assert budgets[1] <= budgets[0] <= 5.0
