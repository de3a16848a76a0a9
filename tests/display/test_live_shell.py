"""The shell of live figures: one small piece of HTML, a static picture, the same numbers as PyTorch."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from browsing import DESKTOP, Opened, check_piece, save_together
from torch import nn
from torch.nn import functional

from reasonlib import nn as ours
from reasonlib.display import live
from reasonlib.display.plotting import Picture
from reasonlib.errors import UserError

STILL = Picture("<p>hello, computed beforehand</p>", alt="What the model says to hello.")

ECHO = Path(__file__).with_name("echo.js")
PRESSED = "all => all.findIndex(one => one.ariaPressed === 'true')"
FOCUSED = "all => all.indexOf(document.activeElement)"


def echo_state():
    return {
        "words": torch.eye(3, 4),
        "weight": torch.tensor([[3.0, 0, 0, 0], [0, 3, 0, 0], [0, 0, 3, 0]]),
        "bias": torch.zeros(3),
    }


def echo(**settings):
    given = {
        "label": "Ask the echo",
        "static": STILL,
        "scripts": [ECHO],
        "data": {"tokens": ["hello", "bye", "four"], "text": "</script><b>"},
        "models": {"echo": live.pack_weights(echo_state())},
        "about": "An echo of 27 numbers.",
        "offer": "With scripts you can type.",
    }
    return live.figure("echo", **given | settings)


class Echo(Opened):
    prefix = "rr-echo"


# The shell


def test_a_figure_is_one_small_piece_that_asks_for_nothing():
    figure = echo()
    check_piece(figure, 60_000)  # the shared part of a figure stays small
    page = figure._repr_html_()
    assert page.count("</script>") == 2 and "<b>" not in page
    assert figure.alt == STILL.alt and STILL.html in page and "Scripts are off" in page


def test_mistakes():
    with pytest.raises(ValueError, match=r"needs static=... or body=..., to be seen where scripts are off"):
        echo(static=None)
    with pytest.raises(ValueError, match=r"needs alt=..., or a static picture that has it"):
        echo(static=None, body="<p>hello</p>")
    with pytest.raises(UserError, match=r"the figure would weigh 0.0 MB, and it may weigh 0.0 MB; choose a"):
        echo(largest=1000)
    with pytest.raises(ValueError, match="bits must be 16 or from 4 to 8, got 3"):
        live.pack_weights(echo_state(), bits=3)
    with pytest.raises(UserError, match="weight has weights that 16 bits cannot hold"):
        live.pack_weights({"weight": torch.tensor([1e6])})


@pytest.mark.browser
def test_a_figure_is_played_with(browser, tmp_path):
    echo().save(tmp_path / "echo.html")
    with Echo(browser, tmp_path / "echo.html", **DESKTOP) as opened:
        figure = opened.figure
        assert figure.locator(".rr-live-static").count() == 0
        assert figure.locator(".rr-live-said").inner_text() == "hello"
        figure.get_by_role("textbox", name="Word").fill("Bye’s 4 zebras")
        figure.get_by_role("textbox", name="Word").press("Enter")
        assert figure.locator(".rr-live-said").inner_text() == "bye"
        assert figure.locator(".rr-live-unknown").all_inner_texts() == ["zebras"]
        assert figure.locator(".rr-live-notes").inner_text() == "It does not know every word."
        assert re.fullmatch(
            r"Answered in your browser in (less than 1|\d+) ms\.",
            figure.locator(".rr-live-took").inner_text(),
        )
        tokens = figure.get_by_role("toolbar", name="Words")
        assert tokens.locator("button").evaluate_all("all => all.map(one => one.tabIndex)") == [0, -1, -1]
        assert tokens.get_by_role("button", name="zebras").count() == 1, "a token is named by its text"
        tokens.locator("button").first.focus()
        for key, chosen in (("ArrowRight", 1), ("End", 2), ("ArrowRight", 2), ("Home", 0)):
            opened.page.keyboard.press(key)
            buttons = tokens.locator("button")
            assert [buttons.evaluate_all(PRESSED), buttons.evaluate_all(FOCUSED)] == [chosen, chosen]
        opened.page.keyboard.press("n")
        assert figure.get_by_role("textbox", name="Word").input_value() == "bye"
        figure.get_by_role("textbox", name="Word").press("n")
        assert figure.get_by_role("textbox", name="Word").input_value() == "nbye", (
            "a key typed is no shortcut"
        )
        figure.get_by_role("combobox", name="Example").select_option("hello")
        assert figure.locator(".rr-live-said").inner_text() == "hello"
        figure.get_by_role("radio", name="letters").check()
        figure.get_by_role("checkbox", name="Loud").uncheck()
        figure.get_by_role("slider", name="Size").press("ArrowRight")
        assert figure.evaluate(
            "root => { const { pick, kind, size, loud } = root.controls;"
            " return [pick.value, kind.value, size.value, loud.value]; }"
        ) == ["hello", "letters", 4, False]
        assert opened.complaints == []


@pytest.mark.browser
def test_a_figure_fits_and_can_be_read(browser, tmp_path, view):
    echo().save(tmp_path / "echo.html")
    with Echo(browser, tmp_path / "echo.html", **view) as opened:
        opened.figure.get_by_role("textbox").fill("hello and goodbye " * 9)
        opened.figure.get_by_role("button", name="Ask").click()
        opened.check_view()


@pytest.mark.browser
def test_without_scripts_the_static_picture_is_read(browser, tmp_path):
    echo().save(tmp_path / "echo.html")
    with Echo(browser, tmp_path / "echo.html", java_script_enabled=False) as opened:
        assert "computed beforehand" in opened.figure.locator(".rr-live-static").inner_text()
        assert "With scripts you can type." in opened.figure.locator("noscript").inner_text()


@pytest.mark.browser
def test_a_figure_that_cannot_start_keeps_its_picture_and_lets_others_start(browser, tmp_path):
    (tmp_path / "broken.js").write_text('live("echo", ({ stage }) => { stage.append("half"); missing(); });')
    broken = echo(scripts=[tmp_path / "broken.js"])
    whole = echo()
    save_together(tmp_path / "all.html", broken, whole, whole)
    with Echo(browser, tmp_path / "all.html") as opened:
        figures = opened.page.locator(".rr-echo")
        assert "hello, computed beforehand" in figures.nth(0).inner_text()
        assert "could not start in your browser" in figures.nth(0).inner_text()
        assert "half" not in figures.nth(0).inner_text()
        assert figures.nth(1).locator(".rr-live-said").inner_text() == "hello"
        figures.nth(2).get_by_role("combobox").select_option("bye")
        assert figures.nth(1).locator(".rr-live-said").inner_text() == "hello"
        assert len(opened.complaints) == 1 and "missing is not defined" in opened.complaints[0]


# Layers, in Chromium and in node


def random_state(module, seed=0):
    """Give a module large random weights of 16 bits; return them."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.5)
    return live.rounded(module)


def rows(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def run(javascript, expression, state=None, **given):
    """Evaluate an expression in which `w` are the weights and each of `given` a value or a Matrix."""
    names = {
        name: value.tolist() if isinstance(value, torch.Tensor) else value for name, value in given.items()
    } | {"state": live.pack_weights(state or {})}
    matrices = [name for name, value in given.items() if isinstance(value, torch.Tensor) and value.ndim == 2]
    code = "".join(f"const {name} = Matrix.of(given.{name});" for name in matrices)
    others = [name for name in given if name not in matrices]
    code += "".join(f"const {name} = given.{name};" for name in others)
    code += f"const w = new Weights(given.state), plain = {PLAIN}; return plain({expression});"
    return javascript(live.code(), code, names)


PLAIN = """(value) => {
  if (value instanceof Matrix) return value.toArray();
  if (value instanceof Float32Array) return [...value];
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}"""


def close(actual, expected, atol=2e-5):
    if isinstance(expected, torch.Tensor):
        expected = expected.detach().numpy()
    np.testing.assert_allclose(np.asarray(actual, dtype=float), expected, atol=atol)


def test_every_number_of_16_bits(javascript):
    every = np.arange(2**16, dtype="<u2").view("<f2")
    every = torch.from_numpy(every[np.isfinite(every)].astype(np.float32))
    actual = run(javascript, "w.vector('all')", {"all": every})
    np.testing.assert_array_equal(np.float32(actual), every.numpy())


@pytest.mark.parametrize("bits", [8, 6, 5, 4])
def test_whole_numbers_of_few_bits(javascript, bits):
    matrix = rows(7, 5) * torch.logspace(-3, 3, 7)[:, None]
    state = {"m": matrix, "zeros": torch.zeros(2, 3), "v": rows(4), "deep": rows(2, 3, 4)}
    packed = live.pack_weights(state, bits=bits)
    code = (
        "const w = new Weights(given); return ['m', 'zeros', 'v', 'deep'].map((name) => [...w.vector(name)]);"
    )
    unpacked = javascript(live.code(), code, packed)
    rounded = live.round_weights(state, bits=bits)
    for page, library in zip(unpacked, rounded.values(), strict=True):
        close(page, library.flatten(), atol=1e-6)
    error = (rounded["m"] - matrix).abs() / matrix.abs().amax(1, keepdim=True)
    assert float(error.max()) < 0.51 / (2 ** (bits - 1) - 1)


def test_parts_and_missing_weights(javascript):
    state = {"a.b.weight": rows(2, 3), "a.c": rows(2)}
    assert run(javascript, "[w.part('a').part('b').has('weight'), w.has('weight')]", state) == [True, False]
    close(run(javascript, "w.part('a').part('b').matrix('weight')", state), state["a.b.weight"], 1e-3)
    with pytest.raises(Exception, match=r"no weights named a\.d"):
        run(javascript, "w.part('a').vector('d')", state)


def test_activations_and_softmax(javascript):
    x = torch.linspace(-6, 6, 49)
    for name, function in (("relu", torch.relu), ("gelu", functional.gelu), ("sigmoid", torch.sigmoid)):
        close(run(javascript, f"x.map({name})", x=x), function(x), 1e-6)
    scores = rows(6) * 20
    close(run(javascript, "softmax(x)", x=scores), scores.softmax(0), 1e-6)
    mask = torch.tensor([True, False, True, True, False, False])
    expected = ours.attention.masked_softmax(scores, mask)
    close(
        run(javascript, "softmax(Float32Array.from(x), mask)", x=scores, mask=mask.tolist()), expected, 1e-6
    )
    assert run(javascript, "softmax([1, 2], [false, false])") == [0, 0]


def test_linear_norm_and_embeddings(javascript):
    layer, norm = random_state(nn.Linear(5, 3)), random_state(nn.LayerNorm(5, eps=1e-12))
    bare = random_state(nn.Linear(5, 3, bias=False))
    x = rows(4, 5)
    close(run(javascript, "linear(w, x)", layer.state_dict(), x=x), layer(x))
    close(run(javascript, "linear(w, x)", bare.state_dict(), x=x), bare(x))
    close(run(javascript, "layerNorm(w, x, 1e-12)", norm.state_dict(), x=x), norm(x))
    close(run(javascript, "matmul(x, y)", x=x, y=rows(6, 5, seed=3)), x @ rows(6, 5, seed=3).T)
    close(run(javascript, "add(x, x, x)", x=x), 3 * x)
    table = rows(9, 5)
    close(run(javascript, "table.take(ids)", table=table, ids=[3, 0, 3]), table[[3, 0, 3]])
    close(run(javascript, "embeddingSum(table, ids)", table=table, ids=[3, 0, 3]), table[[3, 0, 3]].sum(0))
    shares = torch.tensor([0.5, 2.0, -1.0])
    weighed = (table[[3, 0, 3]] * shares[:, None]).sum(0)
    close(
        run(javascript, "embeddingSum(table, ids, shares)", table=table, ids=[3, 0, 3], shares=shares),
        weighed,
    )
    whole = ours.positions.sinusoidal_positions(12, 6)
    close(run(javascript, "sinusoidalPositions(7, 6, 5)"), whole[5:], 1e-6)


def test_masked_multi_head_attention(javascript):
    layer = random_state(ours.MultiHeadAttention(12, 3))
    x, memory = rows(4, 12), rows(6, 12, seed=2)
    mask = torch.rand(4, 6, generator=torch.Generator().manual_seed(4)) > 0.4
    mask[2] = False  # a query that sees nothing
    with torch.no_grad():
        expected = layer(x[None], memory[None], memory[None], mask)
    seen = "(i, j) => mask[i][j]"
    actual = run(
        javascript,
        f"multiHeadAttention(w, x, memory, 3, {{ mask: {seen} }})",
        layer.state_dict(),
        x=x,
        memory=memory,
        mask=mask.tolist(),
    )
    close(actual["output"], expected.output[0])
    close(actual["weights"], expected.weights[0], 1e-6)
    close(actual["joined"], expected.heads[0].transpose(0, 1).flatten(1))
    assert float(expected.weights.max()) > 0.6, "the comparison must be of weights that differ"
    causal = ours.causal_mask(4)
    with torch.no_grad():
        expected = layer(x[None], x[None], x[None], causal)
    actual = run(javascript, "multiHeadAttention(w, x, x, 3, { mask: causal() })", layer.state_dict(), x=x)
    close(actual["output"], expected.output[0])
    biased = run(javascript, "attend(x, x, x, 2, { bias: (head, i, j) => head + i - j })", x=x)
    scores = x.unflatten(1, (2, 6)).transpose(0, 1)
    scores = scores @ scores.transpose(1, 2) / 6**0.5
    scores += torch.arange(2)[:, None, None] + torch.arange(4)[:, None] - torch.arange(4)
    close(biased["scores"], scores)
    close(biased["weights"], scores.softmax(-1), 1e-6)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_encoder_and_decoder_with_its_past(javascript, norm):
    residual = ours.PostNorm if norm == "post" else ours.PreNorm
    sizes = {"layers": 2, "width": 8, "heads": 2, "hidden": 12, "residual": residual}
    activation = functional.gelu if norm == "pre" else torch.relu
    config = ours.TransformerConfig(**sizes, activation=activation)
    encoder, decoder = random_state(ours.Encoder(config)), random_state(ours.Decoder(config), seed=5)
    x, target = rows(5, 8), rows(4, 8, seed=2)
    options = f"{{ heads: 2, norm: '{norm}', activation: {'gelu' if norm == 'pre' else 'relu'} }}"
    seen = ours.padding_mask(torch.tensor([[1, 1, 1, 1, 0]]))
    with torch.no_grad():
        encoded = encoder(x[None], seen)
        decoded = decoder(target[None], encoded.output, None, seen)
    actual = run(
        javascript,
        f"encode(w, x, 2, {{ ...{options}, mask: (i, j) => j < 4 }})",
        encoder.state_dict(),
        x=x,
    )
    close(actual["output"], encoded.output[0], 1e-4)
    close(
        [layer["weights"] for layer in actual["attention"]],
        torch.stack([layer.weights[0] for layer in encoded.attention]),
    )
    close(actual["states"], torch.stack([layer_state[0] for layer_state in encoded.states]), 1e-4)
    state, memory = decoder.state_dict(), encoded.output[0]
    options = f"{{ ...{options}, memoryMask: (i, j) => j < 4 }}"
    actual = run(javascript, f"decode(w, target, memory, 2, {options})", state, target=target, memory=memory)
    close(actual["output"], decoded.output[0], 1e-4)
    close(
        [layer["weights"] for layer in actual["memoryAttention"]],
        torch.stack([layer.weights[0] for layer in decoded.memory_attention]),
    )
    stepwise = f"""(() => {{
      let past = null;
      return range(4).map((t) => {{
        const step = decode(w, target.take([t]), memory, 2, {options}, past);
        past = step.past;
        return step.output.row(0);
      }});
    }})()"""
    close(run(javascript, stepwise, state, target=target, memory=memory), decoded.output[0], 1e-4)


def test_recurrent_layers(javascript):
    x = rows(6, 5)
    gru = random_state(nn.GRU(5, 4, num_layers=2, batch_first=True))
    with torch.no_grad():
        expected = gru(x[None])[0][0]
    two = "recur('gru', w, recur('gru', w, x), { layer: 1 })"
    close(run(javascript, two, gru.state_dict(), x=x), expected)
    lstm = random_state(nn.LSTM(5, 4, batch_first=True, bidirectional=True))
    with torch.no_grad():
        expected = lstm(x[None])[0][0]
    actual = run(
        javascript,
        "[recur('lstm', w, x), recur('lstm', w, x, { reverse: true })]",
        lstm.state_dict(),
        x=x,
    )
    close(np.concatenate(actual, axis=1), expected)


# Text, chance and numbers


def test_text_is_read_as_people_type(javascript):
    def words(text):
        return run(javascript, "wordsIn(text)", text=text)

    assert words("Is O’Neill’s table in resto_rome_cheap, for 4?") == (
        "is o'neill's table in resto_rome_cheap for 4".split()
    )
    assert words("  Été—2026: don't!  ") == ["été-2026", "don't"]
    assert run(javascript, "tokensIn(text)", text="Mary ran. Where?") == ["mary", "ran", ".", "where", "?"]
    text = "“Stop!” he said. I met Mr. Smith at 3.15 today.\n\n ... \nYes"
    assert run(javascript, "sentencesIn(text)", text=text) == [
        "“Stop!”",
        "he said.",
        "I met Mr. Smith at 3.15 today.",
        "Yes",
    ]
    spelled = run(
        javascript,
        "typed.map((word) => new Vocabulary(['mary', 'four', '2', 'UK', '<unk>']).spelling(word))",
        typed=["Mary", "MARY'S", "4", "two", "UK", "zebra", "99"],
    )
    assert spelled == ["mary", "mary", "four", "2", "UK", None, None]
    assert run(javascript, "new Vocabulary(['a', '<unk>']).id('zebra')") == 1


def test_chance_begins_at_a_seed(javascript):
    same = "[new Random(7), new Random(7)].map((random) => range(5, () => random.next()))"
    first, second = run(javascript, same)
    assert first == second and len(set(first)) == 5 and all(0 <= draw < 1 for draw in first)
    counts = run(
        javascript,
        "((random) => range(3000, () => random.choice(['a', 'b', 'c'], [1, 2, 0])))(new Random(3))",
    )
    assert counts.count("c") == 0 and abs(counts.count("a") - 1000) < 120
    draws = run(
        javascript, "(() => { const random = new Random(1); return range(4000, () => random.normal()); })()"
    )
    assert abs(np.mean(draws)) < 0.06 and abs(np.std(draws) - 1) < 0.05
    assert sorted(run(javascript, "new Random(2).shuffle(range(9))")) == list(range(9))


def test_numbers_are_written_for_readers(javascript):
    assert run(javascript, "[percent(0.123), percent(0.05), percent(0.999), percent(1)]") == [
        "12\u00a0%",
        "5.0\u00a0%",
        "99.9\u00a0%",
        "100\u00a0%",
    ]
    assert run(javascript, "[fixed(-1.5, 1), fixed(-0.001), fixed(2)]") == ["−1.5", "0.00", "2.00"]
    assert run(javascript, "[plural(1, 'word'), plural(2, 'word'), listed(['a', 'b', 'c'])]") == [
        "1 word",
        "2 words",
        "a, b and c",
    ]
    assert run(javascript, "[argmax([1, 3, 2]), ...ranked([1, 3, 2])]") == [1, 1, 2, 0]


def test_every_shared_script_is_shipped():
    folder = Path(live.__file__).parent
    assert {path.stem for path in folder.glob("*.js")} >= set(live.CORE)
    assert json.dumps(live.code()) and "class Weights" in live.code()
