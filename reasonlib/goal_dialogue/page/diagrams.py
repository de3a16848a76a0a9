"""Drawings of the networks of this topic: a hop, the ways to tie, word and paragraph vectors, letters.

Each is drawn once and holds no measured number.
"""

from typing import Any

from matplotlib.patches import Circle, FancyBboxPatch

from reasonlib.display.plotting import COLOURS, INK, Picture, figure, show, theme

__all__ = ["cell", "hop", "letters", "tags", "ties", "word_vectors"]


def _box(axes: Any, x: float, y: float, width: float, height: float, text: str, colour: str = INK) -> None:
    """Draw a rounded box around a middle, with words in it."""
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor="none",
            edgecolor=colour,
            linewidth=1.3,
        )
    )
    axes.text(x, y, text, ha="center", va="center", fontsize=9, linespacing=1.3)


def _ball(axes: Any, x: float, y: float, text: str, colour: str = INK, radius: float = 0.26) -> None:
    axes.add_patch(Circle((x, y), radius, facecolor="none", edgecolor=colour, linewidth=1.3))
    axes.text(x, y, text, ha="center", va="center", fontsize=9)


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], colour: str = INK) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 1.3})


def _bare(axes: Any, width: float, height: float) -> None:
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    axes.set_aspect("equal")
    axes.axis("off")


def hop() -> Picture:
    """Draw two hops over one memory, from question to candidates (figures 3.1 to 3.3 of the source)."""
    blue, orange = COLOURS["blue"], COLOURS["orange"]
    with theme():
        drawing, axes = figure(height=4.6)
        _bare(axes, 8.4, 9.2)
        _box(axes, 6.2, 0.5, 3.4, 0.8, "question: what the\nuser says now")
        _ball(axes, 6.2, 1.75, "$u_1$")
        _arrow(axes, (6.2, 0.95), (6.2, 1.45))
        for number, bottom in enumerate((2.0, 5.0), start=1):
            _box(axes, 1.9, bottom + 1.05, 3.5, 1.9, "", blue)
            axes.text(1.9, bottom + 1.5, "memory: keys $m_i$", ha="center", va="center", fontsize=9)
            axes.text(1.9, bottom + 0.6, "values $c_i$", ha="center", va="center", fontsize=9)
            _arrow(axes, (5.9, bottom), (3.75, bottom + 1.35), blue)
            axes.text(4.1, bottom + 0.45, "match", fontsize=8.5, ha="center", va="center")
            _arrow(axes, (3.7, bottom + 1.7), (5.1, bottom + 1.95), orange)
            axes.text(4.35, bottom + 2.1, f"$o_{number}$", fontsize=9, ha="center", va="center")
            _box(axes, 6.2, bottom + 1.95, 2.1, 0.8, "step", orange)
            _arrow(axes, (6.2, bottom + 0.05), (6.2, bottom + 1.5))
            _ball(axes, 6.2, bottom + 2.75, f"$u_{number + 1}$")
            axes.text(8.3, bottom + 1.0, f"hop {number}", fontsize=9, ha="right", va="center")
        _box(axes, 6.2, 8.7, 3.6, 0.8, "scores of all\ncandidates, $W u_3$")
        _arrow(axes, (6.2, 8.05), (6.2, 8.3))
    return show(
        drawing,
        alt="The question becomes the state u1. It is matched with the keys of the memory; the values, mixed "
        "by that match, are the output o1; a step makes u2 of u1 and o1. A second hop does the same and "
        "gives u3, which is compared with all candidates.",
        caption="Two hops. The three networks differ only in the update step, and in which tables of word "
        "vectors give the keys and the values.",
    )


def ties() -> Picture:
    """Draw which table of word vectors stands where (figure 3.4 of the source)."""
    kinds = {
        "adjacent": (["1", "2", "2", "3", "3", "4"], "1", "4"),
        "layer-wise": (["1", "2", "1", "2", "1", "2"], "3", "4"),
    }
    colours = {str(n): colour for n, colour in enumerate(list(COLOURS.values())[:4], start=1)}
    with theme():
        drawing, both = figure(height=3.4, columns=2)
        for axes, (name, (tables, question, answers)) in zip(both, kinds.items(), strict=True):
            _bare(axes, 4.0, 6.4)
            axes.set_title(name)
            for row, (label, table) in enumerate((("B", question), ("W", answers))):
                y = 0.4 if row == 0 else 5.9
                _box(axes, 2.0, y, 2.2, 0.7, f"${label}$: table {table}", colours[table])
            for hop_number in range(3):
                y = 1.6 + 1.45 * hop_number
                for side, x in enumerate((1.0, 3.0)):
                    table = tables[2 * hop_number + side]
                    _box(
                        axes,
                        x,
                        y,
                        1.7,
                        0.9,
                        f"${'AC'[side]}^{hop_number + 1}$\ntable {table}",
                        colours[table],
                    )
    return show(
        drawing,
        alt="Three hops, each with a table A to compare and a table C to read. Adjacent: A1 is table 1, "
        "C1 and A2 are table 2, C2 and A3 table 3, C3 is table 4; the question uses table 1, the "
        "answers table 4. Layer-wise: every A is table 1, every C is table 2; the question has table 3, "
        "the answers table 4.",
        caption="Two ways to tie three hops (bottom to top). Boxes with the same number use the same table "
        "of word vectors. B embeds the question, W the candidates.",
    )


def word_vectors() -> Picture:
    """Draw what predicts what: CBOW, skip-gram and PV-DBOW (figure 4.1 and section 4.1.2 of the source)."""
    around = ["in", "a", "price", "range"]
    with theme():
        drawing, all_axes = figure(height=5.6, rows=3)
        for axes, title in zip(
            all_axes,
            (
                "CBOW: neighbours predict a word",
                "skip-gram: a word predicts neighbours",
                "PV-DBOW: a sentence predicts its words",
            ),
            strict=True,
        ):
            _bare(axes, 8.4, 3.0)
            axes.set_title(title)
        for axes, up in ((all_axes[0], True), (all_axes[1], False)):
            for index, word in enumerate(around):
                x, y = 1.1 + 2.05 * index, 0.5 if up else 2.5
                _box(axes, x, y, 1.6, 0.75, word)
                ends = ((x, 0.9), (4.2, 2.05)) if up else ((4.2, 0.95), (x, 2.1))
                _arrow(axes, *ends, COLOURS["blue"])
            _box(axes, 4.2, 2.5 if up else 0.5, 2.0, 0.75, "cheap", COLOURS["orange"])
        axes = all_axes[2]
        _box(axes, 4.2, 0.5, 6.4, 0.75, "in a cheap price range, as one vector", COLOURS["orange"])
        for index, word in enumerate(("in", "cheap", "range")):
            x = 1.6 + 2.6 * index
            _box(axes, x, 2.5, 1.6, 0.75, word)
            _arrow(axes, (4.2, 0.95), (x, 2.1), COLOURS["blue"])
    return show(
        drawing,
        alt="Three sketches. CBOW: the words in, a, price and range together predict the word cheap among "
        "them. Skip-gram: the word cheap predicts each of these neighbours. PV-DBOW: one vector of the whole "
        "sentence predicts words drawn from it.",
        caption="Three ways to train vectors. Arrows go from what is given to what is predicted.",
    )


def letters() -> Picture:
    """Draw a word that is read letter by letter, from both ends (figure 4.4 of the source)."""
    word = "thai"
    with theme():
        drawing, axes = figure(height=3.4)
        _bare(axes, 8.4, 6.6)
        for index, letter in enumerate(word):
            x = 1.0 + 1.5 * index
            _box(axes, x, 0.45, 0.9, 0.7, letter)
            _box(axes, x - 0.3, 2.0, 0.85, 0.7, "", COLOURS["blue"])
            _box(axes, x + 0.3, 3.3, 0.85, 0.7, "", COLOURS["orange"])
            _arrow(axes, (x - 0.3, 0.85), (x - 0.3, 1.6))
            _arrow(axes, (x + 0.3, 0.85), (x + 0.3, 2.9))
            if index:
                _arrow(axes, (x - 1.35, 2.0), (x - 0.75, 2.0), COLOURS["blue"])
                _arrow(axes, (x - 0.15, 3.3), (x - 0.75, 3.3), COLOURS["orange"])
        axes.text(6.4, 2.0, "left to right", fontsize=9, va="center")
        axes.text(6.4, 3.3, "right to left", fontsize=9, va="center")
        _box(axes, 3.2, 4.75, 3.6, 0.8, "both last outputs")
        _arrow(axes, (5.1, 2.4), (4.85, 4.32), COLOURS["blue"])
        _arrow(axes, (1.3, 3.7), (2.2, 4.3), COLOURS["orange"])
        _box(axes, 3.2, 6.1, 3.6, 0.8, "type: cuisine")
        _arrow(axes, (3.2, 5.2), (3.2, 5.65))
    return show(
        drawing,
        alt="The letters t, h, a, i. A row of cells reads them from left to right, another from right to "
        "left. The last output of each stands for the word, and from both its type is read: cuisine.",
        caption="Each small box is an LSTM cell. The word's vector is the last output of each direction, "
        "side by side.",
    )


def cell() -> Picture:
    """Draw an LSTM cell (figure 4.3 of the source)."""
    blue, orange = COLOURS["blue"], COLOURS["orange"]
    with theme():
        drawing, axes = figure(height=3.5)
        _bare(axes, 8.4, 6.8)
        axes.text(0.1, 5.9, "$C_{t-1}$", fontsize=10, va="center")
        axes.text(0.1, 0.7, "$h_{t-1}, x_t$", fontsize=10, va="center")
        _arrow(axes, (1.0, 5.9), (1.85, 5.9), blue)
        _ball(axes, 2.2, 5.9, "×", blue)
        _arrow(axes, (2.5, 5.9), (4.2, 5.9), blue)
        _ball(axes, 4.5, 5.9, "+", blue)
        _arrow(axes, (4.8, 5.9), (7.5, 5.9), blue)
        axes.text(7.6, 5.9, "$C_t$", fontsize=10, va="center")
        axes.plot([1.8, 7.0], [0.7, 0.7], color=INK, linewidth=1.3, linestyle="-")
        for x, name, label in (
            (2.2, "$f_t$", "forget"),
            (3.8, r"$\tilde C_t$", "update"),
            (5.1, "$i_t$", "add"),
            (6.9, "$o_t$", "output"),
        ):
            _arrow(axes, (x, 0.7), (x, 1.4))
            _box(axes, x, 2.1, 1.15, 1.3, f"{name}\n{label}", orange)
        _arrow(axes, (2.2, 2.8), (2.2, 5.55), orange)
        _ball(axes, 4.5, 4.0, "×", orange)
        _arrow(axes, (3.8, 2.8), (4.3, 3.75), orange)
        _arrow(axes, (5.1, 2.8), (4.7, 3.75), orange)
        _arrow(axes, (4.5, 4.3), (4.5, 5.55), orange)
        _ball(axes, 6.9, 4.0, "×", orange)
        _arrow(axes, (6.9, 2.8), (6.9, 3.7), orange)
        _arrow(axes, (6.9, 5.85), (6.9, 4.35), blue)
        axes.text(6.75, 5.1, "tanh", fontsize=9, ha="right", va="center")
        _arrow(axes, (7.2, 4.0), (7.6, 4.0))
        axes.text(7.7, 4.0, "$h_t$", fontsize=10, va="center")
    return show(
        drawing,
        alt="An LSTM cell. The old state C is multiplied by the forget gate; the update, multiplied by the "
        "input gate, is added, which gives the new state; its tanh, multiplied by the output gate, is the "
        "output h. The three gates and the update are computed from the last output and the new input.",
        caption="An LSTM cell: what is kept, what is added, what is output.",
    )


def tags() -> Picture:
    """Draw how words and their tags make one vector of a sentence (figure 4.5 of the source)."""
    words = (("i'd", 1), ("like", 1), ("thai", 4), ("food", 1))
    with theme():
        drawing, axes = figure(height=3.3)
        _bare(axes, 8.4, 6.4)
        for index, (word, number) in enumerate(words):
            x = 1.1 + 2.05 * index
            _box(axes, x, 0.5, 1.7, 0.75, word)
            _box(axes, x, 2.1, 0.9, 0.75, str(number), COLOURS["orange"])
            _arrow(axes, (x, 0.92), (x, 1.65))
        axes.text(8.35, 1.3, "tagger", fontsize=8.5, ha="right", va="center")
        _box(axes, 2.2, 4.0, 3.4, 0.8, "sum of words, $A$", COLOURS["blue"])
        _box(axes, 6.2, 4.0, 3.4, 0.8, "sum of tags, $T$", COLOURS["orange"])
        for index in range(4):
            x = 1.1 + 2.05 * index
            axes.plot(
                [x - 0.6, 2.2], [0.92, 3.55], color=COLOURS["blue"], alpha=0.55, linewidth=1, linestyle="-"
            )
            axes.plot([x, 6.2], [2.5, 3.55], color=COLOURS["orange"], alpha=0.8, linewidth=1, linestyle="-")
        _box(axes, 4.2, 5.7, 6.4, 0.8, "both side by side: key, value or question")
        _arrow(axes, (2.2, 4.45), (3.2, 5.25))
        _arrow(axes, (6.2, 4.45), (5.2, 5.25))
    return show(
        drawing,
        alt="The words i'd, like, thai, food. A tagger gives them the numbers 1, 1, 4, 1; 4 stands for a "
        "cuisine, 1 for no type. The vectors of the words are summed with table A, those of "
        "the tags with table T; both sums stand side by side as the vector of the sentence.",
        caption="A sentence with key tags. Tag 1 means no type, tag 4 a cuisine.",
    )
