"""How well predicted states match the labels: joint goal, slots, slots one by one, inherited slots, the gate.

By hand, with three pairs instead of thirty::

    labels     hotel-area north, taxi-destination copper inn     (train-day none)
    predicted  hotel-area north, taxi-destination quiet inn      (train-day none)
    joint goal 0, slot accuracy 2/3, inherited 0/1

A turn counts for joint goal accuracy only if all thirty pairs are right, none included. Slot accuracy counts
every pair of every turn, so that "none everywhere" already scores about 80 %.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reasonlib.state_tracking.data.example import Dialogue, Turn
from reasonlib.state_tracking.data.ontology import DONTCARE, NONE, PAIRS

__all__ = ["Scores", "gate_scores", "inherited_pairs", "score", "turn_f1"]

State = Mapping[str, str]


def _clean(state: State) -> dict[str, str]:
    return {pair: value for pair, value in state.items() if value != NONE}


def inherited_pairs(dialogue: Dialogue, turn: int) -> dict[str, str]:
    """Return the pairs whose value refers to another pair, each with the pair it refers to.

    Simulated turns say so. For real ones it is inferred: the pair got its value at this turn or before, the
    value was in neither utterance of the turn at which it appeared, and another pair had the same value.

    Parameters
    ----------
    dialogue, turn
        Which state.

    Returns
    -------
    dict
        Pair to source, for the state after that turn.
    """
    last = dialogue.turns[turn]
    if last.origins:
        return {pair: o.source for pair, o in last.origins.items() if o.source is not None}
    sources: dict[str, str] = {}
    before: State = {}
    for past in dialogue.turns[: turn + 1]:
        for pair in list(sources):
            if past.state.get(pair) != before.get(pair):
                del sources[pair]
        for pair, value in past.state.items():
            if before.get(pair) != value and (source := _reference(past, pair, value)):
                sources[pair] = source
        before = past.state
    return sources


def _reference(turn: Turn, pair: str, value: str) -> str | None:
    if value in (NONE, DONTCARE, "yes", "no", "true", "false"):
        return None
    if f" {value} " in f" {turn.system} {turn.user} ":
        return None
    return next((other for other, v in turn.state.items() if v == value and other != pair), None)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Shares between 0 and 1, and what they count.

    Attributes
    ----------
    joint_goal
        Share of turns with all pairs right.
    slot
        Share of pairs right, over all turns.
    per_slot
        The same for each pair.
    inherited, inherited_count
        Share of inherited slots right, and how many there are; None if there are none.
    f1
        Mean over turns of the F1 of filled slots, as TRADE and SOM-DST report it.
    turns
        How many turns.
    """

    joint_goal: float
    slot: float
    per_slot: Mapping[str, float]
    inherited: float | None
    inherited_count: int
    f1: float
    turns: int


def score(
    predicted: Sequence[State], labels: Sequence[State], inherited: Sequence[Mapping[str, str]] | None = None
) -> Scores:
    """Compare predicted states with labels, turn by turn.

    Parameters
    ----------
    predicted, labels
        One state a turn; a pair that is absent, or ``none``, has no value.
    inherited
        For each turn, the pairs that are inherited (`inherited_pairs`); none if not given.

    Raises
    ------
    ValueError
        If the lengths differ or there are no turns.
    """
    if len(predicted) != len(labels) or (inherited is not None and len(inherited) != len(labels)):
        raise ValueError(
            f"predicted must hold one state a turn, got {len(predicted)} for {len(labels)} turns"
        )
    if not labels:
        raise ValueError("labels must hold at least one turn, got none")
    right = dict.fromkeys(PAIRS, 0)
    joint = hits = inherited_count = 0
    f1 = 0.0
    for number, (pred, true) in enumerate(zip(predicted, labels, strict=True)):
        # excerpt: score
        pred, true = _clean(pred), _clean(true)  # without pairs that are none
        joint += pred == true  # every pair right
        f1 += turn_f1(pred, true)
        for pair in PAIRS:
            right[pair] += pred.get(pair) == true.get(pair)
        for pair in inherited[number] if inherited is not None else ():
            inherited_count += 1
            hits += pred.get(pair) == true.get(pair)
        # end excerpt
    turns = len(labels)
    return Scores(
        joint_goal=joint / turns,
        slot=sum(right.values()) / (turns * len(PAIRS)),
        per_slot={pair: count / turns for pair, count in right.items()},
        inherited=hits / inherited_count if inherited_count else None,
        inherited_count=inherited_count,
        f1=f1 / turns,
        turns=turns,
    )


def turn_f1(predicted: State, labels: State) -> float:
    """Return the F1 of one turn's filled slots; 1 if neither side fills any, 0 if only one does.

    Examples
    --------
    >>> round(turn_f1({"hotel-area": "north", "hotel-stars": "4"}, {"hotel-area": "north"}), 3)
    0.667
    """
    pred, true = set(_clean(predicted).items()), set(_clean(labels).items())
    if not true:
        return float(not pred)
    right = len(pred & true)
    return 2 * right / (len(pred) + len(true)) if right else 0.0


def gate_scores(predicted: Sequence[State], labels: Sequence[State]) -> dict[str, tuple[float, float]]:
    """Return precision and recall of each gate: ``none``, ``dontcare`` and ``prediction`` (section 4.2.2).

    A class that is never predicted has precision 0; one that never occurs has recall 0.
    """
    counts = {kind: [0, 0, 0] for kind in (NONE, DONTCARE, "prediction")}  # right, predicted, true
    for pred, true in zip(predicted, labels, strict=True):
        for pair in PAIRS:
            predicted_kind, true_kind = _kind(pred.get(pair, NONE)), _kind(true.get(pair, NONE))
            counts[predicted_kind][1] += 1
            counts[true_kind][2] += 1
            counts[predicted_kind][0] += predicted_kind == true_kind
    return {kind: (r / max(p, 1), r / max(t, 1)) for kind, (r, p, t) in counts.items()}


def _kind(value: str) -> str:
    return value if value in (NONE, DONTCARE) else "prediction"
