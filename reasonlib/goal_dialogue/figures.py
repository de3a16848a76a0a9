"""Dialogues to look at: what was said as a conversation, what a network read as a table of hops.

Axes: S sentences in memory, K hops, C candidates.
"""

import html
from collections.abc import Mapping, Sequence

from jaxtyping import Float
from numpy import ndarray

from reasonlib import plotting
from reasonlib.goal_dialogue.dialogue import SILENCE, Dialogue, Event, Example, Fact, Note, Turn

__all__ = ["conversation", "hops", "memory_of", "ranking"]

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
.rr-talk details{align-self:stretch;font-size:.88em;border-left:3px solid;padding:.1rem .7rem;color:inherit}
.rr-talk summary{cursor:pointer}
.rr-talk table{border-collapse:collapse;margin:.3rem 0;color:inherit;background:none;display:block;
overflow-x:auto}
.rr-talk :is(td,th){padding:.1rem .5rem;border:0;color:inherit;background:none;text-align:left;
font-weight:400}
.rr-talk thead th{font-weight:600}
.rr-talk .rr-quiet{align-self:center;border:0;font-size:.85em;padding:0;font-style:italic}
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
    values: dict[tuple[str, str], str] = {(one.subject, one.relation): one.value for one in facts}
    heads = "".join(f'<th scope="col">{html.escape(each.removeprefix("R_"))}</th>' for each in relations)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        + "".join(f"<td>{html.escape(values.get((name, relation), ''))}</td>" for relation in relations)
        + "</tr>"
        for name in names
    )
    count = f"{len(names)} restaurant{'s' * (len(names) != 1)}, {len(facts)} facts"
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
            said.append(f"The knowledge base returns {len(event)} facts.")
        elif isinstance(event, Note):
            lines.append(f'<p class="rr-quiet">{html.escape(event.text)}</p>')
            said.append(event.text)
        else:
            if event.user == SILENCE:
                lines.append('<p class="rr-quiet">(the user waits)</p>')
            else:
                lines.append(f'<p class="rr-user">{html.escape(event.user)}</p>')
                said.append(f"User: {event.user}.")
            if turn == ask:
                lines.append('<p class="rr-bot rr-asked">What does the system say?</p>')
                said.append("System: to be found.")
                break
            answer = (given or {}).get(turn, event.bot)
            wrong = answer != event.bot
            note = f'<span class="rr-note">expected: {html.escape(event.bot)}</span>' if wrong else ""
            kind = "rr-bot" + _called(answer) + (" rr-wrong" if wrong else "")
            lines.append(f'<p class="{kind}">{html.escape(answer)}{note}</p>')
            said.append(f"System: {answer}" + (f", expected: {event.bot}." if wrong else "."))
            turn += 1
    alt = " ".join(said)
    under = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    body = (
        f'<style>{CSS}</style><figure class="rr rr-figure" aria-label="{html.escape(alt)}">'
        f'<div class="rr-talk">{"".join(lines)}</div>{under}</figure>'
    )
    return plotting.Picture(body, alt=alt)


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
    order = [int(place) for place in shares.argsort()[::-1][:most]]
    if gold is not None and gold in candidates and candidates.index(gold) not in order:
        order.append(candidates.index(gold))
    lines, said = [], []
    for place in order:
        text, share = candidates[place], float(shares[place])
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
    """List the sentences a network has in memory at a turn, oldest first, as `tensors` stores them.

    >>> from reasonlib.goal_dialogue.dialogue import Turn
    >>> memory_of(Example(task=1, history=(Turn("hi", "hello"),), user="a table", response="",
    ...                   dialogue=0, turn=1))
    ('user: hi', 'system: hello')
    """
    held: list[str] = []
    for event in example.history:
        if isinstance(event, Turn):
            held += [f"user: {event.user}", f"system: {event.bot}"]
        elif isinstance(event, Fact):
            held.append(f"fact: {event.subject} {event.relation} {event.value}")
        else:
            held.append(f"system: {event.text}")
    return tuple(held[-slots:]) if slots else ()


def hops(
    example: Example,
    weights: Float[ndarray, "K S"],
    *,
    answer: str | None = None,
    least: float = 0.02,
    caption: str | None = None,
) -> plotting.Picture:
    """Show what a network read of a dialogue before it answered, a hop a column.

    Sentences that no hop gave `least` of its attention are left out, and their number is told.

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
    held = weights[:, : len(sentences)]
    kept = [place for place in range(len(sentences)) if held[:, place].max() >= least]
    left = len(sentences) - len(kept)
    note = (f"{left} sentences with less than {least:.0%} of every hop are left out. " if left else "") + (
        caption or ""
    )
    return plotting.memory_hops(
        [sentences[place] for place in kept],
        held[:, kept],
        question=example.user,
        answer=answer,
        expected=example.response,
        caption=note or None,
    )
