"""Tables of the chapters: example questions, and the input of QA-MLM."""

import html

from reasonlib.display.plotting import Picture
from reasonlib.maths_qa.data.encoding import collate, join
from reasonlib.maths_qa.data.example import Problem
from reasonlib.maths_qa.data.generator import simulate
from reasonlib.maths_qa.data.modules import area_of
from reasonlib.maths_qa.data.vocabulary import TOKENS
from reasonlib.maths_qa.page.labels import module_title

__all__ = ["SHOWN", "examples", "input_row"]

SHOWN = (
    "algebra__linear_1d",
    "arithmetic__mixed",
    "calculus__differentiate",
    "comparison__closest_composed",
    "measurement__time",
    "numbers__gcd",
    "polynomials__expand",
    "probability__swr_p_sequence",
)
"""One module of each area."""

HIDDEN = (3, 8, 12, 23)  # positions that `input_row` hides: never [SOS] or [EOS]


def examples(seed: int = 0) -> Picture:
    """Show one generated question of each area."""
    drawn = [simulate(module, 1, seed=seed, difficulty="medium")[0] for module in SHOWN]
    rows = "".join(
        f"<tr><td>{area_of(problem.module)}: {module_title(problem.module)}</td>"
        f"<td>{html.escape(problem.question)}</td><td>{html.escape(problem.answer)}</td></tr>"
        for problem in drawn
    )
    head = "<tr><th>module</th><th>question</th><th>answer</th></tr>"
    words = "; ".join(f"{problem.question} {problem.answer}" for problem in drawn)
    return Picture(
        f'<div class="rr rr-figure" style="overflow-x:auto" tabindex="0" role="region" aria-label="Table">'
        f"<table><thead>{head}</thead>{rows}</table></div>",
        alt=f"One question of each area, with its answer: {words}.",
    )


def input_row() -> Picture:
    """Draw the input of QA-MLM for one question: characters, segments and positions (figure 5.3)."""
    problem = Problem(
        question="Solve 2*x = 20 for x.", answer="10", module="algebra__linear_1d", difficulty="easy"
    )
    joined = join(collate([problem]))
    cells = {"character": [], "segment": [], "position": []}  # type: dict[str, list[str]]
    for position, number in enumerate(joined.tokens[0].tolist()):
        token = TOKENS[number].replace(" ", "␣")
        hidden = position in HIDDEN
        cells["character"].append(_cell("[M]" if hidden else token, shaded=hidden))
        cells["segment"].append(_cell("QA"[int(joined.segments[0, position])]))
        cells["position"].append(_cell(str(int(joined.positions[0, position]))))
    rows = "".join(f"<tr><th>{name}</th>{''.join(row)}</tr>" for name, row in cells.items())
    return Picture(
        '<div class="rr rr-figure" style="overflow-x:auto" tabindex="0" role="region" aria-label="Input">'
        '<table style="font-size:.8em">'
        f"{rows}</table></div>",
        alt=f"The characters of “{problem.question}” and of its answer {problem.answer} between [SOS] and "
        "[EOS]. Segments are Q in the question and A from [SOS] on; positions count from 0 in the question "
        f"and again from 0 at [SOS]. {len(HIDDEN)} characters are masked.",
    )


def _cell(text: str, *, shaded: bool = False) -> str:
    style = ' style="background:rgb(230 159 0/.35)"' if shaded else ""
    return f"<td{style}>{html.escape(text)}</td>"
