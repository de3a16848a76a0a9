"""Galleries of problems: the errors of a model, and one question with several sets of candidates.

Axes: N problems, C 8 candidates, S slots, A attributes.
"""

import html
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from reasonlib.display.plotting import Picture
from reasonlib.visual_iq.data.datasets import ANSWER_SETS
from reasonlib.visual_iq.data.example import CONFIGURATIONS, CONTEXT, Problems, configuration_index
from reasonlib.visual_iq.page.figures import _choices, _marks, _matrix, _problem_at, _score, picture
from reasonlib.visual_iq.page.svg import rules_in_words

__all__ = ["answer_sets", "changes", "errors"]

# Galleries --------------------------------------------------------------------------------------------------


def errors(
    problems: Problems,
    chosen: Sequence[int] | Int[ndarray, "N"],
    *,
    scores: Float[ndarray, "N C"] | None = None,
    most: int = 6,
) -> Picture:
    """Draw problems that a model got wrong: what it chose, what is right, and the rules.

    Parameters
    ----------
    problems
        Any number; those whose choice is right are left out.
    chosen
        For each, what the model chose.
    scores
        For each, its eight scores, printed under the candidates.
    most
        How many to draw.

    Raises
    ------
    ValueError
        If there is not one choice for each problem.
    """
    choices = np.asarray(chosen)
    if len(choices) != len(problems):
        raise ValueError(
            f"chosen must be one choice for each of {len(problems)} problems, got {len(choices)}"
        )
    wrong = np.flatnonzero(choices != problems.target)
    if not len(wrong):
        return picture("<p>No errors among these problems.</p>", alt="No errors among these problems.")
    parts = []
    for number in wrong[:most]:
        configuration, panels, target = _problem_at(problems, int(number))
        tags, kinds = _marks(target, int(choices[number]), True)
        if scores is not None:
            tags = [f"{tag} · {_score(score)}" for tag, score in zip(tags, scores[number], strict=True)]
        rules = " ".join(f"{line}." for line in rules_in_words(problems, int(number)))
        parts.append(
            '<div class="rr-iq-ruled">'
            f'<p class="rr-iq-title">{CONFIGURATIONS[configuration].title}: {int(choices[number]) + 1} was '
            f"chosen, {target + 1} is right</p>"
            '<div class="rr-iq-board" style="gap:1rem 2rem">'
            + _matrix(configuration, panels, boxes=False).replace(
                'class="rr-iq-matrix"', 'class="rr-iq-matrix" style="max-width:17rem"'
            )
            + _choices(configuration, panels[CONTEXT:], tags, kinds)
            + f'</div><p style="font-size:.88em;padding-top:.6rem">{html.escape(rules)}</p></div>'
        )
    error_counts = np.bincount(problems.configuration[wrong].astype(int), minlength=len(CONFIGURATIONS))
    names = ", ".join(
        f"{layout.title} {number}"
        for layout, number in zip(CONFIGURATIONS, error_counts, strict=True)
        if number
    )
    alt = f"{len(wrong)} of {len(problems)} answers are wrong ({names}); {min(most, len(wrong))} are drawn."
    return picture("".join(parts), alt=alt, caption=alt)


def changes(
    configuration: int | str, answer: Int[ndarray, "S A"], candidate: Int[ndarray, "S A"]
) -> tuple[str, ...]:
    """Name the attributes in which a candidate differs from the right answer, angle left out.

    >>> answer = np.array([[1, 0, 3, 0]])
    >>> changes("Center", answer, np.array([[1, 2, 5, 7]]))
    ('size', 'colour')
    """
    layout = CONFIGURATIONS[configuration_index(configuration)]
    names: list[str] = []
    for component, part in zip(layout.components, layout.component_slices, strict=True):
        ours, theirs = np.asarray(answer)[part], np.asarray(candidate)[part]
        changed = []
        filled, others = ours[:, 0] > 0, theirs[:, 0] > 0
        if filled.sum() != others.sum():
            changed.append("number")
        elif (filled != others).any():
            changed.append("position")
        for attribute, name in enumerate(("type", "size", "colour")):
            if sorted(set(ours[filled, attribute])) != sorted(set(theirs[others, attribute])) or (
                (filled == others).all() and (ours[filled, attribute] != theirs[others, attribute]).any()
            ):
                changed.append(name)
        prefix = f"{component.name.lower()} " if len(layout.components) > 1 else ""
        names.extend(prefix + name for name in changed)
    return tuple(names)


def answer_sets(sets: Mapping[str, Problems], index: int = 0, *, matrix: bool = True) -> Picture:
    """Draw one question with several sets of candidates, and what each candidate changes of the answer.

    Parameters
    ----------
    sets
        From name (a key of `ANSWER_SETS` or any other word) to problems that share their questions.
    index
        Which question.
    matrix
        Draw the question above the sets.

    Raises
    ------
    ValueError
        If the questions differ.
    """
    names = list(sets)
    configuration, panels, _ = _problem_at(sets[names[0]], index)
    blocks, descriptions = [], []
    for name in names:
        own_configuration, own, target = _problem_at(sets[name], index)
        if own_configuration != configuration or (own[:CONTEXT] != panels[:CONTEXT]).any():
            raise ValueError(f"sets must hold the same questions, got another one in {name!r}")
        right = own[CONTEXT + target]
        tags, kinds, counts = [], [], []
        for number, candidate in enumerate(own[CONTEXT:]):
            changed = changes(configuration, right, candidate)
            kinds.append("right" if number == target else "")
            tags.append(f"{number + 1} ✓" if number == target else f"{number + 1}<br>{'<br>'.join(changed)}")
            counts.append(len(changed))
        wrong = [count for number, count in enumerate(counts) if number != target]
        words = f"attributes changed, on average {np.mean(wrong):.1f}"
        descriptions.append(f"{ANSWER_SETS.get(name, name)}: {words}")
        shown = _choices(configuration, own[CONTEXT:], tags, kinds, style=' style="max-width:none"')
        blocks.append(
            f'<div><p class="rr-iq-title">{html.escape(ANSWER_SETS.get(name, name))} '
            f'<span style="font-weight:400;display:block">{words}</span></p>{shown}</div>'
        )
    above = (
        '<div style="max-width:17rem;margin-bottom:1.3rem">'
        + _matrix(configuration, panels, boxes=False)
        + "</div>"
        if matrix
        else ""
    )
    inner = (
        f'{above}<div style="display:grid;gap:1.4rem 2rem;align-items:start;'
        f'grid-template-columns:repeat(auto-fit,minmax(15rem,1fr))">{"".join(blocks)}</div>'
    )
    title = CONFIGURATIONS[configuration].title
    alt = f"One question of {title} with {len(names)} sets of candidates. {'. '.join(descriptions)}."
    return picture(inner, alt=alt, wide=True)
