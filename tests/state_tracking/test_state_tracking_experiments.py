"""Experiments at smoke scale, claims, bundled weights, exercises, the track command."""

import pytest
import torch
from typer.testing import CliRunner

from reasonlib.cli import MISTAKE, app
from reasonlib.errors import UserError
from reasonlib.state_tracking import experiments
from reasonlib.state_tracking.data.cases import CASES
from reasonlib.state_tracking.data.datasets import Splits, load
from reasonlib.state_tracking.data.encoding import EncodedTurn, TurnTokens, candidates_of, encode
from reasonlib.state_tracking.data.example import ORIGINS
from reasonlib.state_tracking.data.ontology import PAIRS
from reasonlib.state_tracking.data.simulator import SimulatorConfig, simulate
from reasonlib.state_tracking.experiments import EXPERIMENTS, train
from reasonlib.state_tracking.experiments.cost import exponent
from reasonlib.state_tracking.experiments.train import Recipe, _Plan, measure, prepare
from reasonlib.state_tracking.models.encoder import load_encoder, new_encoder
from reasonlib.state_tracking.models.pretrained import from_pretrained, save_tracker
from reasonlib.state_tracking.models.tracker import tracker_loss
from reasonlib.state_tracking.page import figures
from reasonlib.state_tracking.page.track import follow, read_dialogue
from reasonlib.tracking import claims
from reasonlib.tracking.runner import run
from reasonlib.training import run as loop_run

TURNS = [
    ("", "i need a place to stay in the north ."),
    ("how many stars should it have ?", "rated 4 stars ."),
]


@pytest.mark.parametrize(("experiment", "rows"), [
    ("relations", ("merge-blocked", "split", "none", "three-way-gate", "truncated")),
    ("baselines", ("carry-over", "copy", "span")),
    ("multiwoz", ("merge", "span", "copy")),
    ("multiwoz-long", ("span", "span-blocked")),
    ("long-dialogues", ("grown", "last-512")),
    ("cost", ("one-run", "one-run-a-pair")),
])  # fmt: skip
def test_rows_run_at_smoke(experiment, rows):
    chosen = EXPERIMENTS[f"state_tracking/{experiment}"]
    data = "simulated" if "simulated" in chosen.data else None
    for record in run(chosen, rows=rows, scale="smoke", data=data, device="cpu"):
        assert all(value == value for value in record.metrics.values())
        if experiment != "cost":
            assert 0 <= record.metrics["joint_goal"] <= record.metrics["slot"] <= 1


@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_pre_trained_encoders_train_in_the_precision_of_the_device(monkeypatch, precision):
    """On a processor in 32 bits; as on a GPU that computes in bfloat16 if the loop is made to use it here."""
    halved = set()
    if precision == "bf16":
        monkeypatch.setattr(experiments, "best_precision", lambda device: "bf16")
        with pytest.raises(UserError, match="precision 'bf16' needs a CUDA GPU"):
            run(EXPERIMENTS["state_tracking/encoders"], rows="merge-albert-base", scale="smoke", device="cpu",
                data="simulated")  # fmt: skip
        autocast = torch.autocast("cpu", torch.bfloat16)
        monkeypatch.setattr(loop_run, "_autocast", lambda config, device: autocast)

    def loss(model, batch):
        halved.add(torch.is_autocast_enabled("cpu"))
        return tracker_loss(model, batch)

    monkeypatch.setattr(train, "tracker_loss", loss)
    (record,) = run(
        EXPERIMENTS["state_tracking/encoders"], rows="merge-albert-base", scale="smoke", device="cpu",
        data="simulated",
    )  # fmt: skip
    assert record.details["precision"] == precision
    assert halved == {precision == "bf16"}
    assert 0 <= record.metrics["joint_goal"] <= record.metrics["slot"] <= 1


@pytest.mark.slow
def test_the_pairwise_design_trains():
    (record,) = run(
        EXPERIMENTS["state_tracking/baselines"], rows="one-run-a-pair", scale="smoke", device="cpu"
    )
    assert 0 <= record.metrics["slot"] <= 1


def test_the_same_seed_gives_the_same_record():
    first, second = (
        run(EXPERIMENTS["state_tracking/relations"], rows="merge", scale="smoke", seeds=(3,), device="cpu")[0]
        for _ in range(2)
    )
    assert first.metrics == second.metrics and first.details["curve"] == second.details["curve"]


def test_test_dialogues_are_not_read_before_the_test():
    """Neither the candidates nor the pieces of words come from them."""
    train, test = (
        tuple(simulate(20, seed=1)),
        tuple(simulate(20, seed=1, config=SimulatorConfig(unseen=True))),
    )
    recipe = Recipe(pieces=300)
    alone, with_test = (prepare(recipe, Splits(train, train, part), seed=0)[0] for part in (train, test))
    assert alone.candidates == with_test.candidates == candidates_of(train)
    assert alone.tokenizer.get_vocab() == with_test.tokenizer.get_vocab()


def test_training_begins_with_short_dialogues_and_then_reads_all():
    dialogues = simulate(30, seed=1)
    turns = encode(dialogues, TurnTokens(load_encoder()[1]), candidates_of(dialogues))
    recipe = Recipe(batch=8, epochs=2, curriculum_length=48, curriculum_share=0.25, curriculum_batch=4)
    each = -(-len(turns) // 8)
    epochs = [list(_Plan(turns, recipe, each, seed=0).epoch(epoch)) for epoch in (0, 1)]
    assert [len(epoch) for epoch in epochs] == [each, each]
    batches = [*epochs[0], *epochs[1]]
    early = round(0.25 * 2 * each)
    short = [item for batch in batches[:early] for item in batch]
    assert max(len(turns[item].tokens) for item in short) <= 48 and max(map(len, batches[:early])) == 4
    whole = [item for batch in batches[early : early + each] for item in batch]
    assert sorted(whole) == list(range(len(turns)))  # each once, over the end of an epoch
    plain = list(_Plan(turns, Recipe(batch=8), each, seed=0).epoch(0))
    assert sorted(item for batch in plain for item in batch) == list(range(len(turns)))


def test_what_is_measured_of_a_tracker_that_carries_over():
    (record,) = run("state_tracking/baselines", rows="carry-over", scale="smoke", device="cpu")
    splits = load("simulated", train=12, valid=4, test=6)
    right = filled = offered = 0
    for dialogue in splits.test:
        for number, turn in enumerate(dialogue.turns):
            before = dialogue.turns[number - 1].state if number else {}
            right, filled = right + (before == turn.state), filled + 1
            offered += any(o.kind == "offered" and o.turn == number for o in turn.origins.values())
    assert record.metrics["joint_goal"] == pytest.approx(right / filled) and record.details["turns"] == filled
    assert offered and record.metrics["filled.offered"] == 0  # a value is new at the turn that fills it
    assert 0 < record.metrics["inherited"] < 1


def test_each_kind_of_value_is_counted_at_the_turn_that_fills_it():
    dialogues = simulate(20, seed=1)
    turns = [
        EncodedTurn([], [], [], at, number, 0)
        for at, dialogue in enumerate(dialogues)
        for number in range(len(dialogue.turns))
    ]
    states = [dict(dialogues[turn.dialogue].turns[turn.turn].state) for turn in turns]
    metrics, details = measure(states, turns, dialogues)
    assert {metrics[f"filled.{kind}"] for kind in ORIGINS} == {1.0} == {metrics["joint_goal"]}
    assert details["turns"] == len(turns)
    for state, turn in zip(states, turns, strict=True):
        for pair, origin in dialogues[turn.dialogue].turns[turn.turn].origins.items():
            if origin.kind == "inherited" and origin.turn == turn.turn:
                del state[pair]
    metrics, _ = measure(states, turns, dialogues)
    assert metrics["filled.inherited"] == 0 < metrics["inherited"]
    assert {metrics[f"filled.{kind}"] for kind in ORIGINS if kind != "inherited"} == {1.0}


def test_claims_ask_for_rows_that_there_are():
    loaded = claims.load("state_tracking")
    tables = {claim.locator[1] if isinstance(claim.locator, tuple) else None for claim in loaded}
    assert len(loaded) > 50 and tables
    for claim in loaded:
        for side in claim.sides:
            assert side.row in EXPERIMENTS[side.experiment].rows


def test_an_unknown_encoder_is_one_clear_line(tmp_path):
    with pytest.raises(UserError, match="absent: there is no such folder; give a folder"):
        load_encoder(tmp_path / "absent")


def test_the_new_word_of_a_pretrained_encoder_is_drawn_by_the_seed(tmp_path):
    import transformers
    from tokenizers import Tokenizer, models

    ids = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "hotel": 4}
    words = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(ids, unk_token="[UNK]")), unk_token="[UNK]"
    )
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    transformers.BertModel(transformers.BertConfig(vocab_size=5, **sizes)).save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    rows = []
    for elsewhere, seed in ((0, 3), (1, 3), (0, 4)):
        torch.manual_seed(elsewhere)
        encoder, tokenizer = load_encoder(tmp_path, seed=seed)
        assert tokenizer.convert_tokens_to_ids("[SEPU]") == 5
        rows.append(encoder.get_input_embeddings().weight[5])
    assert torch.equal(rows[0], rows[1]) and not torch.equal(rows[0], rows[2])


def test_a_new_encoder_learns_its_words_from_the_dialogues():
    dialogues = simulate(30, seed=1)
    (encoder, tokenizer), (_, again) = (new_encoder(dialogues, 300, seed=0) for _ in range(2))
    assert tokenizer.get_vocab() == again.get_vocab()
    assert encoder.get_input_embeddings().num_embeddings == len(tokenizer) <= 300
    tokens = TurnTokens(tokenizer)
    for turn in dialogues[0].turns:
        ids = tokens.utterance(turn.user)
        assert tokenizer.unk_token_id not in ids and tokenizer.decode(ids[:-1]) == turn.user
        assert ids[-1] == tokenizer.convert_tokens_to_ids("[SEPU]")


def test_exponents():
    assert exponent((1, 2, 4), [3.0, 12.0, 48.0]) == pytest.approx(2.0)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: Recipe(system="magic"), "system must be tracker, pairwise, span or copy, got 'magic'"),
    (lambda: Recipe(pieces=300, scratch=True), "pieces of words make a new encoder: leave out encoder"),
    (lambda: Recipe(batch=0), "batch must be at least 1, got 0"),
    (lambda: Recipe(turns_per_dialogue=0), "turns_per_dialogue must be at least 1 or None, got 0"),
])  # fmt: skip
def test_wrong_values_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# -- the bundled tracker


def test_the_bundled_tracker_tracks():
    tracked = from_pretrained().track(TURNS)
    assert tracked.state["hotel-area"] == "north" and "hotel-stars" in tracked.state
    assert set(tracked.state) <= set(PAIRS) and all(0 < p <= 1 for p in tracked.confidence.values())
    weights = from_pretrained(attention=True).track(TURNS, attention=True).attention
    size = len(tracked.tokens)
    assert weights.shape[2:] == (size, size)
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    with pytest.raises(ValueError, match="at least one turn, got none"):
        from_pretrained().track([])


def test_a_dialogue_beyond_the_position_table_loses_its_oldest_tokens():
    tracker = from_pretrained()
    encoder = tracker.model.tracker.encoder
    chatter = [("", "i need a hotel . " * 100)] * 4
    tracked = tracker.track([*chatter, *TURNS])
    assert len(tracked.tokens) == len(PAIRS) + encoder.nowhere - encoder.first
    newest = tracker.track(TURNS).tokens[len(PAIRS) + 1 :]
    assert tracked.tokens[len(PAIRS)] == "[CLS]" and tracked.tokens[-len(newest) :] == newest


def test_what_is_saved_is_loaded(tmp_path):
    tracker = from_pretrained()
    path = save_tracker(tracker.model, {"joint_goal": 0.5}, tmp_path / "copy.safetensors")
    assert from_pretrained(path).track(TURNS).state == tracker.track(TURNS).state
    assert from_pretrained(path).made == {"joint_goal": 0.5}
    with pytest.raises(UserError, match="there is no trained model"):
        from_pretrained(tmp_path / "absent.safetensors")


def test_the_printed_dialogues_are_retold_in_words_that_the_tracker_knows():
    for case in CASES:
        assert all(case.state[pair] == case.state[source] for pair, source in case.inferred.items())
        unknown = {word for step in follow(case.turns) for word in step.unknown}
        assert unknown <= {"5cwu2u98", "nivmcdk1"}  # reference numbers
        states, looks = figures.case_states(case), figures.case_looks(case)
        assert set(case.state) <= set(states.index)
        assert set(looks.index.unique("slot")) == set(case.inferred)
        picture = figures.attention_among_slots(case.turns, pairs=list(case.state))
        assert "attends most to" in picture.alt


def test_the_results_page_sets_trackers_beside_the_state_of_the_turn_before():
    table = figures.trained()
    assert all(int(runs) >= 3 for runs in table.loc["runs"][:3]) and table.loc["runs"].iloc[3] == "1"
    assert "±" in table.loc["joint goal accuracy", "DS-merge"]
    assert "inherited" in figures.kinds().alt
    longer = figures.after_long_training()
    assert longer.shape[1] == 4 and "accuracy on stated values" in longer.index
    new = figures.on_new_names()
    assert all(int(runs) >= 3 for runs in new.loc["runs"]) and "accuracy on accepted offers" in new.index
    variants = figures.variants()
    assert {"DS-merge", "DS-split"} <= set(variants.index) and "±" in variants.loc["DS-merge"].iloc[0]


# -- reasonlib track


def test_track_in_a_terminal(tmp_path):
    file = tmp_path / "talk.txt"
    file.write_text(
        "I need a place to stay in the north.\nsystem: how many stars should it have ?\nuser: rated 4 stars ."
    )
    result = CliRunner().invoke(app, ["track", str(file)])
    assert result.exit_code == 0 and "hotel-area = north" in result.output and "turn 2:" in result.output
    result = CliRunner().invoke(app, ["track", "--say", "i need a zeppelin , a big zeppelin ."])
    assert "vocabulary: zeppelin, big)" in result.output
    assert [step.turn for step in follow(TURNS)] == [1, 2]


def test_a_file_that_track_cannot_read_is_named(tmp_path):
    file = tmp_path / "talk.txt"
    for content, message in ((None, "no such file"), (b"user: caf\xe9\n", "line 1: byte 9 is not UTF-8")):
        if content is not None:
            file.write_bytes(content)
        result = CliRunner().invoke(app, ["track", str(file)])
        assert result.exit_code == MISTAKE and f"{file}" in result.output and message in result.output


@pytest.mark.parametrize(("lines", "message"), [
    (["system: hello", "system: again"], "line 2: the system speaks twice"),
    (["user: hello", "system: bye"], "must end with a user's line"),
    ([" "], "nothing was said"),
])  # fmt: skip
def test_malformed_dialogues_are_named(lines, message):
    with pytest.raises(UserError, match=message):
        read_dialogue(lines)


def test_a_stage_without_time_left_ends_the_run_and_is_resumed(tmp_path):
    """The second stage starts from the end of the first, never from its middle."""
    options = {"rows": "tracker", "scale": "smoke", "device": "cpu"}
    (whole,) = run("state_tracking/bundle", **options)
    (cut,) = run("state_tracking/bundle", minutes=1e-9, checkpoints=tmp_path, **options)
    assert not cut.steps.complete and not list(tmp_path.rglob("further"))
    (resumed,) = run("state_tracking/bundle", checkpoints=tmp_path, **options)
    assert resumed.metrics == whole.metrics
