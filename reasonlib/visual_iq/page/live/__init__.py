"""A puzzle to solve in the page, against a reasoner that answers in the reader's own browser.

The figure is one piece of HTML: several hundred held-out problems packed into a few bytes a panel, weights
(16 or 8 bits a number, as base64), the forward pass in JavaScript (``network.js``, written to be read), the
drawing of panels (``drawing.js``) and the controls (``figure.js``). It asks the network for nothing, works
from a file on disk, in Jupyter and on Colab, and holds the first puzzle with the reasoner's answer as plain
HTML for a page where scripts are off.
"""

import base64
import html
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reasonlib.display.plotting import Picture
from reasonlib.errors import UserError
from reasonlib.visual_iq.data.encoding import OFFSETS, STREAMS, TokenSet
from reasonlib.visual_iq.data.example import (
    ANGLES,
    COLOURS,
    CONFIGURATIONS,
    CONTEXT,
    LEVELS,
    PLACE_OF,
    SIZES,
    TYPES,
    Problems,
)
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.experiments.train_reasoners import SHIPPED, load_solver
from reasonlib.visual_iq.models import relational
from reasonlib.visual_iq.models.reasoner import Reasoner
from reasonlib.visual_iq.models.relational import Relational
from reasonlib.visual_iq.page.figures import ANSWER_SETS, matrix_svg, shares
from reasonlib.visual_iq.page.svg import EDGE, describe, panel_svg, rules_in_words

__all__ = ["HELD_OUT", "LARGEST", "live", "network_code", "pack", "some_problems"]

LARGEST = 1_000_000  # bytes: what a page may carry before the first answer
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
        name: Problems.join(
            [simulate(layout.key, each, seed=seed, answers=name) for layout in CONFIGURATIONS]
        )
        for name in sets
    }
    order = np.arange(each * len(CONFIGURATIONS)).reshape(len(CONFIGURATIONS), each).T.ravel()
    order = np.roll(order, -1)  # the first puzzle a reader meets is one of a grid
    return {name: problems[order] for name, problems in drawn.items()}


def live(
    models: Model | Mapping[str, Model] | str | None = None,
    *,
    problems: Mapping[str, Problems] | None = None,
    bits: int | None = None,
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

    Returns
    -------
    Picture
        To be shown at the end of a cell, or written as a page of its own by ``save``.

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
    if bits is None:
        bits = 16 if len(named) == 1 else 8
    if bits not in (8, 16):
        raise ValueError(f"bits must be 8 or 16, got {bits}")
    data = {
        **pack(problems),
        "models": [_network(name, model, bits, origins.get(name, "")) for name, model in named.items()],
    }
    rounded = {name: _rounded(model, bits) for name, model in named.items()}
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    first = next(iter(problems.values()))[:1]
    model = next(iter(rounded.values()))
    static, words = _static(first, model)
    kinds = sorted({type(model).__name__ for model in named.values()})
    code = "\n".join(
        [
            *(network_code(kind) for kind in ["", *kinds]),
            f"const NETWORKS = {{ {', '.join(kinds)} }};",
            _file("drawing.js"),
            _file("figure.js"),
        ]
    )
    about = data["models"][0]["about"]
    body = (
        f"<style>{_file('figure.css')}</style>"
        '<div class="rr rr-play mathjax_ignore" role="group" aria-label="Solve puzzles against a reasoner"'
        f' data-lm-suppress-shortcuts="true">{_form(problems, rounded)}{static}'
        f'<p class="rr-play-notes"><span class="rr-play-about">{html.escape(about)}</span> '
        '<span class="rr-play-told"></span></p>'
        '<p class="rr-play-everything"><button type="button" class="rr-play-all" hidden></button> '
        '<output class="rr-play-all-told" aria-live="polite"></output></p>'
        "<noscript><p>Scripts are off: this is one puzzle with the model's answer, computed beforehand. With "
        "scripts you can solve puzzles yourself, and see the model solve them beside you.</p></noscript>"
        f'<script type="application/json">{written}</script></div>'
        f"<script>(() => {{\n{code}}})();</script>"
    )
    size = len(body.encode())
    if size > LARGEST:
        raise UserError(
            f"the figure would weigh {size / 1e6:.1f} MB, and a page may carry {LARGEST / 1e6:.0f} MB; "
            "choose a smaller model, fewer models or problems, or bits=8"
        )
    return Picture(body, alt=words)


def network_code(kind: str = "Reasoner") -> str:
    """Give a forward pass as it runs in the page: JavaScript, made to be read beside the model's file.

    Parameters
    ----------
    kind
        ``"Reasoner"`` or ``"Relational"``; empty for what both are made of.
    """
    return _file(f"{kind.lower() or 'network'}.js")


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _shipped(name: str | None) -> tuple[dict[str, Model], dict[str, str]]:
    """Load a model that ships with the library, or all of them, under the names that a reader sees.

    The second result says of each on which answer set it was trained.
    """
    chosen = [name] if name else [one for one, path in SHIPPED.items() if path.is_file()] or list(SHIPPED)
    models, origins = {}, {}
    for one in chosen:
        shipped = load_solver(one)
        title = "Relational model" if isinstance(shipped.model, Relational) else "Source's reasoner"
        learnt = re.search(r"--data (\S+)", str(shipped.made.get("command", "")))
        if learnt:
            trained = ANSWER_SETS.get(learnt[1], learnt[1])
            title = f"{title} ({trained})"
            origins[title] = f", trained on {trained}"
        models[title] = shipped.model
    return models, origins


def _rounded(model: Model, bits: int) -> Model:
    """Copy a model with its weights rounded as the page gets them."""
    copy = Reasoner(model.config) if isinstance(model, Reasoner) else Relational(model.config)
    state = {name: _read(*_written(tensor, bits)) for name, tensor in model.state_dict().items()}
    if any(not bool(tensor.isfinite().all()) for tensor in state.values()):
        raise UserError("the model has weights that 16 bits cannot hold; train it with a lower rate")
    copy.load_state_dict(state)
    return copy.eval()


def _written(tensor: Tensor, bits: int) -> tuple[Tensor, Tensor | None]:
    """Round to 16 bits; or a matrix to whole numbers of 8 bits, and a factor of 16 bits for each row."""
    tensor = tensor.detach().cpu()
    if bits == 16 or tensor.ndim < 2:
        return tensor.half(), None
    factors = (tensor.abs().amax(1, keepdim=True) / 127).half().clamp(min=2**-24)
    return (tensor / factors.float()).round().clamp(-127, 127).to(torch.int8), factors


def _read(numbers: Tensor, factors: Tensor | None) -> Tensor:
    return numbers.float() if factors is None else numbers.float() * factors.float()


def _network(name: str, model: Model, bits: int, origin: str) -> dict[str, Any]:
    """Write a model as what the constructor in ``network.js`` reads."""
    tensors, written = [], bytearray()
    for key, tensor in model.state_dict().items():
        numbers, factors = _written(tensor, bits)
        own = b"" if factors is None else factors.numpy().astype("<f2").tobytes()
        own += numbers.numpy().astype("<f2" if factors is None else "i1").tobytes()
        tensors.append([key, len(own), *([] if factors is None else [len(factors)])])
        written += own
    return {
        "kind": type(model).__name__,
        "name": name,
        "about": _about(model, origin),
        "sizes": _sizes(model),
        "tensors": tensors,
        "weights": base64.b64encode(bytes(written)).decode(),
    }


def _sizes(model: Model) -> dict[str, Any]:
    if isinstance(model, Relational):
        return {
            "width": model.config.width,
            "rows": model.config.rows,
            "alike": model.config.alike,
            "loss": "ce",
            "names": relational.SHARED,
            "offsets": relational.OFFSETS,
            "counts": relational.SYMBOLS,
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
        "offsets": OFFSETS,
    }


def _answer(model: Model, problem: Problems) -> tuple[Tensor, Tensor | None]:
    """Answer one problem: the eight scores, between 0 and 1, and the maps of attention if there are any."""
    with torch.no_grad():
        if isinstance(model, Relational):
            batch = relational.SymbolSet.of(problem, alike=model.config.alike).batch([0])
            return model(batch).logits[0].softmax(0), None
        found = model(TokenSet.of(problem).batch([0]), attention=True)
    logits = found.logits[0]
    scores = logits.softmax(0) if model.config.loss == "ce" else logits.sigmoid()
    if not found.attention or not model.config.context:
        return scores, None
    return scores, torch.stack([layer[0] for layer in found.attention])  # (L, V, H, T, T)


def pack(problems: Mapping[str, Problems]) -> dict[str, Any]:
    """Write problems as what ``unpack`` in ``figure.js`` reads: two bytes for each place of each panel.

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
            one = problems[name]
            if not np.array_equal(one.entities[number, :CONTEXT], first.entities[number, :CONTEXT]):
                raise ValueError(f"problems must share their questions, got another one in {name!r}")
            packed.append(int(one.target[number]))
            panels.append(one.entities[number, CONTEXT:, :slots])
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
            "places": PLACE_OF[number, : len(layout.slots)].tolist(),
            "components": [
                {
                    "name": names.get(component.name, f"{component.name.lower()}: "),
                    "slots": [part.start, part.stop],
                }
                for component, part in zip(layout.components, layout.parts, strict=True)
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
    against = (
        f'<label>Against <select class="rr-play-against">{names}</select></label>' if len(models) > 1 else ""
    )
    return (
        '<form class="rr-play-form" autocomplete="off" hidden>'
        '<label>Layout <select class="rr-play-layout"><option value="any">All seven</option>'
        f"{layouts}</select></label>"
        f'<label>Answers <select class="rr-play-set">{sets}</select></label>{against}</form>'
    )


def _static(problem: Problems, model: Model) -> tuple[str, str]:
    """Write the first puzzle with its answer as plain HTML, in the places where the script puts its own."""
    configuration, target = int(problem.configuration[0]), int(problem.target[0])
    panels = problem.entities[0]
    found, maps = _answer(model, problem)
    scores, best = found.tolist(), int(found.argmax())
    looks, others, _ = (None, np.zeros(1), 0) if maps is None else shares(maps, best)
    drawn = matrix_svg(
        configuration,
        [*panels[:CONTEXT], panels[CONTEXT + best]],
        weights=looks,
        most=None if looks is None else max(looks.max(), others.max()),
    )
    drawn = drawn.replace("<svg ", '<svg class="rr-play-matrix" ', 1).replace('"rr-iq-', '"rr-play-')
    items = []
    for number, panel in enumerate(panels[CONTEXT:]):
        kind = " rr-play-is-right" if number == target else " rr-play-is-wrong" if number == best else ""
        mark = " ✓" if number == target else " ✗" if number == best else ""
        who = '<i class="rr-play-model">model</i>' if number == best else ""
        words = f"Candidate {number + 1}: {describe(configuration, panel)}"
        svg = panel_svg(configuration, panel, label=words).replace('"rr-iq-', '"rr-play-')
        items.append(
            f'<div class="rr-play-choice{kind}"><span class="rr-play-panel">{svg}</span>'
            f'<span class="rr-play-line"><b>{number + 1}{mark}</b><span>{scores[number]:.2f}</span></span>'
            f'<span class="rr-play-bar" style="--share:{scores[number]:.4f}"></span>'
            f'<span class="rr-play-who">{who}</span></div>'
        )
    verdict = "right" if best == target else f"wrong: it is {target + 1}"
    said = f"The model chooses {best + 1}, with a score of {scores[best]:.2f}; that is {verdict}."
    streams = "".join(
        f'<option value="{number}">{name.capitalize()}</option>' for number, name in enumerate(STREAMS)
    )
    rules = "".join(f"<li>{html.escape(line)}.</li>" for line in rules_in_words(problem))
    body = (
        f'<div class="rr-play-board"><div class="rr-play-left">{drawn}</div>'
        f'<div class="rr-play-choices" role="group" aria-label="Candidates">{"".join(items)}</div></div>'
        f'<div class="rr-play-result"><div><output class="rr-play-said" aria-live="polite">{said}</output>'
        '<p class="rr-play-score"></p></div>'
        '<button type="button" class="rr-play-next" hidden>Next puzzle</button></div>'
        f'<details class="rr-play-hint"><summary>Hint: the rules in words</summary><ul>{rules}</ul></details>'
        '<div class="rr-play-looks" hidden><div class="rr-play-pickers">'
        '<label>What it reads of <select class="rr-play-stream"><option value="all">All attributes</option>'
        f"{streams}</select></label>"
        '<label>At <select class="rr-play-layer"><option value="-1">All layers</option></select></label>'
        '<label class="rr-play-check"><input type="checkbox" class="rr-play-draw" checked> Draw it</label>'
        "</div>"
        '<ul class="rr-play-parts" hidden></ul>'
        '<p class="rr-play-look-words" aria-live="polite"></p></div>'
    )
    title = CONFIGURATIONS[configuration].title
    return body, f"A puzzle of {title}, to be solved against a reasoner. {said}"


def _about(model: Model, origin: str) -> str:
    count = sum(tensor.numel() for tensor in model.parameters())
    kind = "A relational model" if isinstance(model, Relational) else "A hierarchical reasoner"
    return f"{kind} of {count:,} numbers{origin}."
