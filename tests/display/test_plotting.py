"""Properties of the figures: words for every picture, equal bytes, contrast on light and dark, no leaks."""

import html.parser
import itertools
import re
import xml.etree.ElementTree as ElementTree

import matplotlib
import matplotlib.pyplot
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb

from reasonlib.display import plotting
from reasonlib.display.intervals import Spread

PAGES = {"light": ("#ffffff", "#222832"), "dark": ("#121212", "#ced6dd"), "dark blue": ("#14181e", "#ced6dd")}

# Machado, Oliveira and Fernandes (2009), complete dichromacy, on linear RGB.
SIGHT = {
    "trichromat": np.eye(3),
    "protanope": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranope": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanope": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}

HISTORY = [{"epoch": epoch, "accuracy": 1 - 0.5**epoch, "loss": 0.5**epoch} for epoch in range(1, 7)]
WORDS = ["Mary", "went", "home"]
SENTENCES = ["Mary went home.", "John took <the> milk & ran.", "John slept."]
WEIGHTS = np.array([[0.1, 0.7, 0.2], [0.0, 0.0, 1.0]])


def linear(colour):
    channels = np.array(to_rgb(colour))
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(foreground, background):
    """WCAG 2 contrast ratio."""
    low, high = sorted(
        float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (foreground, background)
    )
    return (high + 0.05) / (low + 0.05)


def over(colour, opacity, page):
    return tuple(opacity * np.array(to_rgb(colour)) + (1 - opacity) * np.array(to_rgb(page)))


def lab(rgb):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ np.clip(
        rgb, 0, 1
    )
    xyz = xyz / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


FIGURES = {
    "learning_curve": lambda: plotting.learning_curve(
        {"a": [HISTORY, HISTORY[:4]], "b": HISTORY}, "accuracy"
    ),
    "lines": lambda: plotting.lines({"a": ([1, 2], [0.1, 0.2])}, x="facts", y="accuracy"),
    "bars": lambda: plotting.bars(
        {"a": 0.3, "b": Spread(0.5, 0.1)}, unit="accuracy", reference=("chance", 0.1)
    ),
    "grouped bars": lambda: plotting.bars({"s": {"a": 1, "b": 2}, "t": {"a": 3}}, unit="questions a second"),
    "attention_map": lambda: plotting.attention_map(np.eye(3), WORDS, WORDS),
    "heads": lambda: plotting.attention_map(np.stack([np.eye(3)] * 3), WORDS, WORDS),
    "long": lambda: plotting.attention_map(np.eye(12), ["word"] * 12, ["word"] * 12),
}

NAMES = sorted(FIGURES)


@pytest.mark.parametrize("colour", (*plotting.PALETTE, plotting.HEAT, plotting.INK))
@pytest.mark.parametrize("page", PAGES)
def test_every_colour_stands_out_from_light_and_dark_pages(colour, page):
    assert contrast(colour, PAGES[page][0]) >= 3.0  # WCAG 1.4.11, graphical objects


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_own_text_keeps_its_contrast_on_the_strongest_cell(page):
    background, text = PAGES[page]
    for opacity in np.linspace(0, plotting.STRONGEST, 20):
        assert contrast(over(plotting.HEAT, opacity, background), text) >= 4.5


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_stay_apart_for_every_kind_of_sight(sight):
    seen = [lab(SIGHT[sight] @ linear(colour)) for colour in plotting.PALETTE]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 12


def test_lines_differ_by_more_than_colour():
    assert len(plotting.PALETTE) == len(set(map(str, plotting.DASHES))) == len(set(plotting.MARKERS))


@pytest.mark.parametrize("name", NAMES)
def test_text_and_axes_take_the_colour_of_the_page(name):
    shown = plotting.show(FIGURES[name](), alt="Words.").html
    ElementTree.fromstring(re.sub(r"</?figure[^>]*>|<figcaption>.*</figcaption>", "", shown))
    assert plotting.INK not in shown
    assert "currentColor" in shown
    colours = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", shown))
    assert colours <= set(plotting.PALETTE) | {plotting.HEAT}
    assert "<style" not in shown
    assert "url(http" not in shown


@pytest.mark.parametrize("name", NAMES)
def test_the_same_numbers_give_the_same_bytes(name):
    assert (
        plotting.show(FIGURES[name](), alt="Words.").html == plotting.show(FIGURES[name](), alt="Words.").html
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_carries_words_and_the_numbers_it_drew(name):
    picture = plotting.show(FIGURES[name](), alt="What it means.", caption="Under <it>.")
    assert picture.alt.startswith("What it means. ")
    assert re.search(r"\d", picture.alt)
    assert repr(picture) == picture.alt
    assert 'role="img" aria-label="What it means. ' in picture.html
    assert "<figcaption>Under &lt;it&gt;.</figcaption>" in picture.html


@pytest.mark.parametrize("alt", ["", "   ", None])
def test_a_figure_without_words_is_refused(alt):
    with pytest.raises(ValueError, match="alt must say in words what the figure shows"):
        plotting.show(plotting.learning_curve(HISTORY), alt=alt)


def test_two_pictures_on_one_page_share_no_names():
    first, second = (plotting.show(FIGURES["long"](), alt=alt).html for alt in ("One.", "Two."))
    names = [set(re.findall(r' id="([^"]+)"', text)) for text in (first, second)]
    assert names[0]
    assert not names[0] & names[1]
    for text, own in zip((first, second), names, strict=True):
        used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
        assert used == own


def test_nothing_leaks_into_the_global_state():
    before = dict(matplotlib.rcParams)
    for draw in FIGURES.values():
        plotting.show(draw(), alt="Words.")
    assert dict(matplotlib.rcParams) == before
    assert matplotlib.pyplot.get_fignums() == []


def test_a_picture_fits_its_container_and_its_letters_stay_legible_on_a_phone():
    shown = plotting.show(FIGURES["bars"](), alt="Words.").html
    head = re.search(r"<svg[^>]*>", shown)[0]
    assert " width=" not in head
    assert " height=" not in head
    wide = float(re.search(r'viewBox="0 0 ([\d.]+)', head)[1])
    with plotting.theme():
        smallest = float(matplotlib.rcParams["xtick.labelsize"])
    assert 340 / wide * min(smallest, 9) >= 9.9  # pixels of the em at 380 px less margins
    assert "width:100%" in plotting.CSS


def test_a_learning_curve_averages_seeds_and_spans_their_range():
    runs = [[{"epoch": 1, "accuracy": 0.2}, {"epoch": 2, "accuracy": 0.4}], [{"epoch": 1, "accuracy": 0.4}]]
    axes = plotting.learning_curve({"model": runs}).axes[0]
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[1, 0.3], [2, 0.4]])
    corners = axes.collections[0].get_paths()[0].vertices
    assert {0.2, 0.4} <= {round(float(level), 6) for level in corners[:, 1]}


def test_a_learning_curve_takes_anything_that_yields_records():
    class History:
        def __iter__(self):
            return iter(HISTORY)

    for histories in (HISTORY, History(), {"": HISTORY}, [HISTORY, HISTORY], {"": [History()]}):
        axes = plotting.learning_curve(histories, "loss", unit="nats").axes[0]
        assert axes.get_title(loc="left") == "loss (nats)"
        np.testing.assert_allclose(axes.lines[0].get_ydata(), [row["loss"] for row in HISTORY])


def test_epochs_that_were_not_validated_are_skipped():
    rows = [
        {"epoch": 1, "loss": 1.0},
        {"epoch": 2, "loss": 0.5, "accuracy": 0.3},
        {"epoch": 3, "accuracy": None},
    ]
    axes = plotting.learning_curve(rows, "accuracy").axes[0]
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[2, 0.3]])
    with pytest.raises(ValueError, match="metric must be in the history, got 'f1'"):
        plotting.learning_curve(rows, "f1")


def test_a_logarithmic_axis_has_labels_to_read_values_from():
    def labels(highest):
        drawing = plotting.lines({"a": ([1, 30], [3, highest])}, x="size", y="ms", log=True, log_y=True)
        drawing.draw_without_rendering()
        axes = drawing.axes[0]
        return [
            [text.get_text() for text, at in zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=True)
             if axis.get_view_interval()[0] <= at <= axis.get_view_interval()[1]]
            for axis in (axes.xaxis, axes.yaxis)
        ]  # fmt: skip

    assert labels(60) == [["1", "2", "5", "10", "20"], ["5", "10", "20", "50"]]
    assert labels(5000)[1] == ["10", "100", "1,000"]


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ({}, "series must hold 1 to 6 lines"),
        ({str(k): ([1], [1]) for k in range(7)}, "series must hold 1 to 6 lines to stay apart, got 7"),
        ({"a": ([1, 2], [1])}, "of one length, got lengths"),
        ({"a": ([1], [1], [1])}, "of one length, got lengths"),
        ({"a": ([], [])}, "of one length, got lengths"),
        ({"a": ([[1]], [[1]])}, "values must have 1 dimension"),
    ],
)
def test_lines_that_cannot_be_drawn_are_refused(series, message):
    with pytest.raises(ValueError, match=message):
        plotting.lines(series, x="x", y="y")


def test_the_number_of_a_bar_is_clear_of_the_reference_line():
    axes = plotting.bars({"below": 0.09, "above": 0.5}, unit="accuracy", reference=("chance", 0.1)).axes[0]
    assert [text.xy[0] for text in axes.texts] == [0.1, 0.5]


def test_bars_have_the_lengths_of_their_values():
    axes = plotting.bars({"a": 0.25, "b": Spread(0.5, 0.1)}, unit="accuracy", limits=(0, 1)).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [0.25, 0.5]
    assert axes.get_xlim() == (0, 1)
    with pytest.raises(ValueError, match="values must hold at least one bar"):
        plotting.bars({}, unit="accuracy")
    with pytest.raises(ValueError, match="at most 6 series"):
        plotting.bars({str(k): {"a": 1} for k in range(7)}, unit="accuracy")


def test_the_number_of_a_bar_is_never_in_powers_of_ten():
    drawing = plotting.bars({"a": 392_702, "b": 8500, "c": 634, "d": 0.1234}, unit="examples")
    assert [text.get_text() for text in drawing.axes[0].texts] == ["392,702", "8,500", "634", "0.123"]


@pytest.mark.parametrize(
    "unit",
    [
        "share solved",
        "share of answers with every token right",
        "share of new questions answered correctly after few labels",
    ],
)
def test_what_the_bars_count_is_not_cut(unit):
    drawing = plotting.bars({"heads of width 8, without the root": 0.4}, unit=unit, limits=(0, 1))
    drawing.draw_without_rendering()
    words = drawing.axes[0].xaxis.label.get_window_extent()
    assert words.x0 >= 0 and words.x1 <= drawing.bbox.x1


def test_long_labels_leave_half_of_the_width_to_the_bars_and_do_not_touch():
    values = {
        "a": 0.1,
        "encoder and decoder pre-trained": 0.2,
        "the same model after a long run": 0.3,
    }
    drawing = plotting.bars(values, unit="accuracy", limits=(0, 1))
    drawing.draw_without_rendering()
    (axes,) = drawing.axes
    assert axes.get_window_extent().width > 0.4 * drawing.bbox.width
    labels = axes.get_yticklabels()
    assert [" ".join(label.get_text().split()) for label in labels] == list(values)
    assert "pre-trained" in labels[1].get_text()
    for above, below in itertools.pairwise(label.get_window_extent() for label in labels):
        assert above.y0 > below.y1


def test_a_bar_of_zero_is_seen():
    [bar] = plotting.bars({"a": 0.0}, unit="accuracy", limits=(0, 1)).axes[0].patches
    assert bar.get_width() == 0 and bar.get_linewidth() >= 1 and bar.get_edgecolor()[3] == 1


def test_the_interval_of_runs_is_a_line_at_their_bar():
    drawing = plotting.bars({"a": Spread(0.25), "b": Spread(0.7, 0.5)}, unit="accuracy", limits=(0, 1))
    (line,) = drawing.axes[0].containers[-1].lines[2]
    assert line.get_segments()[0][:, 0] == pytest.approx([0.2, 1.2])
    assert max(text.xy[0] for text in drawing.axes[0].texts) == 1  # the number stays where it can be seen
    assert drawing.get_label() == "a 0.25, b 0.7 ± 0.5. ± is half of the 95 % interval over runs."
    assert "±" not in plotting.bars({"a": Spread(0.25), "b": 0.5}, unit="accuracy").get_label()


def test_an_attention_map_takes_tensors_with_a_gradient():
    weights = torch.softmax(
        torch.randn(3, 3, generator=torch.Generator().manual_seed(0)), -1
    ).requires_grad_()
    shown = plotting.attention_map(weights, WORDS, WORDS).axes[0].images[0].get_array()
    np.testing.assert_allclose(shown, weights.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.eye(2), r"weights must have shape \(queries, keys\)"),
        (np.eye(3)[0], "weights must have shape"),
        (np.eye(3) * 2, "weights must lie between 0 and 1, got 0 to 2"),
        (np.full((3, 3), np.nan), "weights must lie between 0 and 1"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        plotting.attention_map(weights, WORDS, WORDS)
    with pytest.raises(ValueError, match="titles must name the 1 heads, got 2"):
        plotting.attention_map(np.eye(3), WORDS, WORDS, titles=["a", "b"])


class Reader(html.parser.HTMLParser):
    """Read a table back: rows of cell texts, and the attributes of every tag."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        if tag in ("th", "td"):
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def test_the_hop_map_is_a_table_of_sentences_by_hops():
    picture = plotting.memory_hops(
        SENTENCES,
        torch.tensor(WEIGHTS),
        question="Where is <John>?",
        answer="home",
        expected="home",
        support=(1, 2),
    )
    reader = Reader(picture.html)
    assert reader.rows[1] == ["1", "2"]
    body = reader.rows[2:]
    assert [row[1:] for row in body] == [["0.10", "0.00"], ["0.70", "0.00"], ["0.20", "1.00"]]
    assert [row[0] for row in body] == [
        "1. Mary went home.",
        f"2. {SENTENCES[1]} needed",
        "3. John slept. needed",
    ]
    scopes = [attributes.get("scope") for tag, attributes in reader.tags if tag == "th"]
    assert None not in scopes
    assert "<John>" not in picture.html
    assert "Hop 1 reads sentence 2 most (0.70)" in picture.alt
    assert "Needed: sentences 2, 3." in picture.alt


def test_a_cell_is_as_strong_as_its_weight():
    cells = re.findall(r"rgba\(\d+,\d+,\d+,([\d.]+)\)", plotting.memory_hops(SENTENCES, WEIGHTS).html)
    np.testing.assert_allclose(
        [float(cell) for cell in cells], plotting.STRONGEST * WEIGHTS.T.ravel(), atol=1e-3
    )


def test_a_wrong_answer_is_shown_with_the_right_one():
    shown = plotting.memory_hops(SENTENCES, WEIGHTS, answer="<b>", expected="home").html
    assert "✗ (expected: home)" in shown
    assert "&lt;b&gt;" in shown


@pytest.mark.parametrize(
    ("weights", "support", "message"),
    [
        (WEIGHTS[:, :2], (), r"weights must have shape \(hops, sentences\) with 3 sentences, got \(2, 2\)"),
        (WEIGHTS[0], (), "weights must have shape"),
        (np.zeros((0, 3)), (), "weights must have shape"),
        (-WEIGHTS, (), "weights must lie between 0 and 1"),
        (WEIGHTS, (3,), "support must lie within the 3 sentences, got 3"),
        (WEIGHTS, (-1,), "support must lie within the 3 sentences, got -1"),
    ],
)
def test_a_hop_map_that_cannot_be_right_is_refused(weights, support, message):
    with pytest.raises(ValueError, match=message):
        plotting.memory_hops(SENTENCES, weights, support=support)


def test_pictures_stand_beside_each_other_and_save_as_a_page(tmp_path):
    single = plotting.show(plotting.learning_curve(HISTORY), alt="One.")
    pair = plotting.beside(single, plotting.memory_hops(SENTENCES, WEIGHTS))
    assert pair.html.count("<figure") == 2
    assert pair.alt.startswith("One. ")
    pair.save(tmp_path / "pair.html")
    page = (tmp_path / "pair.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert 'content="light dark"' in page
    with pytest.raises(ValueError, match="at least one picture"):
        plotting.beside()
