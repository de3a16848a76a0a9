"""Problems like the released RAVEN, of any number and from any seed, a hundred thousand at a time.

Source: Zhang et al. (2019), "RAVEN: A Dataset for Relational and Analogical Visual Reasoning", sections 3.1
to 3.3. https://arxiv.org/abs/1903.02741

Nothing here goes through problems one by one. A component of many problems is three tables over rows and
columns: how many entities, in which slots, and what they look like. A rule fills the second and third column
of all problems that it governs in one step::

    seed --> rules --> first columns --> numbers, slots --> looks --> slots of nine panels --> candidates
             (grammar)                   one step a rule              Problems.entities        (answers)

The same seed gives the same bytes on every machine, and the same questions whichever answers are asked for.

Axes: N problems, R 3 rows, C 3 columns, S slots of a component, A 4 attributes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray
from numpy.random import Generator, SeedSequence

from reasonlib.arguments import check_choice
from reasonlib.visual_iq.data import distractors as answering
from reasonlib.visual_iq.data import example, grammar, rule_solver
from reasonlib.visual_iq.data.components import UNIFORM, EntityLists, stable_argsort, to_slots
from reasonlib.visual_iq.data.example import (
    ATTRIBUTES,
    CONFIGURATIONS,
    CONTEXT,
    KEYS,
    PANELS,
    SLOTS,
    Problems,
)
from reasonlib.visual_iq.data.matrices import sample_matrix

__all__ = ["CHUNK_SIZE", "SIMULATORS", "simulate", "simulate_questions"]

CHUNK_SIZE = 4096
"""Problems drawn in one go; each chunk has its own seed."""
MAX_ATTEMPTS = 1000
"""Times that wrong answers are drawn for a problem before it is given up; of 120 000 none needed ten."""


def simulate(
    configuration: str | int, number: int, *, seed: int = 0, answers: str = "raven", workers: int = 1
) -> Problems:
    """Draw problems of one configuration.

    Parameters
    ----------
    configuration
        Key, title or index, such as ``"distribute_four"``, ``"2x2Grid"`` or 1.
    number
        Of problems.
    seed
        Different seeds give unrelated problems.
    answers
        How the wrong candidates are made: one of `distractors.DISTRACTORS`. The questions and
        the right answers are the same for each.
    workers
        Processes that draw at the same time (`joblib`), -1 for as many as there are cores; the problems are
        the same. A backend that was chosen with ``joblib.parallel_config``, such as dask, is used.

    Returns
    -------
    Problems
        With the values of their rules.

    Raises
    ------
    ValueError
        If there is no such configuration or answers, or `number` or `seed` is out of range.

    Examples
    --------
    >>> problems = simulate("2x2Grid", 100, seed=1)
    >>> problems.entities.shape
    (100, 16, 9, 4)
    """
    index = example.configuration_index(configuration)
    check_choice("answers", answers, answering.DISTRACTORS)
    if number < 1:
        raise ValueError(f"number must be at least 1, got {number}")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}")
    tasks = [
        (index, min(CHUNK_SIZE, number - start), answers, (seed, index, chunk))
        for chunk, start in enumerate(range(0, number, CHUNK_SIZE))
    ]
    if workers == 1 or len(tasks) == 1:
        return Problems.concatenate([_simulate_chunk(*task) for task in tasks])
    from joblib import Parallel, delayed

    return Problems.concatenate(Parallel(n_jobs=workers)(delayed(_simulate_chunk)(*task) for task in tasks))


def _simulate_chunk(configuration: int, number: int, answers: str, seed: tuple[int, int, int]) -> Problems:
    question_rng, answer_rng = (np.random.default_rng(sequence) for sequence in SeedSequence(seed).spawn(2))
    question = simulate_questions(configuration, number, question_rng)
    problems = Problems(
        configuration=np.full(number, configuration, np.int8),
        entities=np.zeros((number, PANELS, SLOTS, len(ATTRIBUTES)), np.int8),
        uniformity=_pad_components(question.uniformity),
        rules=_pad_components(question.rules),
        target=answer_rng.integers(0, PANELS - CONTEXT, number, dtype=np.int8),
    )
    problems.entities[:, :CONTEXT] = question.entities(slice(0, CONTEXT))
    unfinished = np.arange(number)
    for _ in range(MAX_ATTEMPTS):
        unfinished_questions = question[unfinished]
        candidates = answering.DISTRACTORS[answers](
            configuration,
            unfinished_questions.rules,
            unfinished_questions.ranges,
            unfinished_questions.uniformity,
            unfinished_questions.right,
            answer_rng,
        )
        entities = _assemble(configuration, candidates)
        problems.entities[unfinished[:, None], _candidate_panels(problems.target[unfinished], answer_rng)] = (
            entities
        )
        unfinished = unfinished[
            rule_solver.consistent_candidates(problems[unfinished]).sum(axis=1) != 1
        ]  # a wrong answer follows the rules too
        if not len(unfinished):
            return problems
    raise RuntimeError(f"no {answers} answers are wrong in problem {unfinished[0]} of seed {seed}")


def _candidate_panels(target: Int[ndarray, "N"], generator: Generator) -> Int[ndarray, "N 8"]:
    """Give the panel of each candidate, the right one first, the others in random order."""
    keys = generator.random((len(target), PANELS - CONTEXT))
    keys[np.arange(len(target)), target] = -1
    return CONTEXT + stable_argsort(keys)


def _assemble(configuration: int, components: Sequence[EntityLists]) -> Int[ndarray, "N P S A"]:
    """Put components side by side on the axis of slots."""
    shape = components[0].number.shape
    entities = np.zeros((*shape, SLOTS, len(ATTRIBUTES)), np.int8)
    for slots, component in zip(CONFIGURATIONS[configuration].component_slices, components, strict=True):
        entities[..., slots, :] = to_slots(component)
    return entities


def _pad_components(values: ndarray) -> ndarray:
    """Fill the axis of components up to two with -1."""
    missing = 2 - values.shape[1]
    return np.pad(values, [(0, 0), (0, missing)] + [(0, 0)] * (values.ndim - 2), constant_values=-1)


# Questions --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Questions:
    """Rules, and nine panels that follow them.

    Parameters
    ----------
    configuration
        Index of their layout, one for all.
    rules, ranges
        As `grammar.sample_rules` gives them.
    uniformity
        Level of each component.
    panels
        For each component its `Parts`, with axes (N, 9).
    """

    configuration: int
    rules: Int[ndarray, "N K G 3"]
    ranges: Int[ndarray, "N K G 2"]
    uniformity: Int[ndarray, "N K"]
    panels: list[EntityLists]

    def __getitem__(self, index: ndarray) -> "Questions":
        """Choose some of them."""
        return Questions(
            self.configuration,
            self.rules[index],
            self.ranges[index],
            self.uniformity[index],
            [part[index] for part in self.panels],
        )

    @property
    def right(self) -> list[EntityLists]:
        """The right answer, by component."""
        return [part[:, CONTEXT] for part in self.panels]

    def entities(self, panels: slice) -> Int[ndarray, "N P S A"]:
        """Give some of the panels as `Problems` keep them."""
        return _assemble(self.configuration, [part[:, panels] for part in self.panels])


def simulate_questions(configuration: int, number: int, generator: Generator) -> Questions:
    """Draw rules, and nine panels that follow them.

    Some numbers and slots follow two rules at once, so that the answer cannot be told: these panels are drawn
    again under the same rules. (Sizes and colours may do the same; there the wrong answers are kept from what
    the other rule says.)
    """
    rules, ranges = grammar.sample_rules(configuration, number, generator)
    shape = (number, len(CONFIGURATIONS[configuration].components))
    uniformity = generator.integers(0, UNIFORM + 1, shape, dtype=np.int8)
    questions = Questions(configuration, rules, ranges, uniformity, [])
    sampled = _sample_panels(questions, generator)
    unsound = np.arange(number)
    while len(unsound := unsound[~_is_sound(sampled[unsound])]):
        redrawn = _sample_panels(questions[unsound], generator)
        for old, new in zip(sampled.panels, redrawn.panels, strict=True):
            old.number[unsound], old.order[unsound], old.attributes[unsound] = (
                new.number,
                new.order,
                new.attributes,
            )
    return sampled


def _sample_panels(questions: Questions, generator: Generator) -> Questions:
    """Draw the panels of questions whose rules are drawn."""
    components = CONFIGURATIONS[questions.configuration].components
    uniform = questions.uniformity == UNIFORM
    panels = [
        sample_matrix(
            component,
            questions.rules[:, component_index],
            questions.ranges[:, component_index],
            uniform[:, component_index],
            generator,
        )
        for component_index, component in enumerate(components)
    ]
    return replace(questions, panels=panels)


def _is_sound(question: Questions) -> Bool[ndarray, "N"]:
    """Tell where numbers and slots have one explanation, and the right answer follows it."""
    sound = np.ones(len(question.rules), bool)
    for component, lists in zip(
        CONFIGURATIONS[question.configuration].components, question.panels, strict=True
    ):
        inference = rule_solver.infer_component(component, to_slots(lists))
        sound &= inference.right & ~inference.open_places
    return sound


def _simulator_of(key: str, answers: str) -> Callable[[int, int], Problems]:
    def simulator(number: int, seed: int) -> Problems:
        return simulate(key, number, seed=seed, answers=answers)

    simulator.__doc__ = f"Draw problems of {key} with the answers of {answers}."
    return simulator


SIMULATORS: dict[str, Callable[[int, int], Problems]] = {
    key if answers == "raven" else f"{key}/{answers}": _simulator_of(key, answers)
    for answers in answering.DISTRACTORS
    for key in KEYS
}
"""For the command line: ``center_single``, ..., and with other answers ``center_single/i-raven``, ..."""
