"""Algorithmic tasks: what they ask, and that the small model solves them whole and fails without a part."""

import pytest
import torch

from reasonlib.errors import DataError, UserError
from reasonlib.nn import Decoder, TransformerConfig
from reasonlib.training import parameter_count
from reasonlib.transformer.data import corpus
from reasonlib.transformer.data.simulator import FORK, SIMULATORS, TASKS, Example, shares, simulate, symbols
from reasonlib.transformer.experiments.tasks import (
    LENGTHS,
    RECIPES,
    TAGGED,
    Recipe,
    accuracy,
    build,
    encode,
    learn,
    solve,
)
from reasonlib.transformer.models import ablations
from reasonlib.transformer.models.translator import Tagger, Translator, TranslatorConfig

# What is asked


def answer(example):
    """Solve a task by its definition."""
    source = example.source
    match example.task:
        case "copy":
            return source
        case "reverse":
            return tuple(reversed(source))
        case "sort":
            return tuple(sorted(source))
        case "parity":
            return ("odd",) if sum(map(int, source)) % 2 else ("even",)
        case "aloud":
            return tuple(str(sum(map(int, source[: i + 1])) % 2) for i in range(len(source)))
        case "neighbours":
            digits = [0, *map(int, source), 0]
            return tuple(str((digits[i - 1] - digits[i + 1]) % 10) for i in range(1, len(digits) - 1))
        case "recall":
            cut = source.index("?")
            value_of = dict(zip(source[:cut:2], source[1:cut:2], strict=True))
            return (
                *(source[i - i % 2] for i in range(cut)),
                "?",
                *(value_of[key] for key in source[cut + 1 :]),
            )


@pytest.mark.parametrize("task", [task for task in TASKS if task != "fork"])
def test_every_answer_is_right_and_every_token_known(task):
    shortest, longest = LENGTHS[task]
    examples = simulate(task, 50, shortest=shortest, longest=longest, seed=3)
    assert [answer(example) for example in examples] == [example.target for example in examples]
    tokens = {token for example in examples for token in (*example.source, *example.target)}
    assert tokens <= set(symbols(task))
    assert examples == simulate(task, 50, shortest=shortest, longest=longest, seed=3)
    assert examples != simulate(task, 50, shortest=shortest, longest=longest, seed=4)
    assert corpus.loads(corpus.dumps(examples)) == examples


def test_the_fork_has_the_shares_it_names():
    examples = simulate("fork", 4000, seed=0)
    assert sum(example.target[0] == "x" for example in examples) / 4000 == pytest.approx(FORK["x"], abs=0.03)
    right = shares(examples[0])
    assert sum(right.values()) == pytest.approx(1)
    assert all(example.target in shares(example) for example in examples)
    likeliest = max(right, key=right.__getitem__)
    assert likeliest[0] == "y" and FORK["y"] < FORK["x"]  # the likeliest answer begins with the rarer step


def test_what_cannot_be_simulated_is_said():
    with pytest.raises(UserError, match="there is no task 'sing'; there are: copy, reverse"):
        simulate("sing", 1)
    with pytest.raises(ValueError, match="examples must be at least 1, got 0"):
        simulate("copy", 0)
    with pytest.raises(ValueError, match="longest must be at most 16 for sort"):
        simulate("sort", 1, longest=17)
    with pytest.raises(ValueError, match="shortest must be at least 1 and at most longest=8, got 9"):
        simulate("copy", 1, shortest=9)
    assert len(SIMULATORS["copy"](7, 1)) == 7
    for text, message in (
        ("copy a", "must be task, source and target"),
        ("sing\ta\ta", "no task 'sing'"),
        ("copy\ta\t?", "copy has no token '\\?'"),
    ):
        with pytest.raises(DataError, match=f"text:1: .*{message}"):
            corpus.loads(text)
    with pytest.raises(ValueError, match="examples must be of one task, got copy, sort"):
        encode([*simulate("copy", 1), *simulate("sort", 1)])


def test_examples_as_ids():
    ids = encode([Example("copy", ("a", "b"), ("a", "b")), Example("copy", ("c",), ("c",))]).ids
    assert ids.source.tolist() == [[3, 4], [5, 0]]
    assert ids.given.tolist() == [[1, 3, 4], [1, 5, 0]]
    assert ids.target.tolist() == [[3, 4, 2], [5, 2, 0]]


# The model and its parts


def test_a_translator_writes_token_by_token_what_it_scores_at_once():
    model = build("copy", seed=1).eval()
    batch = encode(simulate("copy", 6, seed=0)).ids
    with torch.no_grad():
        at_once = model(batch.source, batch.given).logits.log_softmax(-1)
        reading = model.begin(batch.source)
        for position in range(batch.given.shape[1]):
            scores, reading = model.advance(reading, batch.given[:, position])
            torch.testing.assert_close(scores, at_once[:, position], atol=1e-5, rtol=1e-5)


def test_padding_of_the_source_changes_nothing():
    model = build("reverse", seed=1).eval()
    short = encode(simulate("reverse", 4, shortest=4, longest=4, seed=0)).ids
    padded = torch.nn.functional.pad(short.source, (0, 3))
    with torch.no_grad():
        torch.testing.assert_close(model(short.source, short.given)[0], model(padded, short.given)[0])


def test_parts_are_taken_out_and_nothing_else():
    config = TranslatorConfig(vocabulary=12, layers=2, width=16, heads=2, hidden=16)
    whole = Translator(config, seed=0)
    source, given = torch.randint(3, 12, (2, 5)), torch.randint(3, 12, (2, 4))
    for part in ablations.PARTS:
        model = ablations.without(Translator(config, seed=0), part)
        with torch.no_grad():
            assert not torch.allclose(model(source, given).logits, whole(source, given).logits), part
        kept = dict(model.state_dict())
        for name, tensor in whole.state_dict().items():
            for changed in (name, name.replace("query.", "query.0."), *_wrapped(name)):
                if changed in kept:
                    assert torch.equal(kept[changed], tensor)
        lost = parameter_count(whole) - parameter_count(model)
        assert (lost > 0) == (part == "feed-forward")
    with pytest.raises(ValueError, match=r"part must be one of positions, .*, got 'dropout'"):
        ablations.without(whole, "dropout")
    with pytest.raises(ValueError, match="Tagger has no decoder"):
        ablations.without(Tagger(config), "causal-mask")


def _wrapped(name):
    return (name.replace(f"{stack}.", f"{stack}.{stack}.", 1) for stack in ("encoder", "decoder"))


def test_each_part_does_what_it_says():
    config = TransformerConfig(layers=1, width=8, heads=2, hidden=8, dropout=0.0)
    decoder = Decoder(config, generator=torch.Generator().manual_seed(0))
    x, memory = torch.randn(1, 4, 8), torch.randn(1, 3, 8)
    later = x.clone()
    later[:, -1] += 1
    with torch.no_grad():
        same = (
            ablations.NoMemoryAttention(decoder)(x, memory).output,
            ablations.NoMemoryAttention(decoder)(x, memory + 1).output,
        )
        assert torch.equal(*same)
        peeked = (
            ablations.NoCausalMask(decoder)(x, memory).output,
            ablations.NoCausalMask(decoder)(later, memory).output,
        )
        assert not torch.allclose(peeked[0][:, 0], peeked[1][:, 0])
        assert torch.equal(decoder(x, memory).output[:, 0], decoder(later, memory).output[:, 0])
        weights = ablations.IsolatedEncoder(Translator(TranslatorConfig(vocabulary=5)).encoder)(
            torch.randn(1, 4, 32)
        )
        assert torch.equal(weights.attention[0].weights[0, 0], torch.eye(4))


def test_without_the_scale_scores_are_larger_by_the_root_of_a_heads_width():
    config = TranslatorConfig(vocabulary=12, layers=1, width=16, heads=1, hidden=16)
    whole, bare = Tagger(config), ablations.without(Tagger(config), "scale")
    x = torch.randint(3, 12, (1, 5))
    with torch.no_grad():
        even, sharp = (model(x).encoded.attention[0].weights.log() for model in (whole, bare))
    torch.testing.assert_close(
        (sharp - sharp.mean(-1, keepdim=True)), 4 * (even - even.mean(-1, keepdim=True)), atol=1e-4, rtol=1e-4
    )


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="layers must be at least 1, got 0"):
        TranslatorConfig(vocabulary=5, layers=0)
    with pytest.raises(ValueError, match="positions must be one of sinusoidal, learned, got 'none'"):
        TranslatorConfig(vocabulary=5, positions="none")
    with pytest.raises(ValueError, match="steps must be at least 1, got 0"):
        Recipe(steps=0)


# Learning: whole it solves the task, without the part it cannot


def test_sorting_needs_no_positions_but_copying_does():
    recipe = Recipe(steps=200, lr=5e-3)
    sizes = {"lengths": (3, 5), "examples": 4000, "test_size": 200, "progress": False}
    copied = solve("copy", recipe=recipe, **sizes)
    assert copied.metrics["exact"] > 0.9
    assert solve("copy", without="positions", recipe=recipe, **sizes).metrics["exact"] < 0.2
    assert solve("sort", without="positions", recipe=recipe, **sizes).metrics["exact"] > 0.9


def test_without_the_causal_mask_training_looks_perfect_and_writing_fails():
    recipe = Recipe(steps=200, lr=5e-3)
    solved = solve(
        "copy",
        without="causal-mask",
        recipe=recipe,
        lengths=(3, 5),
        examples=4000,
        test_size=200,
        progress=False,
    )
    assert solved.metrics["token"] > 0.9 and solved.metrics["exact"] < 0.1


def test_neighbours_need_two_heads():
    options = {"recipe": Recipe(steps=600, lr=2e-2), "examples": 4000, "test_size": 200, "progress": False}
    assert solve("neighbours", **options).metrics["token"] > 0.9
    assert solve("neighbours", sizes={"heads": 1}, **options).metrics["token"] < 0.85


def test_the_same_seed_learns_the_same_bits_and_the_history_has_its_rows():
    train = encode(simulate("copy", 100, seed=1))
    tested = encode(simulate("copy", 20, seed=2))
    models = [build("copy", seed=5) for _ in range(2)]
    histories = [
        learn(model, train, Recipe(steps=20), valid=tested, seed=3, progress=False) for model in models
    ]
    assert histories[0].column("loss") == histories[1].column("loss")
    assert len(histories[0]) == 10 and {"exact", "token"} <= set(histories[0][0])
    for first, second in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(first, second)
    assert accuracy(models[0], tested) == accuracy(models[1], tested)


def test_every_task_has_its_settings():
    assert set(LENGTHS) == set(RECIPES) == set(TASKS) >= set(TAGGED)
    for task in TASKS:
        model = build(task)
        assert isinstance(model, Tagger if task in TAGGED else Translator)
        assert parameter_count(model) < 100_000
