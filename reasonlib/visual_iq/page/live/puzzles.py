"""A puzzle to solve in the page, against a reasoner that answers in the reader's own browser.

Several hundred held-out problems are packed into a few bytes a panel.
"""

import base64
import html
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reasonlib.display import live
from reasonlib.display.plotting import Picture
from reasonlib.visual_iq.data import symbols
from reasonlib.visual_iq.data.datasets import ANSWER_SETS
from reasonlib.visual_iq.data.encoding import STREAMS, TOKEN_OFFSETS, TokenSet
from reasonlib.visual_iq.data.example import (
    ANGLES,
    COLOURS,
    CONFIGURATIONS,
    CONTEXT,
    LEVELS,
    POSITION_OF,
    SIZES,
    TYPES,
    Problems,
)
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.models.pretrained import BUNDLED, REASONERS, load_pretrained
from reasonlib.visual_iq.models.reasoner import Reasoner
from reasonlib.visual_iq.models.relational import Relational
from reasonlib.visual_iq.page.attention_figures import matrix_svg, shares
from reasonlib.visual_iq.page.svg import EDGE, describe, panel_svg, rules_in_words

__all__ = ["HELD_OUT", "SCRIPTS", "pack", "puzzles", "some_problems"]

FOLDER = Path(__file__).parent
SCRIPTS = tuple(FOLDER / f"{name}.js" for name in ("reasoner", "relational", "drawing", "puzzles"))
Model = Reasoner | Relational

HELD_OUT = 90_210  # seed of the problems in the page: no set for training or testing is drawn with it


@lru_cache(maxsize=4)
def some_problems(
    sets: tuple[str, ...] = ("raven", "i-raven"), *, each: int = 56, seed: int = HELD_OUT
) -> dict[str, Problems]:
    """Draw held-out problems of all seven layouts, the same questions with several sets of candidates.

    Parameters
    ----------
    sets
        Names of answer sets.
    each
        Problems of each layout.
    seed
        The same seed gives the same problems.
    """
    drawn = {
        name: Problems.concatenate(
            [simulate(layout.key, each, seed=seed, answers=name) for layout in CONFIGURATIONS]
        )
        for name in sets
    }
    order = np.arange(each * len(CONFIGURATIONS)).reshape(len(CONFIGURATIONS), each).T.ravel()
    order = np.roll(order, -1)  # the first puzzle a reader meets is one of a grid
    return {name: problems[order] for name, problems in drawn.items()}


def puzzles(
    models: Model | Mapping[str, Model] | str | None = None,
    *,
    problems: Mapping[str, Problems] | None = None,
    bits: int | None = None,
    start: int = 0,
) -> Picture:
    """Put puzzles and a trained reasoner into the page: the reader answers, and the reasoner beside them.

    Parameters
    ----------
    models
        A model, or several by name, to choose among; or the name of one that ships with this library, such as
        ``"reasoner"`` or ``"relational"``. By default all that ship.
    problems
        From the name of an answer set to its problems; all sets share their questions. The first problem of
        the first set is answered here. By default `some_problems`.
    bits
        Of a weight: 16, or 8, with which two models fit into one page. By default 16 for one model, else 8.

    start
        Which problem comes first; two chapters begin with different ones.

    Raises
    ------
    ValueError
        If there is no model or no problem, the sets differ in their questions, or the bits are not 8 or 16.
    UserError
        If the figure is too large for a page.
    """
    origins: dict[str, str] = {}
    if models is None or isinstance(models, str):
        models, origins = _shipped(models)
    named = {"The reasoner": models} if isinstance(models, Model) else dict(models)
    if not named:
        raise ValueError("models must hold at least one model, got none")
    problems = some_problems() if problems is None else problems
    if not problems or not len(next(iter(problems.values()))):
        raise ValueError("problems must hold at least one, got none")
    problems = {
        name: problem_set[np.roll(np.arange(len(problem_set)), -start)]
        for name, problem_set in problems.items()
    }
    if bits is None:
        bits = 16 if len(named) == 1 else 8
    if bits not in (8, 16):
        raise ValueError(f"bits must be 8 or 16, got {bits}")
    first = next(iter(problems.values()))[:1]
    static, words = _static(first, live.rounded(next(iter(named.values())), bits=bits))
    descriptions = {name: _about(model, origins.get(name, "")) for name, model in named.items()}
    return live.figure(
        "play",
        label="Solve puzzles against a reasoner",
        body=f"{_form(problems, named)}{static}"
        '<p class="rr-play-everything"><button type="button" class="rr-live-button rr-play-all" '
        'data-scripted hidden></button> <output class="rr-play-all-told" aria-live="polite"></output></p>',
        alt=words,
        scripts=SCRIPTS,
        styles=[FOLDER / "puzzles.css"],
        data={
            **pack(problems),
            "models": [
                {
                    "kind": type(model).__name__,
                    "name": name,
                    "about": descriptions[name],
                    "sizes": _sizes(model),
                }
                for name, model in named.items()
            ],
        },
        models={name: live.pack_weights(model.state_dict(), bits=bits) for name, model in named.items()},
        about=next(iter(descriptions.values())),
        offer="With scripts you can solve puzzles yourself, and see the model solve them beside you.",
    )


def _shipped(name: str | None) -> tuple[dict[str, Model], dict[str, str]]:
    """Load a model that ships with the library, or all of them, under the names that a reader sees.

    The second result says of each on which answer set it was trained.
    """
    chosen = [name] if name else [key for key in REASONERS if BUNDLED[key].is_file()] or list(REASONERS)
    models, origins = {}, {}
    for key in chosen:
        shipped = load_pretrained(key)
        title = "Row predictor" if isinstance(shipped.model, Relational) else "Source's reasoner"
        match = re.search(r"--data (\S+)", str(shipped.provenance.get("command", "")))
        if match:
            trained = ANSWER_SETS.get(match[1], match[1])
            title = f"{title} ({trained})"
            origins[title] = f", trained on {trained}"
        models[title] = shipped.model
    return models, origins


def _sizes(model: Model) -> dict[str, Any]:
    if isinstance(model, Relational):
        return {
            "width": model.config.width,
            "rows": model.config.rows,
            "alike": model.config.alike,
            "loss": "ce",
            "names": symbols.SYMBOL_ATTRIBUTES,
            "offsets": symbols.SYMBOL_OFFSETS,
            "counts": symbols.SYMBOL_COUNTS,
            "levels": LEVELS,
        }
    config = model.config
    return {
        "width": config.width,
        "entityLayers": config.entity_layers,
        "entityHeads": config.entity_heads,
        "panelLayers": config.panel_layers,
        "panelHeads": config.panel_heads,
        "contrast": config.contrast,
        "separators": config.separators,
        "context": config.context,
        "loss": config.loss,
        "offsets": TOKEN_OFFSETS,
    }


def _answer(model: Model, problem: Problems) -> tuple[Tensor, Tensor | None]:
    """Answer one problem: the eight scores, between 0 and 1, and the maps of attention if there are any."""
    with torch.no_grad():
        if isinstance(model, Relational):
            batch = symbols.SymbolSet.from_problems(problem, alike=model.config.alike).batch([0])
            return model(batch).logits[0].softmax(0), None
        output = model(TokenSet.from_problems(problem).batch([0]), attention=True)
    logits = output.logits[0]
    scores = logits.softmax(0) if model.config.loss == "ce" else logits.sigmoid()
    if not output.attention or not model.config.context:
        return scores, None
    return scores, torch.stack([layer[0] for layer in output.attention])  # (L, V, H, T, T)


def pack(problems: Mapping[str, Problems]) -> dict[str, Any]:
    """Write problems as what ``unpack`` in ``puzzles.js`` reads: two bytes for each place of each panel.

    Raises
    ------
    ValueError
        If the sets differ in their questions.
    """
    sets = list(problems)
    first = problems[sets[0]]
    lines: dict[str, int] = {}
    hints, packed = [], bytearray()
    for number in range(len(first)):
        configuration = int(first.configuration[number])
        slots = len(CONFIGURATIONS[configuration].slots)
        panels = [first.entities[number, :CONTEXT, :slots]]
        packed.append(configuration)
        for name in sets:
            problem_set = problems[name]
            if not np.array_equal(problem_set.entities[number, :CONTEXT], first.entities[number, :CONTEXT]):
                raise ValueError(f"problems must share their questions, got another one in {name!r}")
            packed.append(int(problem_set.target[number]))
            panels.append(problem_set.entities[number, CONTEXT:, :slots])
        levels = np.concatenate(panels).reshape(-1, len(LEVELS)).astype(np.int64)
        packed += np.ravel_multi_index(tuple(levels.T), LEVELS).astype("<u2").tobytes()
        hints.append([lines.setdefault(line, len(lines)) for line in rules_in_words(first, number)])
    return {
        "bytes": base64.b64encode(bytes(packed)).decode(),
        "sets": sets,
        "hints": hints,
        "lines": list(lines),
        "layouts": _layouts(),
        "levels": {"types": TYPES, "sizes": SIZES, "colours": COLOURS, "angles": ANGLES, "edge": EDGE},
    }


def _layouts() -> list[dict[str, Any]]:
    names = {"Grid": "", "Out": "outside: ", "In": "inside: "}
    return [
        {
            "title": layout.title,
            "structure": layout.structure,
            "slots": layout.slots,
            "places": POSITION_OF[number, : len(layout.slots)].tolist(),
            "components": [
                {
                    "name": names.get(component.name, f"{component.name.lower()}: "),
                    "slots": [part.start, part.stop],
                }
                for component, part in zip(layout.components, layout.component_slices, strict=True)
            ],
        }
        for number, layout in enumerate(CONFIGURATIONS)
    ]


def _form(problems: Mapping[str, Problems], models: Mapping[str, Model]) -> str:
    """Write the controls; they stay hidden until the script runs."""
    present = sorted({int(number) for number in next(iter(problems.values())).configuration})
    layouts = "".join(
        f'<option value="{number}">{CONFIGURATIONS[number].title}</option>' for number in present
    )
    sets = "".join(
        f'<option value="{number}">{html.escape(ANSWER_SETS.get(name, name))}</option>'
        for number, name in enumerate(problems)
    )
    names = "".join(
        f'<option value="{number}">{html.escape(name)}</option>' for number, name in enumerate(models)
    )
    against = _menu("Against", "against", names) if len(models) > 1 else ""
    layout = _menu("Layout", "layout", f'<option value="any">All seven</option>{layouts}')
    return (
        '<form class="rr-play-form" autocomplete="off" data-scripted hidden>'
        f"{layout}{_menu('Answers', 'set', sets)}{against}</form>"
    )


def _menu(label: str, name: str, options: str) -> str:
    return (
        f'<label class="rr-live-field"><span class="rr-live-name">{label}</span>'
        f'<select class="rr-play-{name}">{options}</select></label>'
    )


def _static(problem: Problems, model: Model) -> tuple[str, str]:
    """Write the first puzzle with its answer as plain HTML, in the places where the script puts its own."""
    configuration, target = int(problem.configuration[0]), int(problem.target[0])
    panels = problem.entities[0]
    model_scores, maps = _answer(model, problem)
    scores, best = model_scores.tolist(), int(model_scores.argmax())
    looks, others, _ = (None, np.zeros(1), 0) if maps is None else shares(maps, best)
    drawn = matrix_svg(
        configuration,
        [*panels[:CONTEXT], panels[CONTEXT + best]],
        weights=looks,
        most=None if looks is None else max(looks.max(), others.max()),
        labels=True,
    )
    drawn = drawn.replace("<svg ", '<svg class="rr-play-matrix" ', 1).replace('"rr-iq-', '"rr-play-')
    items = []
    for number, panel in enumerate(panels[CONTEXT:]):
        kind = " rr-play-is-right" if number == target else " rr-play-is-wrong" if number == best else ""
        mark = " ✓" if number == target else " ✗" if number == best else ""
        badge = '<i class="rr-play-model">model</i>' if number == best else ""
        words = f"Candidate {number + 1}: {describe(configuration, panel)}"
        svg = panel_svg(configuration, panel, label=words).replace('"rr-iq-', '"rr-play-')
        items.append(
            f'<div class="rr-play-choice{kind}"><span class="rr-play-panel">{svg}</span>'
            f'<span class="rr-play-line"><b>{number + 1}{mark}</b><span>{scores[number]:.2f}</span></span>'
            f'<span class="rr-live-bar" style="--share:{scores[number]:.4f}"></span>'
            f'<span class="rr-play-who">{badge}</span></div>'
        )
    verdict = "right" if best == target else f"wrong: it is {target + 1}"
    message = f"The model chooses {best + 1}, with a score of {scores[best]:.2f}; that is {verdict}."
    streams = "".join(
        f'<option value="{number}">{name.capitalize()}</option>' for number, name in enumerate(STREAMS)
    )
    rules = "".join(f"<li>{html.escape(line)}.</li>" for line in rules_in_words(problem))
    body = (
        f'<div class="rr-play-board"><div class="rr-play-left">{drawn}</div>'
        f'<div class="rr-play-choices" role="group" aria-label="Candidates">{"".join(items)}</div></div>'
        f'<div class="rr-play-result"><div><output class="rr-live-said" aria-live="polite">{message}</output>'
        '<p class="rr-play-score"></p></div>'
        '<button type="button" class="rr-live-button rr-live-main rr-play-next" data-scripted hidden>'
        "Next puzzle</button></div>"
        f'<details class="rr-play-hint"><summary>Hint: the rules in words</summary><ul>{rules}</ul></details>'
        '<div class="rr-play-looks" hidden><div class="rr-play-pickers">'
        + _menu("Attention of", "stream", f'<option value="all">All attributes</option>{streams}')
        + _menu("In", "layer", '<option value="-1">All layers</option>')
        + '<label class="rr-live-tick"><input type="checkbox" class="rr-play-draw" checked>'
        "<span>Draw lines</span></label>"
        "</div>"
        '<ul class="rr-play-parts" hidden></ul>'
        '<p class="rr-play-look-words" aria-live="polite"></p></div>'
    )
    title = CONFIGURATIONS[configuration].title
    return body, f"A puzzle of {title}, to be solved against a reasoner. {message}"


def _about(model: Model, origin: str) -> str:
    count = sum(tensor.numel() for tensor in model.parameters())
    kind = "A row predictor" if isinstance(model, Relational) else "A hierarchical reasoner"
    return f"{kind} with {count:,} weights{origin}."
