"""Dialogues to look at: what was said as a conversation, what a network read as a table of hops.

Axes: S sentences in memory, K hops, C candidates.
"""

import html
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from jaxtyping import Float
from numpy import ndarray

from reasonlib.display import plotting
from reasonlib.goal_dialogue.data.example import (
    SILENCE,
    TASK_NAMES,
    Dialogue,
    Event,
    Example,
    Fact,
    Note,
    Turn,
)
from reasonlib.tracking import claims

__all__ = [
    "choose",
    "conversation",
    "cut",
    "gaps",
    "hops",
    "memory_of",
    "objections",
    "parts",
    "ranking",
    "tagged",
]

if TYPE_CHECKING:
    from reasonlib.goal_dialogue.models.copier import Copier

CSS = """
.rr-talk{max-width:36rem;margin:1rem 0;display:flex;flex-direction:column;gap:.35rem;font-size:.95em}
.rr-talk p{margin:0;padding:.35rem .7rem;border-radius:.8rem;max-width:82%;overflow-wrap:anywhere;
border:1px solid color-mix(in srgb,currentColor 30%,transparent);color:inherit}
.rr-talk .rr-user{align-self:flex-end;background:rgba(35,137,215,.18);border-bottom-right-radius:.15rem}
.rr-talk .rr-bot{align-self:flex-start;border-bottom-left-radius:.15rem}
.rr-talk .rr-call{font-family:monospace;font-size:.92em}
.rr-talk .rr-asked{border:2px dashed;font-weight:600}
.rr-talk .rr-wrong{border-color:#d5531e;border-width:2px}
.rr-talk .rr-note{font-size:.85em;display:block}
.rr-talk .rr-part{align-self:stretch;border:0;border-top:1px solid;border-radius:0;max-width:100%;
padding:.3rem 0 0;margin-top:.4rem;font-weight:600;font-size:.9em}
.rr-talk .rr-remark{font-size:.85em;display:block;color:inherit;border-left:3px solid #d5531e;
padding-left:.4rem}
.rr-talk details{align-self:stretch;font-size:.88em;border-left:3px solid;padding:.1rem .7rem;color:inherit}
.rr-talk summary{cursor:pointer}
.rr-talk table{border-collapse:collapse;margin:.3rem 0;color:inherit;background:none;display:block;
overflow-x:auto}
.rr-talk :is(td,th){padding:.1rem .5rem;border:0;color:inherit;background:none;text-align:left;
font-weight:400}
.rr-talk thead th{font-weight:600}
.rr-talk .rr-quiet{align-self:center;border:0;font-size:.85em;padding:0;font-style:italic}
.rr-talk details .rr-hops{margin:.3rem 0}
.rr-cut{max-width:36rem;margin:1rem 0;display:grid;gap:.5rem;font-size:.92em;
grid-template-columns:repeat(auto-fit,minmax(min(15rem,100%),1fr))}
.rr-cut>div{border:1px solid color-mix(in srgb,currentColor 35%,transparent);border-radius:.6rem;
padding:.4rem .7rem}
.rr-cut .rr-cut-memory{grid-column:1/-1}
.rr-cut strong{display:block}
.rr-cut :is(ol,ul){margin:.2rem 0 0;padding-left:1.3rem}
.rr-cut li{margin:0;overflow-wrap:anywhere}
.rr-cut .rr-gold{font-weight:600}
.rr-objections li{margin:0 0 .6rem;font-variant-numeric:tabular-nums}
.rr-objections span{font-size:.92em}
.rr-choose fieldset{border:0;margin:0;padding:0}
.rr-choose legend{font-size:1em;padding:0;margin:0 0 .3rem}
.rr-choose input{position:absolute;opacity:0;width:1px;height:1px;margin:0}
.rr-choose label{display:inline-block;cursor:pointer;
border:1px solid color-mix(in srgb,currentColor 35%,transparent);
border-radius:.3rem;padding:.15rem .6rem;margin:0 .3rem .3rem 0;color:inherit}
.rr-choose input:checked+label{border-color:currentColor;box-shadow:inset 0 0 0 1px currentColor;
font-weight:600}
.rr-choose input:focus-visible+label{outline:3px solid #0072b2;outline-offset:2px}
.rr-choose .rr-panel{display:none}
.rr-gaps{overflow-x:auto}
:is(.rr-gaps,.rr-tagged) table{border-collapse:collapse;margin:.3rem 0;color:inherit;background:none;
font-size:.95em}
:is(.rr-gaps,.rr-tagged) :is(td,th){border:0;
border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);
padding:.2rem .6rem .2rem 0;text-align:left;color:inherit;background:none;font-weight:400;vertical-align:top}
:is(.rr-gaps,.rr-tagged) thead th{font-weight:600}
.rr-tagged{overflow-x:auto;max-width:44rem;margin:1rem 0}
.rr-tagged .rr-no{font-weight:600;text-decoration:underline wavy #d5531e}
.rr-ranks{max-width:36rem;margin:1rem 0;font-size:.92em}
.rr-ranks li{margin:.2rem 0;overflow-wrap:anywhere}
.rr-ranks .rr-bar{display:block;height:.45rem;background:#2389d7;border-radius:.2rem;min-width:1px}
.rr-ranks .rr-gold{font-weight:600}
"""


def _called(text: str) -> str:
    return " rr-call" if text.startswith("api_call") else ""


def _facts(facts: Sequence[Fact]) -> str:
    names = list(dict.fromkeys(fact.subject for fact in facts))
    relations = list(dict.fromkeys(fact.relation for fact in facts))
    values: dict[tuple[str, str], str] = {(fact.subject, fact.relation): fact.value for fact in facts}
    heads = "".join(f'<th scope="col">{html.escape(each.removeprefix("R_"))}</th>' for each in relations)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        + "".join(f"<td>{html.escape(values.get((name, relation), ''))}</td>" for relation in relations)
        + "</tr>"
        for name in names
    )
    count = f"{len(names)} restaurant{'s' * (len(names) != 1)}, {len(facts)} fact{'s' * (len(facts) != 1)}"
    return (
        f"<details><summary>the knowledge base returns {count}</summary>"
        f'<table><thead><tr><th scope="col">restaurant</th>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        "</details>"
    )


def _runs(events: Sequence[Event]) -> list[Turn | Note | list[Fact]]:
    runs: list[Turn | Note | list[Fact]] = []
    for event in events:
        if not isinstance(event, Fact):
            runs.append(event)
        elif runs and isinstance(runs[-1], list):
            runs[-1].append(event)
        else:
            runs.append([event])
    return runs


def conversation(
    dialogue: Dialogue,
    *,
    ask: int | None = None,
    given: Mapping[int, str] | None = None,
    headings: Mapping[int, str] | None = None,
    looks: Mapping[int, plotting.Picture] | None = None,
    remarks: Mapping[int, str] | None = None,
    opened: int | None = None,
    caption: str | None = None,
) -> plotting.Picture:
    """Show a dialogue as people see one: what the user says on the right, the system on the left.

    Parameters
    ----------
    dialogue
        To show. What the knowledge base returned is folded away.
    ask
        Number of a turn whose response is left open: the conversation stops there.
    given
        From numbers of turns to what a system said in them; where it differs from the dialogue, both stand.
    headings
        From numbers of turns to what stands above them.
    looks
        From numbers of turns to what the system looked at before it spoke, folded away below its response.
    remarks
        From numbers of turns to what is to be said about the response.
    opened
        Number of a turn whose look is unfolded.
    caption
        Printed under the conversation.

    Raises
    ------
    ValueError
        If there is no turn `ask`.
    """
    if ask is not None and not 0 <= ask < len(dialogue.turns):
        raise ValueError(f"ask must be a turn of the dialogue, 0 to {len(dialogue.turns) - 1}, got {ask}")
    lines, said, turn = [], [], 0
    for event in _runs(dialogue.events):
        if isinstance(event, list):
            lines.append(_facts(event))
            said.append(f"The knowledge base returns {len(event)} fact{'s' * (len(event) != 1)}.")
        elif isinstance(event, Note):
            lines.append(f'<p class="rr-quiet">{html.escape(event.text)}</p>')
            said.append(event.text)
        else:
            if heading := (headings or {}).get(turn):
                lines.append(f'<p class="rr-part">{html.escape(heading)}</p>')
                said.append(f"{heading}.")
            if event.user == SILENCE:
                lines.append('<p class="rr-quiet">(the user waits)</p>')
            else:
                lines.append(f'<p class="rr-user">{html.escape(event.user)}</p>')
                said.append(f"User: {event.user}.")
            if turn == ask:
                lines.append('<p class="rr-bot rr-asked">What does the system say?</p>')
                said.append("System: your turn.")
                break
            answer = (given or {}).get(turn, event.bot)
            wrong = answer != event.bot
            note = f'<span class="rr-note">expected: {html.escape(event.bot)}</span>' if wrong else ""
            if remark := (remarks or {}).get(turn):
                note += f'<span class="rr-remark">{html.escape(remark)}</span>'
            kind = "rr-bot" + _called(answer) + (" rr-wrong" if wrong else "")
            lines.append(f'<p class="{kind}">{html.escape(answer)}{note}</p>')
            said.append(
                f"System: {answer}"
                + (f", expected: {event.bot}" if wrong else "")
                + (f" ({remark})." if remark else ".")
            )
            if look := (looks or {}).get(turn):
                state = " open" if turn == opened else ""
                lines.append(f"<details{state}><summary>what it used</summary>{look.html}</details>")
            turn += 1
    alt = " ".join(said)
    under = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    body = (
        f'<style>{CSS}</style><figure class="rr rr-figure" aria-label="{html.escape(alt)}">'
        f'<div class="rr-talk">{"".join(lines)}</div>{under}</figure>'
    )
    return plotting.Picture(body, alt=alt)


def parts(dialogue: Dialogue) -> dict[int, str]:
    """Find where each of the tasks 1 to 4 begins in a full dialogue: turn to heading, for `conversation`."""
    headings: dict[int, str] = {0: f"Task 1: {TASK_NAMES[1]}"}
    marks = ((2, "sure is there anything else"), (3, "what do you think of this option"), (4, "here it is"))
    for task, mark in marks:
        first = next((index for index, turn in enumerate(dialogue.turns) if turn.bot.startswith(mark)), None)
        if first is not None:
            headings[first] = f"Task {task}: {TASK_NAMES[task]}"
    return headings


def choose(pictures: Mapping[str, plotting.Picture], *, legend: str) -> plotting.Picture:
    """Put pictures behind one another, with a button for each; it needs no script.

    Parameters
    ----------
    pictures
        From the words on the button to what it shows; the first is shown at the beginning.
    legend
        Says what is chosen.

    Raises
    ------
    ValueError
        If there is none.
    """
    if not pictures:
        raise ValueError("pictures must hold at least one, got none")
    alt = f"{legend} " + " ".join(f"{name}: {picture.alt}" for name, picture in pictures.items())
    own = "c" + sha256(alt.encode()).hexdigest()[:10]
    buttons, panels, rules = [], [], []
    for number, (name, picture) in enumerate(pictures.items()):
        state = "" if number else " checked"
        buttons.append(
            f'<input type="radio" name="{own}" id="{own}-{number}"{state}>'
            f'<label for="{own}-{number}">{html.escape(name)}</label>'
        )
        panels.append(f'<div class="rr-panel {own}-{number}">{picture.html}</div>')
        rules.append(f".rr-choose:has(#{own}-{number}:checked) .{own}-{number}{{display:block}}")
    return plotting.Picture(
        f"<style>{CSS}{''.join(rules)}</style>"
        f'<div class="rr rr-choose"><fieldset><legend>{html.escape(legend)}</legend>'
        f"{''.join(buttons)}</fieldset>"
        f"{''.join(panels)}</div>",
        alt=alt,
    )


def cut(example: Example, candidates: Sequence[str], *, shown: int = 4) -> plotting.Picture:
    """Show a turn as a system sees it: a memory, a question, and candidates of which one is right.

    Parameters
    ----------
    example
        The turn.
    candidates
        Everything the system may say.
    shown
        How many candidates are printed, the right one among them.
    """
    step = max(1, len(candidates) // max(1, shown - 1))
    others = [text for text in candidates[::step] if text != example.response][: shown - 1]
    listed = sorted([*others, example.response])
    memory = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in memory_of(example))
    answers = "".join(
        f'<li class="rr-gold">{html.escape(text)} ✓</li>'
        if text == example.response
        else f"<li>{html.escape(text)}</li>"
        for text in listed
    )
    question = "(the user waits)" if example.user == SILENCE else example.user
    left = len(candidates) - len(listed)
    alt = (
        f"Memory: {'; '.join(memory_of(example))}. Question: {question}. "
        f"Candidates: {'; '.join(listed)} and {left} more; right is: {example.response}."
    )
    body = (
        f'<style>{CSS}</style><figure class="rr rr-figure" aria-label="{html.escape(alt)}">'
        '<div class="rr-cut">'
        f'<div class="rr-cut-memory"><strong>Memory: what was said</strong><ol>{memory}</ol></div>'
        f"<div><strong>Question: what the user says now</strong>{html.escape(question)}</div>"
        f"<div><strong>Candidates: what the system may say</strong><ul>{answers}</ul>and {left:,d} more</div>"
        "</div></figure>"
    )
    return plotting.Picture(body, alt=alt)


def gaps(copier: "Copier", example: Example, *, names: int = 3) -> plotting.Picture:
    """Show what the copying network would say to a turn: its template, and for each gap the names it weighed.

    Parameters
    ----------
    copier
        Trained.
    example
        The turn.
    names
        How many names are listed for a gap, the likeliest first. Beside the first stands the mention that
        spoke most for it.
    """
    from reasonlib.goal_dialogue.experiments.analysis import evidence

    response = copier.ask(example)
    rows, said = [], []
    for gap, names_of_gap in enumerate(response.names):
        reasons = [
            mention for mention in evidence(copier, example, gap) if mention.name == names_of_gap[0][0]
        ]
        most = max(reasons, key=lambda mention: mention.score, default=None)
        listed = ", ".join(f"{name} ({share:.2f})" for name, share in names_of_gap[:names])
        window = most.window if most else ""
        rows.append(
            f'<tr><th scope="row">{gap + 1}</th><td>{html.escape(listed)}</td>'
            f"<td>{html.escape(window)}</td></tr>"
        )
        said.append(f"gap {gap + 1}: {listed}")
    table = (
        '<table><thead><tr><th scope="col">gap</th><th scope="col">names, probability</th>'
        '<th scope="col">mention that contributed most to the first</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
        if rows
        else ""
    )
    alt = f"Template: {response.template}. " + "; ".join(said)
    return plotting.Picture(
        f'<div class="rr rr-gaps" tabindex="0"><p>Template: <code>{html.escape(response.template)}</code></p>'
        f"{table}</div>",
        alt=alt,
    )


def tagged(
    sentences: Sequence[Sequence[str]],
    tags: Mapping[str, Sequence[Sequence[str]]],
    *,
    right: Sequence[Sequence[str]] | None = None,
    caption: str | None = None,
) -> plotting.Picture:
    """Show words with the type that each of some taggers gave them; wrong types are underlined.

    Parameters
    ----------
    sentences
        Words of each.
    tags
        From a tagger's name to the type of each word of each sentence.
    right
        The types they have, where these are known.
    """
    rows, said = [], []
    for number, words in enumerate(sentences):
        for index, word in enumerate(words):
            given = {name: types[number][index] for name, types in tags.items()}
            true = right[number][index] if right is not None else None
            cells = "".join(
                f'<td class="rr-no">{html.escape(kind)} ✗</td>'
                if true is not None and kind != true
                else f"<td>{html.escape(kind)}</td>"
                for kind in given.values()
            )
            last = f"<td>{html.escape(true)}</td>" if true is not None else ""
            rows.append(f'<tr><th scope="row">{html.escape(word)}</th>{cells}{last}</tr>')
            kinds = ", ".join(f"{name}: {kind}" for name, kind in given.items())
            said.append(f"{word} ({kinds}{f', is {true}' if true is not None else ''})")
        if number + 1 < len(sentences):
            rows.append(
                f'<tr aria-hidden="true"><td colspan="{1 + len(tags) + (right is not None)}">&nbsp;</td></tr>'
            )
    heads = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in tags)
    heads += '<th scope="col">is</th>' if right is not None else ""
    alt = "Words and their types: " + "; ".join(said)
    under = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return plotting.Picture(
        f'<style>{CSS}</style><figure class="rr rr-figure rr-tagged" tabindex="0" '
        f'aria-label="{html.escape(alt)}"><table><thead><tr><th scope="col">word</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
        f"{under}</figure>",
        alt=alt,
    )


AGAINST = ("contradicted", "challenged", "exceeded")
"""Verdicts on cells that our runs do not agree with."""


def objections(table: str, experiment: str) -> plotting.Picture:
    """List the cells of a published table that our runs do not agree with, under the reason they share.

    Parameters
    ----------
    table
        As the claims name it, such as ``Table 3.1: all systems``.
    experiment
        Only cells that this experiment answers.
    """
    cells_by_reason: dict[str, dict[str, list[str]]] = {}
    for row in claims.table("goal_dialogue", table=table):
        if row["verdict"] in AGAINST and row["experiment"] == experiment and row["row"]:
            system, _, column = row["row"].rpartition(", ")
            side = f"{system}, ours {'higher' if row['ours']['mean'] > row['published'] else 'lower'}"
            cells_by_reason.setdefault(row["reason"] or "The reason is unknown.", {}).setdefault(
                side, []
            ).append(column)
    items, said = [], []
    for reason, sides in cells_by_reason.items():
        cells = [f"{side}: {'; '.join(columns)}" for side, columns in sides.items()]
        lines = "<br>".join(map(html.escape, cells))
        items.append(f"<li>{lines}<br><span>{html.escape(reason)}</span></li>")
        said.append(f"{'. '.join(cells)}. {reason}")
    alt = f"Cells of {table} that our runs do not agree with. {' '.join(said) or 'None.'}"
    listed = "".join(items) or "<li>none</li>"
    return plotting.Picture(
        f'<style>{CSS}</style><div class="rr rr-objections"><ul>{listed}</ul></div>', alt=alt
    )


def ranking(
    shares: Float[ndarray, "C"],
    candidates: Sequence[str],
    *,
    gold: str | None = None,
    most: int = 5,
    caption: str | None = None,
) -> plotting.Picture:
    """List the likeliest candidates, each with a bar as long as its share.

    Parameters
    ----------
    shares
        Probability of every candidate.
    candidates
        What they say.
    gold
        The right one; marked, and added to the list where it is not among the first.
    most
        How many to list.
    """
    order = [int(index) for index in shares.argsort()[::-1][:most]]
    if gold is not None and gold in candidates and candidates.index(gold) not in order:
        order.append(candidates.index(gold))
    lines, said = [], []
    for index in order:
        text, share = candidates[index], float(shares[index])
        mark, kind = (" ✓", ' class="rr-gold"') if text == gold else ("", "")
        lines.append(
            f"<li{kind}>{html.escape(text)} ({share:.3f}){mark}"
            f'<span class="rr-bar" style="width:{100 * share:.1f}%"></span></li>'
        )
        said.append(f"{text} ({share:.3f}){mark}")
    alt = "Candidates by probability: " + "; ".join(said)
    under = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    body = (
        f'<style>{CSS}</style><figure class="rr rr-figure" aria-label="{html.escape(alt)}">'
        f'<ol class="rr-ranks">{"".join(lines)}</ol>{under}</figure>'
    )
    return plotting.Picture(body, alt=alt)


def memory_of(example: Example, slots: int = 50) -> tuple[str, ...]:
    """List the sentences a network has in memory at a turn, oldest first, as `encoding` stores them.

    >>> from reasonlib.goal_dialogue.data.example import Turn
    >>> memory_of(Example(task=1, history=(Turn("hi", "hello"),), user="a table", response="",
    ...                   dialogue=0, turn=1))
    ('user: hi', 'system: hello')
    """
    sentences: list[str] = []
    for event in example.history:
        if isinstance(event, Turn):
            sentences += [f"user: {event.user}", f"system: {event.bot}"]
        elif isinstance(event, Fact):
            sentences.append(f"fact: {event.subject} {event.relation} {event.value}")
        else:
            sentences.append(f"system: {event.text}")
    return tuple(sentences[-slots:]) if slots else ()


def hops(
    example: Example,
    weights: Float[ndarray, "K S"],
    *,
    answer: str | None = None,
    least: float = 0.02,
    caption: str | None = None,
) -> plotting.Picture:
    """Show what a network read of a dialogue before it answered, a hop a column.

    Sentences that no hop gave `least` of its attention are left out, and the caption gives their number.

    Parameters
    ----------
    example
        The turn.
    weights
        Attention of each hop over the sentences in memory; the last sentence is the last column that counts.
    answer
        What the network said.
    """
    sentences = memory_of(example, weights.shape[1])
    attention = weights[:, : len(sentences)]
    shown = [index for index in range(len(sentences)) if attention[:, index].max() >= least]
    left = len(sentences) - len(shown)
    note = (f"{left} sentences with less than {least:.0%} of every hop are left out. " if left else "") + (
        caption or ""
    )
    return plotting.memory_hops(
        [sentences[index] for index in shown],
        attention[:, shown],
        question=example.user,
        answer=answer,
        expected=example.response or None,  # a conversation has no expected response
        caption=note or None,
    )
