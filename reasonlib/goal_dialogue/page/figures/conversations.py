"""Dialogues as conversations: what the user and the system said."""

import html
from collections.abc import Mapping, Sequence
from hashlib import sha256

from reasonlib.display import plotting
from reasonlib.goal_dialogue.data.example import SILENCE, TASK_NAMES, Dialogue, Event, Fact, Note, Turn

__all__ = ["choose", "conversation", "parts"]

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
"""


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
    lines, alt_parts, turn = [], [], 0
    for event in _runs(dialogue.events):
        if isinstance(event, list):
            lines.append(_facts(event))
            alt_parts.append(f"The knowledge base returns {len(event)} fact{'s' * (len(event) != 1)}.")
        elif isinstance(event, Note):
            lines.append(f'<p class="rr-quiet">{html.escape(event.text)}</p>')
            alt_parts.append(event.text)
        else:
            if heading := (headings or {}).get(turn):
                lines.append(f'<p class="rr-part">{html.escape(heading)}</p>')
                alt_parts.append(f"{heading}.")
            if event.user == SILENCE:
                lines.append('<p class="rr-quiet">(the user waits)</p>')
            else:
                lines.append(f'<p class="rr-user">{html.escape(event.user)}</p>')
                alt_parts.append(f"User: {event.user}.")
            if turn == ask:
                lines.append('<p class="rr-bot rr-asked">What does the system say?</p>')
                alt_parts.append("System: your turn.")
                break
            answer = (given or {}).get(turn, event.bot)
            line, words = _response(answer, event.bot, (remarks or {}).get(turn))
            lines.append(line)
            alt_parts.append(words)
            if look := (looks or {}).get(turn):
                state = " open" if turn == opened else ""
                lines.append(f"<details{state}><summary>what it used</summary>{look.html}</details>")
            turn += 1
    alt = " ".join(alt_parts)
    under = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    body = (
        f'<style>{CSS}</style><figure class="rr rr-figure" aria-label="{html.escape(alt)}">'
        f'<div class="rr-talk">{"".join(lines)}</div>{under}</figure>'
    )
    return plotting.Picture(body, alt=alt)


def _response(answer: str, expected: str, remark: str | None) -> tuple[str, str]:
    """Return what a system said, as HTML and in words; beside it what was expected, where it differs."""
    wrong = answer != expected
    note = f'<span class="rr-note">expected: {html.escape(expected)}</span>' if wrong else ""
    if remark:
        note += f'<span class="rr-remark">{html.escape(remark)}</span>'
    kind = "rr-bot" + _called(answer) + (" rr-wrong" if wrong else "")
    words = (
        f"System: {answer}"
        + (f", expected: {expected}" if wrong else "")
        + (f" ({remark})." if remark else ".")
    )
    return f'<p class="{kind}">{html.escape(answer)}{note}</p>', words


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
