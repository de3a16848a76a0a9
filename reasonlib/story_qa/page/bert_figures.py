"""Pictures of the chapter on BERT: its training in two steps, a packed pair, guesses for hidden words."""

import hashlib
import html
from collections.abc import Sequence
from typing import Any

from matplotlib.patches import FancyBboxPatch

from reasonlib.display.plotting import COLOURS, INK, Picture, figure, show, theme
from reasonlib.story_qa.data.tokens import Pair
from reasonlib.story_qa.experiments.probes import MaskedWord

__all__ = ["guess_board", "pair_table", "two_steps"]

BOARD = """
.rr-board fieldset{border:0;margin:0;padding:0;line-height:2.1}
.rr-board legend{font-size:1em;padding:0;margin:0 0 .3rem}
.rr-board .rr-pick{position:absolute;opacity:0;width:1px;height:1px;margin:0}
.rr-board label{cursor:pointer;border:1px solid color-mix(in srgb,currentColor 35%,transparent);
border-radius:.3rem;padding:.1rem .35rem;margin:0 .1rem;color:inherit}
.rr-board label:hover{border-color:currentColor}
.rr-board .rr-pick:checked+label{border-color:currentColor;box-shadow:inset 0 0 0 1px currentColor;
font-weight:600;text-decoration:underline}
.rr-board .rr-pick:focus-visible+label{outline:3px solid #0072b2;outline-offset:2px}
.rr-board .rr-mark{opacity:.75;font-size:.85em}
.rr-board .rr-panel{display:none;margin:.8rem 0 0}
.rr-board .rr-panel table{border-collapse:collapse;width:100%;max-width:26rem;margin:.3rem 0;color:inherit;
background:none}
.rr-board .rr-panel caption{caption-side:top;text-align:left;color:inherit;padding:0 0 .3rem}
.rr-board .rr-panel :is(th,td){border:0;padding:.15rem .4rem;text-align:left;font-weight:400;color:inherit;
background:none}
.rr-board .rr-panel td{font-variant-numeric:tabular-nums;width:65%}
.rr-board .rr-bar{display:inline-block;height:.8em;min-width:1px;background:#2389d7;margin-right:.4rem;
vertical-align:-.05em}
.rr-pair{overflow-x:auto}
.rr-pair table{border-collapse:collapse;color:inherit;background:none;margin:.5rem 0;font-size:.92em}
.rr-pair :is(th,td){border:0;border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);
padding:.3rem .45rem;text-align:center;color:inherit;background:none;font-weight:400}
.rr-pair tbody th{text-align:left;font-weight:600;position:static}
.rr-pair .rr-second{background:rgba(35,137,215,.25)}
"""


def two_steps() -> Picture:
    """Draw the same encoder twice: guessing hidden words, and answering from the vector of [CLS]."""
    panels = [
        (
            "1. Pre-training: predict what is hidden",
            ["[CLS]", "mary", "went", "to", "[MASK]", "[SEP]", "she", "sat"],
            {0: "continues: yes", 4: "garden"},
        ),
        (
            "2. Fine-tuning: the same encoder answers",
            ["[CLS]", "where", "mary", "?", "[SEP]", "mary", "went", "garden"],
            {0: "answer: garden"},
        ),
    ]
    with theme():
        drawing, both = figure(height=4.3, rows=2)
        for axes, (title, tokens, outputs) in zip(both, panels, strict=True):
            axes.set_title(title)
            axes.set_xlim(-0.6, len(tokens) - 0.4)
            axes.set_ylim(-0.1, 3.6)
            axes.axis("off")
            for position, token in enumerate(tokens):
                for other in range(len(tokens)):
                    axes.plot(
                        [position, other], [0.65, 1.45], color=INK, alpha=0.22, linewidth=0.6, linestyle="-"
                    )
                axes.add_patch(_box(position - 0.46, 0.1, 0.92, 0.5))
                axes.text(position, 0.35, token, ha="center", va="center", fontsize=8.5)
            axes.add_patch(_box(-0.46, 1.5, len(tokens) - 0.08, 0.7, colour=COLOURS["blue"]))
            axes.text(
                (len(tokens) - 1) / 2,
                1.85,
                "encoder: every token attends to every token",
                ha="center",
                va="center",
                fontsize=9.5,
            )
            for position, output in outputs.items():
                axes.annotate(
                    "",
                    (position, 2.85),
                    (position, 2.25),
                    arrowprops={"arrowstyle": "->", "color": COLOURS["orange"], "linewidth": 1.8},
                )
                side = "left" if position == 0 else "center"
                axes.text(
                    position - (0.45 if position == 0 else 0), 3.12, output, ha=side, va="center", fontsize=10
                )
    return show(
        drawing,
        alt="Two rows of tokens, each under a box that stands for the encoder, which links every token to "
        "every token. In the first row one word is replaced by [MASK]; an arrow from it says garden, and an "
        "arrow from [CLS] says that the second part continues the first. In the second row a question and "
        "a story stand side by side, and the arrow from [CLS] gives the answer, garden.",
        caption="One encoder, trained twice. Lines: each token attends to all tokens. Arrows: predictions.",
    )


def _box(left: float, bottom: float, width: float, height: float, *, colour: str = INK) -> FancyBboxPatch:
    return FancyBboxPatch(
        (left, bottom),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=0.1",
        facecolor="none",
        edgecolor=colour,
        linewidth=1.2,
    )


def pair_table(pair: Pair, tokenizer: Any) -> Picture:
    """Show a packed pair as a table: token, segment and position of each place.

    Parameters
    ----------
    pair
        From `bert.StoryTokens.pair`.
    tokenizer
        The one it was made with.
    """
    names = tokenizer.convert_ids_to_tokens(pair.tokens)
    rows = {"token": names, "segment": pair.segments, "position": list(range(len(names)))}
    body = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(
            f"<td{' class=rr-second' if segment else ''}>{html.escape(str(cell))}</td>"
            for cell, segment in zip(cells, pair.segments, strict=True)
        )
        + "</tr>"
        for name, cells in rows.items()
    )
    alt = f"{len(names)} tokens: {' '.join(names)}. Segment 1 begins at position {pair.segments.index(1)}."
    return Picture(
        f"<style>{BOARD}</style>"
        f'<div class="rr rr-pair" role="region" tabindex="0" aria-label="{html.escape(alt)}">'
        f"<table><tbody>{body}</tbody></table></div>",
        alt=alt,
    )


def guess_board(pair: Pair, hidden: Sequence[MaskedWord], tokenizer: Any, *, chosen: int = 0) -> Picture:
    """Make a text whose words can be hidden one by one, with the guesses for each; it needs no kernel.

    Parameters
    ----------
    pair
        The text.
    hidden
        What `inside.mask_each_word` found for it.
    tokenizer
        The one it was made with.
    chosen
        Which of `hidden` is shown first.

    Raises
    ------
    ValueError
        If nothing is hidden or `chosen` is none of it.
    """
    if not 0 <= chosen < len(hidden):
        raise ValueError(f"chosen must be one of {len(hidden)} hidden words, got {chosen}")
    names = tokenizer.convert_ids_to_tokens(pair.tokens)
    own = "g" + hashlib.sha256(repr((names, hidden)).encode()).hexdigest()[:10]
    numbers = {item.position: number for number, item in enumerate(hidden)}
    text, panels, rules = [], [], []
    for position, name in enumerate(names):
        if position not in numbers:
            text.append(f'<span class="rr-mark">{html.escape(name)}</span>')
            continue
        number = numbers[position]
        state = " checked" if number == chosen else ""
        text.append(
            f'<input class="rr-pick" type="radio" name="{own}" id="{own}-{number}"{state}>'
            f'<label for="{own}-{number}">{html.escape(name)}</label>'
        )
        rules.append(f".rr-board:has(#{own}-{number}:checked) .{own}-{number}{{display:block}}")
        panels.append(_panel(hidden[number], f"{own}-{number}"))
    shown = hidden[chosen]
    best = ", ".join(f"{item.word} {item.share:.2f}" for item in shown.guesses)
    alt = f"A text of {len(hidden)} words that can be hidden one by one. With {shown.word!r} hidden: {best}."
    return Picture(
        f"<style>{BOARD}{''.join(rules)}</style>"
        f'<div class="rr rr-board"><fieldset><legend>Choose a word to hide it:</legend>{" ".join(text)}'
        f'</fieldset><div role="status">{"".join(panels)}</div></div>',
        alt=alt,
    )


def _panel(hidden: MaskedWord, name: str) -> str:
    rows = "".join(
        f'<tr><th scope="row">{html.escape(item.word)}{" ✓" if item.word == hidden.word else ""}</th>'
        f'<td><span class="rr-bar" style="width:{60 * item.share:.1f}%"></span>{item.share:.2f}</td></tr>'
        for item in hidden.guesses
    )
    return (
        f'<div class="rr-panel {name}"><table><caption>Hidden: <strong>{html.escape(hidden.word)}</strong>. '
        f"Guesses and their probabilities:</caption><tbody>{rows}</tbody></table></div>"
    )
