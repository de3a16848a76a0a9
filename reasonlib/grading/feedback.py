"""A page of feedback for one notebook, which a teacher can send: one file that needs nothing else."""

import html

from reasonlib.grading.checks import Result
from reasonlib.grading.markup import inline
from reasonlib.grading.notebook import Graded

__all__ = ["as_page"]

WORDS = {"✓": "passed", "✗": "not right yet", "○": "not started"}
KINDS = {"✓": "passed", "✗": "failed", "○": "untouched"}

CSS = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1c1e21;--soft:#5b6067;--line:#d9dce0;--card:#f7f8f9;
--passed:#00734f;--failed:#a84300;--untouched:#5b6067}
@media (prefers-color-scheme:dark){:root{--paper:#15171a;--ink:#e8eaed;--soft:#a9afb7;--line:#3a3f46;
--card:#1e2125;--passed:#4fd6a8;--failed:#ffab70;--untouched:#a9afb7}}
*{box-sizing:border-box}
body{font:1rem/1.55 system-ui,sans-serif;background:var(--paper);color:var(--ink);max-width:44rem;
margin:0 auto;padding:1.5rem 1rem 3rem;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.about{color:var(--soft);margin:.2rem 0 1.2rem}
.sum{display:flex;flex-wrap:wrap;align-items:baseline;gap:.2rem .8rem;margin:0 0 .4rem}
.sum strong{font-size:1.35rem}.sum span{color:var(--soft)}
meter{width:100%;height:.9rem;margin-bottom:1rem}
ol{list-style:none;margin:0;padding:0;display:grid;gap:.7rem}
li{background:var(--card);border:1px solid var(--line);border-left:.3rem solid var(--kind);
border-radius:.4rem;padding:.6rem .9rem}
.passed{--kind:var(--passed)}.failed{--kind:var(--failed)}.untouched{--kind:var(--untouched)}
.head{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem}
h3{font-size:1rem;margin:0;flex:1 1 14rem}.points{color:var(--soft);white-space:nowrap}
.state{color:var(--kind);font-weight:600}li p{margin:.25rem 0 0}
code{font:.92em ui-monospace,monospace;background:color-mix(in srgb,currentColor 9%,transparent);
padding:.05em .3em;border-radius:.25em}
@media print{body{padding:0}li{break-inside:avoid}}
"""


def as_page(graded: Graded | None, *, student: str, problem: str = "") -> str:
    """Write the page.

    Parameters
    ----------
    graded
        The grades; None where there are none.
    student
        Whose notebook it is; the heading.
    problem
        Why there are no grades.
    """
    if graded is None:
        about, body = "Feedback on your notebook", f'<p class="failed">Not graded: {html.escape(problem)}</p>'
    else:
        about = f"Feedback on your exercises, topic {graded.report.topic.replace('_', ' ')}"
        body = _summary(graded) + _exercises(graded) + _cells(graded)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(student)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{CSS}</style></head>'
        f'<body><main><h1>{html.escape(student)}</h1><p class="about">{html.escape(about)}</p>{body}</main>'
        "</body></html>\n"
    )


def _summary(graded: Graded) -> str:
    report = graded.report
    results = list(report.results.values())
    counts = [f"{sum(result.mark == mark for result in results)} {word}" for mark, word in WORDS.items()]
    return (
        f'<p class="sum"><strong>{report.points} of {report.possible} points</strong>'
        f"<span>{', '.join(counts)}</span></p>"
        f'<meter min="0" max="{report.possible}" value="{report.points}" '
        f'aria-label="points">{report.points} of {report.possible}</meter>'
    )


def _exercises(graded: Graded) -> str:
    return f"<ol>{''.join(map(_exercise, graded.report.results.values()))}</ol>"


def _exercise(result: Result) -> str:
    message = result.message.removeprefix("not started. ")
    feedback = "" if result.passed else f"<p>{inline(message[:1].upper() + message[1:])}</p>"
    return (
        f'<li class="{KINDS[result.mark]}"><div class="head"><h3>{inline(result.title)}</h3>'
        f'<span class="points">{result.earned} of {result.points}</span></div>'
        f'<span class="state">{result.mark} {WORDS[result.mark]}</span>{feedback}</li>'
    )


def _cells(graded: Graded) -> str:
    """List the cells that raised; a teacher's checks ran all the same."""
    if not graded.failed:
        return ""
    items = "".join(f'<li class="failed">{html.escape(line)}</li>' for line in graded.failed)
    return f"<h2>Cells that stopped with an error</h2><ol>{items}</ol>"
