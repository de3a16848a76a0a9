"""Play puzzles and turn the generator's knobs: the live figures for a notebook that has a kernel.

On the book's pages the first is done without a kernel by `reasonlib.visual_iq.page.live`.
"""

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reasonlib.display.plotting import Picture
from reasonlib.display.widgets import Form, import_widgets
from reasonlib.visual_iq.data.datasets import ANSWER_SETS
from reasonlib.visual_iq.data.example import CONFIGURATIONS, GOVERNED, GROUPS, RULES, Problems
from reasonlib.visual_iq.data.majority_vote import count_votes, majority_vote
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.page import figures
from reasonlib.visual_iq.page.svg import rules_in_words

__all__ = ["Player", "Playground"]

Scorer = Callable[[Problems], ArrayLike]
"""From N problems to (N, 8) scores; the highest is the answer."""

DRAWN = 512  # problems drawn at a seed, among which one with the wanted rules is sought
INSTEAD = "use reasonlib.visual_iq.page.live, which needs nothing"


class Player(Form):
    """Solve puzzles, and see after each what a model would have said.

    Parameters
    ----------
    model
        Any model of `experiments.train_reasoners`, or a function from problems to (N, 8) scores. By default
        the reasoner that ships with the library.
    seed
        Where the puzzles begin.

    Attributes
    ----------
    layout, answers, choices, another, result, score
        The controls.
    problem
        The `Problems`, of one, that is shown.
    tally
        Puzzles answered, and how many the player and the model got right.

    Raises
    ------
    UserError
        If ``ipywidgets`` is not installed, or no model is given and none ships.
    """

    def __init__(self, model: Scorer | Any = None, *, seed: int = 0) -> None:
        widgets = import_widgets(INSTEAD)
        if model is None:
            from reasonlib.visual_iq.models.pretrained import from_pretrained

            model = from_pretrained("reasoner")
        self.scorer: Scorer = _scorer(model)
        self.seed = seed
        self.tally = (0, 0, 0)
        look: dict[str, Any] = {
            "layout": widgets.Layout(width="22rem"),
            "style": {"description_width": "5rem"},
        }
        self.layout = widgets.Dropdown(options=_layouts(), value="2x2Grid", description="Layout", **look)
        self.answers = widgets.Dropdown(options=_sets(), value="i-raven", description="Answers", **look)
        self.choices = [
            widgets.Button(
                description=str(number + 1),
                tooltip=f"Choose candidate {number + 1}",
                layout=widgets.Layout(width="2.8rem"),
            )
            for number in range(8)
        ]
        self.another = widgets.Button(description="Next puzzle", button_style="primary")
        self.result = widgets.HTML(layout=widgets.Layout(width="100%", max_width="48rem"))
        self.score = widgets.HTML()
        row = widgets.Layout(flex_flow="row wrap")
        self.box = widgets.VBox(
            [
                widgets.Box([self.layout, self.answers], layout=row),
                self.result,
                widgets.Box([*self.choices, self.another], layout=row),
                self.score,
            ]
        )
        self.layout.observe(self.next, names="value")
        self.answers.observe(self._again, names="value")
        self.another.on_click(self.next)
        for number, button in enumerate(self.choices):
            button.on_click(lambda _, number=number: self.choose(number))
        self._again()

    def next(self, change: Any = None) -> None:
        """Show another puzzle."""
        self.seed += 1
        self._again()

    def choose(self, candidate: int) -> None:
        """Answer; the model answers too."""
        scores = np.asarray(self.scorer(self.problem), dtype=float)[0]
        theirs, target = int(scores.argmax()), int(self.problem.target[0])
        total, you, model = self.tally
        self.tally = (total + 1, you + (candidate == target), model + (theirs == target))
        self._enable(False)
        rules = "".join(f"<li>{escape(line)}.</li>" for line in rules_in_words(self.problem))
        message = (
            f"<p><b>{'Right.' if candidate == target else f'It is {target + 1}.'}</b> "
            f"You: {candidate + 1}. The model: {theirs + 1}, {'right' if theirs == target else 'wrong'}.</p>"
            f"<ul>{rules}</ul>"
        )
        self._show(figures.puzzle(self.problem, answer=True, chosen=candidate, scores=scores), message)
        total, you, model = self.tally
        self.score.value = f"<p>You {you} of {total}, the model {model} of {total}.</p>"

    def _again(self, change: Any = None) -> None:
        self.problem = simulate(self.layout.value, 1, seed=self.seed, answers=self.answers.value)
        self._enable(True)
        self._show(figures.puzzle(self.problem), "<p>Which candidate completes the matrix?</p>")

    def _enable(self, yes: bool) -> None:
        for button in self.choices:
            button.disabled = not yes

    def _show(self, picture: Picture, message: str) -> None:
        self.result.value = picture._repr_html_() + message


class Playground(Form):
    """Turn the generator's knobs: layout, rules, answer set, seed; see the puzzle, its rules and a vote.

    Parameters
    ----------
    seed
        The first seed.

    Attributes
    ----------
    layout, rules, answers, seed, result
        The controls; `rules` has one for each group of rules.
    problem
        The `Problems`, of one, that is shown, or None where no problem has the rules that were asked for.
    """

    def __init__(self, *, seed: int = 0) -> None:
        widgets = import_widgets(INSTEAD)
        look: dict[str, Any] = {
            "layout": widgets.Layout(width="22rem"),
            "style": {"description_width": "8rem"},
        }
        self.layout = widgets.Dropdown(options=_layouts(), value="2x2Grid", description="Layout", **look)
        self.answers = widgets.Dropdown(options=_sets(), value="raven", description="Answers", **look)
        self.rules = {
            group: widgets.Dropdown(
                options=_rules(group), value="any", description=f"Rule on {group}", **look
            )
            for group in GROUPS
        }
        self.seed = widgets.BoundedIntText(value=seed, min=0, max=10**6, description="Seed", **look)
        self.result = widgets.HTML(layout=widgets.Layout(width="100%", max_width="48rem"))
        controls = [self.layout, self.answers, *self.rules.values(), self.seed]
        row = widgets.Layout(flex_flow="row wrap")
        self.box = widgets.VBox([widgets.Box(controls, layout=row), self.result])
        self.problem: Problems | None = None
        for control in controls:
            control.observe(self._draw, names="value")
        self._draw()

    def _draw(self, change: Any = None) -> None:
        drawn = simulate(self.layout.value, DRAWN, seed=self.seed.value, answers=self.answers.value)
        fits = np.ones(len(drawn), bool)
        for number, group in enumerate(GROUPS):
            choice = self.rules[group].value
            if choice != "any":
                rule, governed = choice
                fits &= (drawn.rules[:, :, number, :2] == (rule, governed)).all(-1).any(-1)
        if not fits.any():
            self.problem = None
            self.result.value = (
                f"<p>None of {DRAWN} problems of this layout has these rules: some rules are impossible "
                "in a layout, and some are rare. Choose another rule or seed.</p>"
            )
            return
        self.problem = drawn[[int(np.flatnonzero(fits)[0])]]
        rules = "".join(f"<li>{escape(line)}.</li>" for line in rules_in_words(self.problem))
        votes, target = count_votes(self.problem)[0], int(self.problem.target[0])
        chosen = int(majority_vote(self.problem)[0])
        tied = int((votes == votes.max()).sum())
        how = (
            f"one of {tied} with equally many votes, drawn at random"
            if tied > 1
            else "with more in common with the others than any other"
        )
        verdict = "right" if chosen == target else "wrong"
        message = (
            f"<p>Its rules:</p><ul>{rules}</ul><p>A vote over what the candidates have in common, without a "
            f"look at the matrix, chooses {chosen + 1} ({how}): <b>{verdict}</b>. "
            "The numbers under the candidates are their votes.</p>"
        )
        picture = figures.puzzle(self.problem, answer=True, chosen=chosen, scores=votes)
        self.result.value = picture._repr_html_() + message


def _scorer(model: Any) -> Scorer:
    """Give a model of ours as a function from problems to scores between 0 and 1."""
    import torch

    if not isinstance(model, torch.nn.Module):
        if not callable(model):
            raise ValueError(f"model must be a model of solving or a function of problems, got {model!r}")
        return model
    from reasonlib.visual_iq.models.reasoner import Reasoner
    from reasonlib.visual_iq.models.solvers import predict_scores as scores

    def share(problems: Problems) -> ArrayLike:
        logits = torch.as_tensor(scores(model, problems))  # type: ignore[arg-type]
        alone = isinstance(model, Reasoner) and model.config.loss == "bce"
        return (logits.sigmoid() if alone else logits.softmax(-1)).numpy()

    return share


def _layouts() -> list[tuple[str, str]]:
    return [(layout.title, layout.title) for layout in CONFIGURATIONS]


def _sets() -> list[tuple[str, str]]:
    return [(written, name) for name, written in ANSWER_SETS.items()]


def _rules(group: str) -> list[tuple[str, Any]]:
    """List the rules of a group for a menu, each with its codes in `Problems.rules`."""
    from reasonlib.visual_iq.data.grammar import RULE_OPTIONS

    options: list[tuple[str, Any]] = [("any", "any")]
    for rule, governed, _ in RULE_OPTIONS[GROUPS.index(group)]:
        of = f" of {governed}" if group == "number/position" and rule != "constant" else ""
        options.append((f"{rule}{of}", (RULES.index(rule), GOVERNED.index(governed))))
    return options
