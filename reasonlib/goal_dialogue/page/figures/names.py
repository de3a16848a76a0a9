"""Names in a dialogue: which ones fill the gaps of a response, and the types that taggers gave to words."""

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reasonlib.display import plotting
from reasonlib.goal_dialogue.data.example import Example

if TYPE_CHECKING:
    from reasonlib.goal_dialogue.models.copier import Copier

__all__ = ["gaps", "tagged"]

CSS = """
.rr-gaps{overflow-x:auto}
:is(.rr-gaps,.rr-tagged) table{border-collapse:collapse;margin:.3rem 0;color:inherit;background:none;
font-size:.95em}
:is(.rr-gaps,.rr-tagged) :is(td,th){border:0;
border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);
padding:.2rem .6rem .2rem 0;text-align:left;color:inherit;background:none;font-weight:400;vertical-align:top}
:is(.rr-gaps,.rr-tagged) thead th{font-weight:600}
.rr-tagged{overflow-x:auto;max-width:44rem;margin:1rem 0}
.rr-tagged .rr-no{font-weight:600;text-decoration:underline wavy #d5531e}
"""


def gaps(copier: "Copier", example: Example, *, names: int = 3) -> plotting.Picture:
    """Show what the copying network would say to a turn: its template, and for each gap the names it weighed.

    Parameters
    ----------
    copier
        A trained copier.
    example
        The turn.
    names
        How many names are listed for a gap, the likeliest first. Beside the first stands the mention that
        spoke most for it.
    """
    from reasonlib.goal_dialogue.experiments.analysis import evidence

    response = copier.ask(example)
    rows, alt_parts = [], []
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
        alt_parts.append(f"gap {gap + 1}: {listed}")
    table = (
        '<table><thead><tr><th scope="col">gap</th><th scope="col">names, probability</th>'
        '<th scope="col">mention that contributed most to the first</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
        if rows
        else ""
    )
    alt = f"Template: {response.template}. " + "; ".join(alt_parts)
    return plotting.Picture(
        f'<style>{CSS}</style><div class="rr rr-gaps" tabindex="0">'
        f"<p>Template: <code>{html.escape(response.template)}</code></p>{table}</div>",
        alt=alt,
    )


def tagged(
    sentences: Sequence[Sequence[str]],
    tags: Mapping[str, Sequence[Sequence[str]]],
    *,
    right: Sequence[Sequence[str]] | None = None,
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
    rows, alt_parts = [], []
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
            alt_parts.append(f"{word} ({kinds}{f', is {true}' if true is not None else ''})")
        if number + 1 < len(sentences):
            rows.append(
                f'<tr aria-hidden="true"><td colspan="{1 + len(tags) + (right is not None)}">&nbsp;</td></tr>'
            )
    heads = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in tags)
    heads += '<th scope="col">is</th>' if right is not None else ""
    alt = "Words and their types: " + "; ".join(alt_parts)
    return plotting.Picture(
        f'<style>{CSS}</style><figure class="rr rr-figure rr-tagged" tabindex="0" '
        f'aria-label="{html.escape(alt)}"><table><thead><tr><th scope="col">word</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></figure>",
        alt=alt,
    )
