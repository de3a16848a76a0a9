"""Teacher's edition of `maths_qa`: solutions, wrong answers, and what each of them teaches."""

from collections import defaultdict
from functools import partial

import torch

from reasonlib.grading.edition import Mistake, Solved
from reasonlib.maths_qa.models.decoding import answer as solve
from reasonlib.maths_qa.models.pretrained import from_pretrained
from reasonlib.maths_qa.page.probing import PLACES, digit_questions


def mean_accuracy(predictions, answers, modules):
    right = defaultdict(list)
    for prediction, answer, module in zip(predictions, answers, modules, strict=True):
        right[module].append(prediction == answer)
    return sum(sum(hits) / len(hits) for hits in right.values()) / len(right)


def pooled_accuracy(predictions, answers, modules):
    return sum(a == b for a, b in zip(predictions, answers, strict=True)) / len(answers)


def any_order(predictions, answers, modules):
    return mean_accuracy([sorted(text) for text in predictions], [sorted(text) for text in answers], modules)


def remembering(modules):
    scores = []
    for entropy, draws, frequent in modules:
        unseen = (1 - 10.0**-entropy) ** draws
        scores.append(1 - unseen + unseen * frequent)
    return sum(scores) / len(scores)


def without_repeats(modules):
    scores = []
    for entropy, draws, frequent in modules:
        seen = min(1, draws / 10**entropy)
        scores.append(seen + (1 - seen) * frequent)
    return sum(scores) / len(scores)


def guess_for_all(modules):
    return remembering([(entropy, draws, 0) for entropy, draws, _ in modules]) + sum(
        frequent for _, _, frequent in modules
    ) / len(modules)


def mean_module(modules):
    return remembering([[sum(column) / len(modules) for column in zip(*modules, strict=True)]])


def wrong_reason(digits=(7, 8, 9), each=300):
    """Search among long numbers for answers that do not change with the digit that is asked for."""
    model, pairs = from_pretrained().model, []
    for problem in (problem for size in digits for problem in digit_questions(size, each, seed=1)):
        if solve(model, problem.question).text != problem.answer:
            continue
        number, digit_place = (
            problem.question.split()[-1][:-1],
            PLACES.index(problem.question[12:].split(" digit")[0]) + 1,
        )
        other = (int(problem.answer) + 1) % 9 + 1
        position = len(number) - digit_place
        changed = problem.question.replace(number, f"{number[:position]}{other}{number[position + 1 :]}")
        if solve(model, changed).text == problem.answer:
            pairs.append((problem.question, changed))
        if len(pairs) == 3:
            return pairs
    raise ValueError("the model reads every digit")


def digit_question(digit_place, *numbers):
    """Ask for one digit of several numbers."""
    return tuple(f"What is the {digit_place} digit of {number}?" for number in numbers)


def mask(ids, dice, kinds, random_ids, mask_id):
    chosen = dice < 0.15
    inputs = torch.where(chosen & (kinds < 0.8), mask_id, ids)
    inputs = torch.where(chosen & (kinds >= 0.8) & (kinds < 0.9), random_ids, inputs)
    return inputs, torch.where(chosen, ids, -100)


def mask_everything_chosen(ids, dice, kinds, random_ids, mask_id):
    return torch.where(dice < 0.15, mask_id, ids), mask(ids, dice, kinds, random_ids, mask_id)[1]


def nothing_stays(ids, dice, kinds, random_ids, mask_id):
    return mask(ids, dice, kinds.clamp(max=0.89), random_ids, mask_id)


def labels_everywhere(ids, dice, kinds, random_ids, mask_id):
    return mask(ids, dice, kinds, random_ids, mask_id)[0], ids


def labels_of_inputs(ids, dice, kinds, random_ids, mask_id):
    inputs, labels = mask(ids, dice, kinds, random_ids, mask_id)
    return inputs, torch.where(labels == -100, labels, inputs)


def restarting_positions(segments):
    here = torch.arange(segments.shape[1]).expand(segments.shape)
    return here - segments * (1 - segments).sum(1, keepdim=True)


def layer(tokens, width, hidden):
    return tokens * (4 * width**2 + 2 * width * hidden) + 2 * tokens**2 * width


def equal_compute(pretraining, fine_tuning, question, answer, width, hidden, *, attends=True, memory=True):
    mlm = layer(question + answer, width, hidden)
    tuned = layer(question, width, hidden) + layer(answer, width, hidden)
    if attends:
        tuned += 2 * (answer + question * memory) * width**2 + 2 * answer * question * width
    return fine_tuning + pretraining * mlm / tuned


def longest_carry(first, second):
    longest = run = carry = 0
    while first or second:
        carry = (first % 10 + second % 10 + carry) // 10
        run = run + 1 if carry else 0
        longest = max(longest, run)
        first, second = first // 10, second // 10
    return longest


def carries(first, second, *, chained=True):
    columns, carry = [], 0
    while first or second:
        carry = (first % 10 + second % 10 + carry * chained) // 10
        columns.append(carry)
        first, second = first // 10, second // 10
    return columns


def longest_without_chain(first, second):
    return max(map(len, "".join(map(str, carries(first, second, chained=False))).split("0")), default=0)


def place_values(text):
    places, digit_place = [], 0
    for character in reversed(text):
        digit_place = digit_place + 1 if character.isdigit() else 0
        places.append(digit_place)
    return places[::-1]


def places_from_the_left(text):
    return place_values(text[::-1])[::-1]


def places_going_on(text):
    places, count = [], 0
    for character in reversed(text):
        count += character.isdigit()
        places.append(count if character.isdigit() else 0)
    return places[::-1]


def short_sighted(columns, reach):
    pattern = 0.45 * 0.1**reach
    right = [1.0] * (reach + 1)
    for before in range(columns - reach):
        right.append(right[-1] - pattern * right[before])
    return right[columns]


def short_chains(columns, reach):
    """Take every chain of carries longer than the reach for a mistake."""
    runs = {0: 1.0}
    for _ in range(columns):
        after = dict.fromkeys(range(reach + 1), 0.0)
        for run, probability in runs.items():
            carries = 0.55 if run else 0.45
            after[0] += probability * (1 - carries)
            if run < reach:
                after[run + 1] += probability * carries
        runs = after
    return sum(runs.values())


def independent_windows(columns, reach):
    return (1 - 0.45 * 0.1**reach) ** max(columns - reach, 0)


EDITION = {
    "mean_accuracy": Solved(
        mean_accuracy,
        [
            Mistake(pooled_accuracy, "counted every question the same", "macro and micro averages differ"),
            Mistake(any_order, "the order of the characters", "exact match is exact"),
            Mistake(
                lambda *a: 100 * mean_accuracy(*a),
                "not per cent",
                "shares and per cent must not be mixed in a table",
            ),
            Mistake(
                lambda predictions, answers, modules: (
                    mean_accuracy(predictions, answers, modules) * len(set(modules))
                ),
                "not their sum",
                "divide by the number of modules",
            ),
        ],
    ),
    "remembering": Solved(
        remembering,
        [
            Mistake(
                without_repeats,
                "draws can repeat a question",
                "as many draws as possible questions leave more than a third of them unseen",
            ),
            Mistake(
                lambda modules: remembering([(entropy, draws, 0) for entropy, draws, _ in modules]),
                "the model also guesses",
                "a model without knowledge still earns what the most frequent answer earns",
            ),
            Mistake(
                guess_for_all,
                "for unseen questions alone",
                "two ways to be right: do not count a question twice",
            ),
            Mistake(
                mean_module,
                "average the scores of the modules",
                "the score is no linear function of entropy: a mean module hides the easy ones",
            ),
        ],
    ),
    "wrong_reason": Solved(
        wrong_reason,
        [
            Mistake(
                lambda: [digit_question("tens", 51, 61)] * 3,
                "three different pairs",
                "one case three times is one case",
            ),
            Mistake(
                lambda: [("Is 7 a prime?", f"Is {n} a prime?") for n in range(1, 4)],
                "must ask for a digit",
                "the check must know the right answers",
            ),
            Mistake(
                lambda: [digit_question("units", n, n + 111) for n in (123, 234, 345)],
                "exactly one character",
                "change one thing at a time",
            ),
            Mistake(
                lambda: [digit_question("tens", n, n + 1) for n in (123, 234, 345)],
                "the same right answer",
                "the changed digit must be the one that matters",
            ),
            Mistake(
                lambda: [digit_question("units", n, n + 1) for n in (1234, 2345, 3456)],
                "not right|reads this digit",
                "search with the model; a guess is no evidence",
            ),
        ],
        open="the student chooses the questions",
    ),
    "mask": Solved(
        mask,
        [
            Mistake(
                mask_everything_chosen,
                "all chosen characters are masked",
                "why some characters stay: the model never sees a mask when it is fine-tuned",
            ),
            Mistake(nothing_stays, "the last tenth", "an unchanged character must be checked, too"),
            Mistake(
                labels_everywhere, "all others get -100", "the loss is computed where something is hidden"
            ),
            Mistake(
                labels_of_inputs, "not what stands in the input", "inputs and labels are different things"
            ),
        ],
    ),
    "restarting_positions": Solved(
        restarting_positions,
        [
            Mistake(
                lambda segments: torch.arange(segments.shape[1]).expand(segments.shape),
                "must begin again",
                "then the decoder would meet positions that pre-training never gave to answers",
            ),
            Mistake(
                lambda segments: restarting_positions(segments) + segments,
                "has position 0, not 1",
                "[SOS] is the first character of the answer",
            ),
            Mistake(
                lambda segments: restarting_positions(segments) + 1, "count from 0", "the table begins at 0"
            ),
            Mistake(
                lambda segments: restarting_positions(segments[:1].expand(segments.shape)),
                "differ in length",
                "a batch holds questions of many lengths",
            ),
        ],
    ),
    "equal_compute": Solved(
        equal_compute,
        [
            Mistake(
                lambda pretraining, fine_tuning, *sizes: pretraining + fine_tuning,
                "weigh it",
                "a step is no unit of cost",
            ),
            Mistake(
                partial(equal_compute, attends=False),
                "the decoder attends to the question",
                "attention from answer to question is what makes the decoder dearer",
            ),
            Mistake(
                partial(equal_compute, memory=False),
                "keys and values of the question",
                "the decoder projects the whole question once more, in every layer",
            ),
            Mistake(
                lambda pretraining, fine_tuning, *sizes: equal_compute(pretraining, 0, *sizes),
                "steps of fine-tuning themselves",
                "the cost of both stages counts",
            ),
        ],
    ),
    "longest_carry": Solved(
        longest_carry,
        [
            Mistake(longest_without_chain, "because of the carry", "9 + 0 carries where a carry comes in"),
            Mistake(
                lambda *a: sum(carries(*a)), "the number of all columns", "a chain is a run of neighbours"
            ),
            Mistake(lambda *a: int(any(carries(*a))), "how long", "the length is the difficulty"),
        ],
    ),
    "place_values": Solved(
        place_values,
        [
            Mistake(places_from_the_left, "from the right", "units stand at the end, at any length"),
            Mistake(places_going_on, "begins again", "each number has its own units"),
            Mistake(
                lambda text: [max(digit_place - 1, 0) for digit_place in place_values(text)],
                "units are not 0",
                "0 is for characters that are no digits",
            ),
            Mistake(
                lambda text: [int(character.isdigit()) for character in text],
                "not whether it is one",
                "the place carries the information, not that there is a digit",
            ),
        ],
    ),
    "short_sighted": Solved(
        short_sighted,
        [
            Mistake(
                short_chains,
                "only a column of 9 passes a carry on",
                "most carries come from the next column; a long chain need not carry anything far",
            ),
            Mistake(
                independent_windows,
                "not independent",
                "two patterns cannot overlap, so they exclude each other in neighbouring columns",
            ),
            Mistake(
                lambda columns, reach: 1 - 0.45 * 0.1**reach * max(columns - reach, 0),
                "do not subtract it twice",
                "the mean number of mistakes is more than the probability of one",
            ),
            Mistake(
                lambda columns, reach: short_sighted(columns - 1, reach),
                "the last carry",
                "four columns have five digits: the model writes the fifth first",
            ),
            Mistake(
                lambda columns, reach: (1 - 0.1**reach) ** max(columns - reach, 0),
                "unless a carry comes into them",
                "nines alone do no harm: the adder assumes that no carry arrives",
            ),
        ],
    ),
}
