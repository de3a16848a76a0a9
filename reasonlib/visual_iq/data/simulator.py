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

from reasonlib.visual_iq.data import distractors as answering
from reasonlib.visual_iq.data import grammar, rule_solver
from reasonlib.visual_iq.data.components import (
    UNIFORM,
    Parts,
    below,
    fresh_looks,
    masks,
    orders,
    ranking,
    redrawn,
    slots,
)
from reasonlib.visual_iq.data.example import (
    ATTRIBUTES,
    CONFIGURATIONS,
    CONTEXT,
    GOVERNED,
    GROUPS,
    KEYS,
    PANELS,
    SLOTS,
    Component,
    Problems,
)
from reasonlib.visual_iq.data.grammar import ARITHMETIC, CONSTANT, DISTRIBUTE_THREE, PROGRESSION

__all__ = ["CHUNK", "SIMULATORS", "questions", "simulate"]

CHUNK = 4096
"""Problems drawn in one go; each chunk has its own seed."""
PATIENCE = 1000
"""Times that wrong answers are drawn for a problem before it is given up; of 120 000 none needed ten."""
_NUMBER, _POSITION = GOVERNED.index("number"), GOVERNED.index("position")


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
        How the wrong candidates are made: one of `distractors.ANSWERS`. The questions and
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
    index = grammar.index_of(configuration)
    if answers not in answering.ANSWERS:
        raise ValueError(f"answers must be one of {', '.join(answering.ANSWERS)}, got {answers!r}")
    if number < 1:
        raise ValueError(f"number must be at least 1, got {number}")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}")
    tasks = [
        (index, min(CHUNK, number - start), answers, (seed, index, chunk))
        for chunk, start in enumerate(range(0, number, CHUNK))
    ]
    if workers == 1 or len(tasks) == 1:
        return Problems.join([_chunk(*task) for task in tasks])
    from joblib import Parallel, delayed

    return Problems.join(Parallel(n_jobs=workers)(delayed(_chunk)(*task) for task in tasks))


def _chunk(configuration: int, number: int, answers: str, seed: tuple[int, int, int]) -> Problems:
    asking, choosing = (np.random.default_rng(one) for one in SeedSequence(seed).spawn(2))
    question = questions(configuration, number, asking)
    problems = Problems(
        configuration=np.full(number, configuration, np.int8),
        entities=np.zeros((number, PANELS, SLOTS, len(ATTRIBUTES)), np.int8),
        uniformity=_padded(question.uniformity),
        rules=_padded(question.rules),
        target=choosing.integers(0, PANELS - CONTEXT, number, dtype=np.int8),
    )
    problems.entities[:, :CONTEXT] = question.entities(slice(0, CONTEXT))
    left = np.arange(number)
    for _ in range(PATIENCE):
        asked = question[left]
        made = answering.ANSWERS[answers](
            configuration, asked.rules, asked.ranges, asked.uniformity, asked.right, choosing
        )
        shown = _assembled(configuration, made)
        problems.entities[left[:, None], _places(problems.target[left], choosing)] = shown
        left = left[
            rule_solver.consistent(problems[left]).sum(axis=1) != 1
        ]  # a wrong answer follows the rules too
        if not len(left):
            return problems
    raise RuntimeError(f"no {answers} answers are wrong in problem {left[0]} of seed {seed}")


def _places(target: Int[ndarray, "N"], generator: Generator) -> Int[ndarray, "N 8"]:
    """Give the panel of each candidate, the right one first, the others in random order."""
    keys = generator.random((len(target), PANELS - CONTEXT))
    keys[np.arange(len(target)), target] = -1
    return CONTEXT + ranking(keys)


def _assembled(configuration: int, parts: Sequence[Parts]) -> Int[ndarray, "N P S A"]:
    """Put components side by side on the axis of slots."""
    shape = parts[0].number.shape
    entities = np.zeros((*shape, SLOTS, len(ATTRIBUTES)), np.int8)
    for place, part in zip(CONFIGURATIONS[configuration].parts, parts, strict=True):
        entities[..., place, :] = slots(part)
    return entities


def _padded(values: ndarray) -> ndarray:
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
        Of all of them.
    rules, ranges
        As `grammar.draw` gives them.
    uniformity
        Level of each component.
    panels
        For each component its `Parts`, with axes (N, 9).
    """

    configuration: int
    rules: Int[ndarray, "N K G 3"]
    ranges: Int[ndarray, "N K G 2"]
    uniformity: Int[ndarray, "N K"]
    panels: list[Parts]

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
    def right(self) -> list[Parts]:
        """The right answer, by component."""
        return [part[:, CONTEXT] for part in self.panels]

    def entities(self, panels: slice) -> Int[ndarray, "N P S A"]:
        """Give some of the panels as `Problems` keep them."""
        return _assembled(self.configuration, [part[:, panels] for part in self.panels])


def questions(configuration: int, number: int, generator: Generator) -> Questions:
    """Draw rules, and nine panels that follow them.

    Some numbers and slots follow two rules at once, so that the answer cannot be told: these panels are drawn
    again under the same rules. (Sizes and colours may do the same; there the wrong answers are kept from what
    the other rule says.)
    """
    rules, ranges = grammar.draw(configuration, number, generator)
    shape = (number, len(CONFIGURATIONS[configuration].components))
    uniformity = generator.integers(0, UNIFORM + 1, shape, dtype=np.int8)
    asked = Questions(configuration, rules, ranges, uniformity, [])
    drawn = _drawn(asked, generator)
    left = np.arange(number)
    while len(left := left[~_sound(drawn[left])]):
        again = _drawn(asked[left], generator)
        for old, new in zip(drawn.panels, again.panels, strict=True):
            old.number[left], old.order[left], old.look[left] = new.number, new.order, new.look
    return drawn


def _drawn(asked: Questions, generator: Generator) -> Questions:
    """Draw the panels of questions whose rules are drawn."""
    components = CONFIGURATIONS[asked.configuration].components
    uniform = asked.uniformity == UNIFORM
    panels = [
        _matrix(component, asked.rules[:, part], asked.ranges[:, part], uniform[:, part], generator)
        for part, component in enumerate(components)
    ]
    return replace(asked, panels=panels)


def _sound(question: Questions) -> Bool[ndarray, "N"]:
    """Tell where numbers and slots have one explanation, and the right answer follows it."""
    sound = np.ones(len(question.rules), bool)
    for component, part in zip(
        CONFIGURATIONS[question.configuration].components, question.panels, strict=True
    ):
        found = rule_solver.explain(component, slots(part))
        sound &= found.right & ~found.open_places
    return sound


def _matrix(
    component: Component,
    rules: Int[ndarray, "N G 3"],
    ranges: Int[ndarray, "N G 2"],
    uniform: Bool[ndarray, "N"],
    generator: Generator,
) -> Parts:
    """Draw a component of nine panels: numbers and slots first, then looks, as the source does."""
    number, order = _layouts(component, rules[:, 0], ranges[:, 0], generator)
    look = fresh_looks((*number.shape, len(component.slots)), ranges, generator)
    look[uniform] = look[uniform, :, :1, :1]
    copied = ~uniform & ~redrawn(rules)
    look[copied] = look[copied, :, :1]
    for group in (1, 2, 3):
        governed = np.flatnonzero(rules[:, group, 0] != CONSTANT)
        levels = _levels(
            group,
            rules[governed, group],
            ranges[governed, group],
            look[governed, :, 0, 0, group - 1],
            grammar.root_range(component, group)[1],
            generator,
        )
        look[governed, ..., group - 1] = levels[..., None]
    nine = (len(rules), 9)
    return Parts(
        number.reshape(nine), order.reshape(*nine, order.shape[-1]), look.reshape(*nine, *look.shape[3:])
    )


def _layouts(
    component: Component, rules: Int[ndarray, "N 3"], ranges: Int[ndarray, "N 2"], generator: Generator
) -> tuple[Int[ndarray, "N R C"], Int[ndarray, "N R C S"]]:
    """Draw how many entities there are and in which slots, under the rules of the first group."""
    size = len(component.slots)
    low, high = ranges[:, 0], ranges[:, 1]
    shape = (len(rules), 3, 3)
    if size == 1:
        return np.ones(shape, np.int8), np.zeros((*shape, 1), np.int8)
    number = np.empty(shape, np.int8)
    number[:] = (low[:, None] + below(generator, shape[:2], (high - low + 1)[:, None]))[..., None]
    order = orders(generator, shape, size)

    kind, governed, value = rules.T
    for index, step in _where((kind == PROGRESSION) & (governed == _NUMBER), value):
        number[index] += step[:, None, None] * np.arange(3, dtype=np.int8)
    for index, step in _where((kind == PROGRESSION) & (governed == _POSITION), value):
        order[index] = (order[index, :, :1] + step[:, None, None, None] * np.arange(3)[:, None]) % size
    for index, _ in _where(kind == CONSTANT, value):
        order[index] = order[index, :, :1]
    for index, sign in _where((kind == ARITHMETIC) & (governed == _NUMBER), value):
        number[index] = _sums(number[index, :, 0], sign, 1, component.number[1], 0, generator)
    for index, _ in _where((kind == DISTRIBUTE_THREE) & (governed == _NUMBER), value):
        number[index] = _triples(low[index], high[index], generator)
    for index, sign in _where((kind == ARITHMETIC) & (governed == _POSITION), value):
        number[index], order[index] = _sets(
            number[index], order[index], sign, low[index], high[index], generator
        )
    for index, _ in _where((kind == DISTRIBUTE_THREE) & (governed == _POSITION), value):
        number[index] = number[index, :1, :1]
        order[index] = _three_sets(number[index, 0, 0], order[index, 0], generator)
    return number, order


def _where(mask: Bool[ndarray, "N"], value: Int[ndarray, "N"]) -> list[tuple[ndarray, ndarray]]:
    """Give the problems under a mask and their rules' values, or nothing if there are none."""
    index = np.flatnonzero(mask)
    return [(index, value[index])] if len(index) else []


def _levels(
    group: int,
    rules: Int[ndarray, "N 3"],
    ranges: Int[ndarray, "N 2"],
    first: Int[ndarray, "N R"],
    highest: int,
    generator: Generator,
) -> Int[ndarray, "N R C"]:
    """Draw the one level of each panel under a rule on type, size or colour."""
    kind, _, value = rules.T
    levels = np.repeat(first[..., None], 3, axis=2)
    for index, step in _where(kind == PROGRESSION, value):
        levels[index] += step[:, None, None] * np.arange(3, dtype=np.int8)
    for index, _ in _where(kind == DISTRIBUTE_THREE, value):
        levels[index] = _triples(ranges[index, 0], ranges[index, 1], generator)
    for index, sign in _where(kind == ARITHMETIC, value):
        if GROUPS[group] == "colour":
            levels[index] = _colour_sums(first[index], sign, highest, generator)
        else:
            lowest = np.where(sign > 0, ranges[index, 0], (ranges[index, 0] - 1) // 2)
            levels[index] = _sums(first[index], sign, lowest[:, None], highest, 1, generator)
    return levels


def _sums(
    first: Int[ndarray, "N R"],
    sign: Int[ndarray, "N"],
    lowest: int | ndarray,
    highest: int,
    extra: int,
    generator: Generator,
) -> Int[ndarray, "N R C"]:
    """Draw a second column, and give the third: the sum or difference of the first two.

    `extra` is 1 where levels count from zero what their values count from one.
    """
    sign = sign[:, None]
    room = np.where(sign > 0, highest - first - extra, first - lowest - extra)
    second = lowest + below(generator, first.shape, room - lowest + 1)
    return np.stack([first, second, first + sign * (second + extra)], axis=2).astype(np.int8)


def _colour_sums(
    first: Int[ndarray, "N R"], sign: Int[ndarray, "N"], highest: int, generator: Generator
) -> Int[ndarray, "N R C"]:
    """Draw colours whose third is the sum or difference of the first two.

    White adds nothing, so were it in the second column of the first two rows, a sum could not be told from
    a difference: if it is in the first row, the second row is kept from it.
    """
    first = first.copy()
    adds = sign > 0
    drawn = np.empty_like(first)
    drawn[:, 0] = below(generator, first[:, 0].shape, np.where(adds, highest - first[:, 0], first[:, 0]) + 1)
    alarm = drawn[:, 0] == 0
    stuck = alarm & (first[:, 1] == np.where(adds, highest, 0))  # only white is left for the second column
    other = below(generator, alarm.shape, np.full_like(sign, highest)) + np.where(adds, 0, 1)
    first[:, 1] = np.where(stuck, other, first[:, 1])
    room = np.where(adds[:, None], highest - first, first)
    drawn[:, 1:] = below(generator, first[:, 1:].shape, room[:, 1:] + 1)
    coloured = 1 + below(generator, alarm.shape, np.maximum(room[:, 1], 1))
    drawn[:, 1] = np.where(alarm & (drawn[:, 1] == 0), coloured, drawn[:, 1])
    return np.stack([first, drawn, first + sign[:, None] * drawn], axis=2).astype(np.int8)


def _triples(low: Int[ndarray, "N"], high: Int[ndarray, "N"], generator: Generator) -> Int[ndarray, "N R C"]:
    """Draw three different levels, and shift them cyclically from row to row."""
    keys = generator.random((len(low), int((high - low).max()) + 1))
    keys[np.arange(keys.shape[1]) > (high - low)[:, None]] = 2
    three = low[:, None] + ranking(keys)[:, :3]
    return np.take_along_axis(three[:, None], _shifts(len(low), generator), axis=2).astype(np.int8)


def _shifts(number: int, generator: Generator) -> Int[ndarray, "N R C"]:
    """Say which of the three stands where: the second and third row shift by one and two, or two and one."""
    first = 1 + below(generator, (number,), np.full(number, 2, np.int8))
    rows = np.stack([np.zeros_like(first), first, 3 - first], axis=1)
    return (rows[..., None] + np.arange(3)) % 3


def _sets(
    number: Int[ndarray, "N R C"],
    order: Int[ndarray, "N R C S"],
    sign: Int[ndarray, "N"],
    low: Int[ndarray, "N"],
    high: Int[ndarray, "N"],
    generator: Generator,
) -> tuple[ndarray, ndarray]:
    """Draw second columns until the union grows or the difference is not empty; give all three columns."""
    number, order = number.copy(), order.copy()
    size = order.shape[-1]
    shape = number.shape[:2]
    adds, low, span = (np.repeat(one[:, None], 3, 1) for one in (sign > 0, low, high - low + 1))
    first = masks(number[..., 0], order[..., 0, :])
    second = np.zeros_like(first)
    left = np.ones(shape, bool)
    while left.any():
        drawn = low[left] + below(generator, (int(left.sum()),), span[left])
        places = orders(generator, drawn.shape, size)
        number[left, 1], order[left, 1] = drawn, places
        second[left] = masks(drawn, places)
        left = np.where(adds, second & ~first, first & ~second) == 0
    third = np.where(adds, first | second, first & ~second)
    inside = third[..., None] >> np.arange(size) & 1
    number[..., 2] = inside.sum(-1)
    order[..., 2, :] = ranking(-inside)
    return number, order


def _three_sets(
    number: Int[ndarray, "N"], order: Int[ndarray, "N C S"], generator: Generator
) -> Int[ndarray, "N R C S"]:
    """Draw three different sets of slots, and shift them cyclically from row to row."""
    order = order.copy()
    left = np.arange(len(number))
    while len(left):
        found = masks(number[left, None], order[left])
        same = (found == np.roll(found, 1, axis=1)).any(axis=1)
        left = left[same]
        order[left] = orders(generator, (len(left), 3), order.shape[-1])
    return np.take_along_axis(order[:, None], _shifts(len(number), generator)[..., None], axis=2)


def _of(key: str, answers: str) -> Callable[[int, int], Problems]:
    def simulator(number: int, seed: int) -> Problems:
        return simulate(key, number, seed=seed, answers=answers)

    simulator.__doc__ = f"Draw problems of {key} with the answers of {answers}."
    return simulator


SIMULATORS: dict[str, Callable[[int, int], Problems]] = {
    key if answers == "raven" else f"{key}/{answers}": _of(key, answers)
    for answers in answering.ANSWERS
    for key in KEYS
}
"""For the command line: ``center_single``, ..., and with other answers ``center_single/i-raven``, ..."""
