"""One turn as a network sees it: its memory, what each hop read of it, and the candidates.

Axes: S sentences in memory, K hops, C candidates.
"""

import html
from collections.abc import Sequence

from jaxtyping import Float
from numpy import ndarray

from reasonlib.display import plotting
from reasonlib.goal_dialogue.data.example import SILENCE, Example, Fact, Turn

__all__ = ["cut", "hops", "memory_of", "ranking"]

CSS = """
.rr-cut{max-width:36rem;margin:1rem 0;display:grid;gap:.5rem;font-size:.92em;
grid-template-columns:repeat(auto-fit,minmax(min(15rem,100%),1fr))}
.rr-cut>div{border:1px solid color-mix(in srgb,currentColor 35%,transparent);border-radius:.6rem;
padding:.4rem .7rem}
.rr-cut .rr-cut-memory{grid-column:1/-1}
.rr-cut strong{display:block}
.rr-cut :is(ol,ul){margin:.2rem 0 0;padding-left:1.3rem}
.rr-cut li{margin:0;overflow-wrap:anywhere}
.rr-cut .rr-gold{font-weight:600}
.rr-ranks{max-width:36rem;margin:1rem 0;font-size:.92em}
.rr-ranks li{margin:.2rem 0;overflow-wrap:anywhere}
.rr-ranks .rr-bar{display:block;height:.45rem;background:#2389d7;border-radius:.2rem;min-width:1px}
.rr-ranks .rr-gold{font-weight:600}
"""


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
    omitted = f"Sentences left out, with less than {100 * least:.0f} % at every hop: {left}. "
    note = (omitted if left else "") + (caption or "")
    return plotting.memory_hops(
        [sentences[index] for index in shown],
        attention[:, shown],
        question=example.user,
        answer=answer,
        expected=example.response or None,  # a conversation has no expected response
        caption=note or None,
    )


def ranking(
    shares: Float[ndarray, "C"], candidates: Sequence[str], *, gold: str | None = None, most: int = 5
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
    lines, alt_parts = [], []
    for index in order:
        text, share = candidates[index], float(shares[index])
        mark, kind = (" ✓", ' class="rr-gold"') if text == gold else ("", "")
        lines.append(
            f"<li{kind}>{html.escape(text)} ({share:.3f}){mark}"
            f'<span class="rr-bar" style="width:{100 * share:.1f}%"></span></li>'
        )
        alt_parts.append(f"{text} ({share:.3f}){mark}")
    alt = "Candidates by probability: " + "; ".join(alt_parts)
    body = (
        f'<style>{CSS}</style><figure class="rr rr-figure" aria-label="{html.escape(alt)}">'
        f'<ol class="rr-ranks">{"".join(lines)}</ol></figure>'
    )
    return plotting.Picture(body, alt=alt)
