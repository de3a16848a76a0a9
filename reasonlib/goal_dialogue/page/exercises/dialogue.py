"""Exercises of the chapter "A dialogue as memory".

Axes: B turns, D width.
"""

import random
from collections.abc import Mapping

from reasonlib.goal_dialogue.page.exercises.questions import LOOK, QUESTIONS
from reasonlib.grading.checks import Answer, exercise, expect, expect_close, expect_equal, hint

__all__ = ["check_most_alike", "check_next_question", "check_whole_dialogues"]


@exercise(title="Ask for what is missing", minutes=10, points=1)
@hint("The questions have a fixed order: cuisine, location, number of people, price.")
def check_next_question(answer: Answer, seed: int) -> None:
    """Check ``next_question(slots)``: what a system says once the user has given the slots in `slots`.

    ``slots`` maps ``cuisine``, ``location``, ``number`` and ``price`` to what the user said; a slot that is
    not known is missing. The answer is one of the system's five sentences.
    """
    full = {"cuisine": "thai", "location": "rome", "number": "six", "price": "cheap"}
    cases: list[tuple[dict[str, str], str]] = [
        ({}, "nothing is known yet"),
        ({"price": "cheap"}, "the price came first, but the order of the questions does not change"),
        ({"cuisine": "thai"}, "the cuisine is known"),
        ({"location": "rome", "cuisine": "thai"}, "two slots are known"),
        ({"number": "six", "cuisine": "thai", "price": "cheap"}, "only the location is missing"),
        ({"number": "six", "cuisine": "thai", "location": "rome"}, "only the price is missing"),
        (full, "nothing is missing: the system starts its search"),
    ]
    draw = random.Random(seed)
    for _ in range(20):
        chosen = draw.sample(list(full), draw.randint(0, 4))
        values = ["british", "madrid", "eight", "moderate", *full.values()]
        filled = {slot: draw.choice(values) for slot in chosen}
        cases.append((filled, f"known are {', '.join(chosen) or 'no slots'}, whatever their values"))
    for slots, why in cases:
        right = next((question for slot, question in QUESTIONS.items() if slot not in slots), LOOK)
        given = dict(slots)
        expect_equal(answer(given), right, f"for {slots}: {why}")
        expect(given == slots, "leave the dictionary as it was")


@exercise(title="Whole dialogues", minutes=5, points=1)
@hint("A dialogue counts if every response in it is right: all(...) of a list.")
def check_whole_dialogues(answer: Answer, seed: int) -> None:
    """Check ``whole_dialogues(right)``: the share of dialogues in which every response is right.

    ``right`` holds a list for each dialogue, with a truth value for each response.
    """
    cases = [
        ([[True, True], [True, False]], "one of two dialogues has no mistake"),
        ([[True] * 9 + [False], [True]], "nine right responses of ten are not enough"),
        ([[False], [False, True]], "each has a mistake"),
        ([[True]], "the only one is right"),
    ]
    draw = random.Random(seed)
    for _ in range(20):
        dialogues = [
            [draw.random() < 0.8 for _ in range(draw.randint(1, 6))] for _ in range(draw.randint(1, 7))
        ]
        cases.append((dialogues, "every dialogue counts once, long or short"))
    for right, why in cases:
        share = sum(map(all, right)) / len(right)
        result = answer([list(dialogue) for dialogue in right])
        expect_close(result, share, f"for {right} the share is {share:.3g}: {why}", what="the share")


@exercise(title="The most similar candidate", minutes=15, points=2)
@hint("Divide the shared weight by the length of the candidate; the input's length is the same for all.")
def check_most_alike(answer: Answer, seed: int) -> None:
    """Check ``most_alike(query, candidates, weight)``: the candidate with the largest weighted cosine.

    ``query`` is what the user said, ``weight`` maps words to their weights; a word that is not in it weighs
    nothing. Of several candidates as alike, the first is given.
    """
    weight = {"in": 0.1, "paris": 2.0, "rome": 2.0, "a": 0.1, "table": 1.0, "phone": 1.5, "is": 0.1}
    cases = [
        ("a table in rome", ["in paris", "in rome"], "the first shares no rome"),
        (
            "in rome",
            ["rome is in a table phone", "in rome"],
            "both share the same words, but the first has many others: divide by its length",
        ),
        ("a is in", ["a in is", "paris"], "paris is not shared at all"),
        ("the phone in rome", ["in a is", "phone"], "one rare word weighs more than three common ones"),
        ("unheard words", ["in rome", "in paris"], "nothing is shared: the first one"),
        ("rome", ["nowhere", "rome"], "a candidate whose words all have weight 0 has length 0"),
        (
            "rome paris",
            ["rome paris table phone", "rome is a in"],
            "the length is the root of the summed squares of the weights, not the number of words",
        ),
        (
            "rome in",
            ["rome table", "in rome a is the of"],
            "a word with weight 0 adds no length",
        ),
    ]
    draw = random.Random(seed)
    for _ in range(30):
        query = " ".join(draw.sample([*weight, "please"], 4))
        candidates = [" ".join(draw.sample([*weight, "you"], draw.randint(1, 5))) for _ in range(4)]
        cases.append((query, candidates, "another candidate has a larger cosine"))
    for query, candidates, why in cases:
        cosines = [_cosine(query, candidate, weight) for candidate in candidates]
        best = max(cosines)
        if sum(abs(value - best) < 1e-9 for value in cosines) > 1 and best > 0:
            continue  # a tie that rounding decides
        right = candidates[cosines.index(best)]
        expect_equal(answer(query, list(candidates), dict(weight)), right, f"after {query!r}: {why}")


def _cosine(query: str, candidate: str, weight: Mapping[str, float]) -> float:
    words = set(candidate.split())
    length = sum(weight.get(word, 0.0) ** 2 for word in words) ** 0.5
    both = sum(weight.get(word, 0.0) ** 2 for word in words & set(query.split()))
    return both / length if length else 0.0
