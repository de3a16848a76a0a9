"""Teacher's edition of `modality_alignment`: solutions, wrong answers, and what each of them teaches."""

from functools import partial
from itertools import combinations

import torch

from reasonlib.grading.edition import Mistake, Solved


def products(x, y, centre=True):
    if centre:
        x, y = x - x.mean(0), y - y.mean(0)
    return x.T @ y


def linear_cka(x, y):
    return products(x, y).square().sum() / (products(x, x).norm() * products(y, y).norm())


def unit(rows):
    return rows / rows.norm(dim=1, keepdim=True)


def share(nearest):
    return (nearest == torch.arange(len(nearest))).double().mean()


def retrieval(words, frames):
    return share((unit(words) @ unit(frames).T).argmax(1))


def attend(context, words, axis=-1):
    return (context @ words.transpose(-1, -2)).softmax(axis) @ words


def match(context, question, answers, order="caqAQ", axis=-1):
    parts = torch.broadcast_tensors(context, attend(context, answers, axis), attend(context, question, axis))
    named = dict(zip("caq", parts, strict=True))
    named |= {"A": named["a"] * named["c"], "Q": named["q"] * named["c"]}
    return torch.cat([named[name] for name in order], -1)


def ask_about_video(scene, draw):
    actor = draw.choice(scene.actors)
    answers = [each.colour for each in scene.actors]
    draw.shuffle(answers)
    return f"what colour is the {actor.shape} ?", answers, answers.index(actor.colour)


def ask_what_is_said(scene, draw):
    line = draw.choice(scene.lines)
    answers = [each.shape for each in scene.lines]
    draw.shuffle(answers)
    return f"what does {line.speaker} {line.verb} ?", answers, answers.index(line.shape)


def ask_always_first(scene, draw):
    question, answers, right = ask_about_video(scene, draw)
    answer = answers.pop(right)
    return question, [answer, *answers], 0


def ask_with_foils(scene, draw):
    answers = [scene.actors[0].colour, "north", "seven", "slowly", "perhaps"]
    draw.shuffle(answers)
    return "what colour is the first object ?", answers, answers.index(scene.actors[0].colour)


def ask_at_random(scene, draw):
    _, answers, right = ask_about_video(scene, draw)
    return "what colour is the object ?", answers, right


def ask_the_same(scene, draw):
    answers = ["ball", "moon", "sea", "house", "tree"]
    draw.shuffle(answers)
    return "what is round and can be thrown ?", answers, answers.index("ball")


def lying_batch(generator):
    return torch.randn(24, 2000, generator=generator), torch.randn(24, 2000, generator=generator)


def twins(generator):
    x = torch.randn(24, 2000, generator=generator)
    return x, x


def small_space(generator):
    return torch.randn(32, 16, generator=generator), torch.randn(32, 16, generator=generator)


def repeated(generator):
    x = torch.randn(24, 2000, generator=generator)
    return x[[0, 4] * 12], x[[0, 4] * 12]


def two_rows(generator):
    return torch.randn(2, 3, generator=generator), torch.randn(2, 3, generator=generator)


def rotation(words, frames):
    left, _, right = torch.linalg.svd(words.T @ frames)
    return left @ right


def stretched(words, frames):
    left, sizes, right = torch.linalg.svd(words.T @ frames)
    return left @ torch.diag(sizes) @ right


def transposed_twice(words, frames):
    left, _, right = torch.linalg.svd(words.T @ frames)
    return left @ right.T


def never_mirrored(words, frames):
    left, _, right = torch.linalg.svd(words.T @ frames)
    left[:, -1] *= (left @ right).det().sign()
    return left @ right


def normalised(rows):
    rows = rows - rows.mean(0)
    return rows / rows.square().mean(0).sqrt()


def collapse(count, width):
    rows = torch.ones(count, width)
    rows[0] = -(count - 1)
    return normalised(rows)


def two_directions(count, width):
    return normalised((torch.arange(count) % 2)[:, None].expand(count, width).float())


def exchange(scene, speaker, streams=("actors", "lines")):
    index = [line.speaker for line in scene.lines].index(speaker)
    next_index = (index + 1) % len(scene.lines)
    changed = {}
    for name in streams:
        row = list(getattr(scene, name))
        row[index], row[next_index] = row[next_index], row[index]
        changed[name] = tuple(row)
    return scene._replace(**changed)


def rolled(scene, actors, lines):
    return scene._replace(
        actors=scene.actors[actors:] + scene.actors[:actors], lines=scene.lines[lines:] + scene.lines[:lines]
    )


def shuffled_cka(x, y, centre=True, below=1):
    if centre:
        x, y = x - x.mean(0), y - y.mean(0)
    first, second = x @ x.T, y @ y.T
    return first.trace() * second.trace() / (len(x) - below) / (first.norm() * second.norm())


def one_shuffle(x, y):
    return linear_cka(x, y[torch.randperm(len(y), generator=torch.Generator().manual_seed(0))])


def gains(aligned, plain):
    total = sum(aligned) + sum(plain)
    groups = combinations([*aligned, *plain], len(aligned))
    return [2 * sum(group) - total for group in groups], sum(aligned) - sum(plain)


def chance_share(aligned, plain):
    divided, measured = gains(aligned, plain)
    return sum(gain >= measured for gain in divided) / len(divided)


def larger_alone(aligned, plain):
    divided, measured = gains(aligned, plain)
    return sum(gain > measured for gain in divided) / len(divided)


def both_signs(aligned, plain):
    divided, measured = gains(aligned, plain)
    return sum(abs(gain) >= measured for gain in divided) / len(divided)


def single_runs(aligned, plain):
    return sum(a > b for a in aligned for b in plain) / (len(aligned) * len(plain))


EDITION = {
    "linear_cka": Solved(
        linear_cka,
        [
            Mistake(
                lambda x, y: (
                    products(x, y, centre=False).square().sum()
                    / (products(x, x, centre=False).norm() * products(y, y, centre=False).norm())
                ),
                "centre both first",
                "without centring a common offset looks like similarity",
            ),
            Mistake(
                lambda x, y: products(x, y).square().sum() / (len(x) - 1) ** 2,
                "this is HSIC",
                "HSIC grows with the scale; CKA must not",
            ),
            Mistake(
                lambda x, y: products(x, y).norm() / (products(x, x).norm() * products(y, y).norm()),
                "squared norm",
                "equation 5.2 has the squared Frobenius norm",
            ),
            Mistake(
                lambda x, y: (
                    products(x, y).square().sum()
                    / (products(x, x).square().sum() * products(y, y).square().sum())
                ),
                "the root of the product",
                "a normalised quantity has the same power above and below",
            ),
        ],
    ),
    "retrieval": Solved(
        retrieval,
        [
            Mistake(
                lambda words, frames: share((words @ frames.T).argmax(1)),
                "divide each row by its length",
                "long vectors win every comparison of dot products",
            ),
            Mistake(
                lambda words, frames: share((unit(words) @ unit(frames).T).argmax(0)),
                "not for each frame among the words",
                "which way one searches matters",
            ),
            Mistake(
                lambda words, frames: share(torch.cdist(words, frames).argmin(1)),
                "not the smallest distance",
                "attention compares by products, not by distances",
            ),
            Mistake(
                lambda words, frames: (unit(words) * unit(frames)).sum(1).mean(),
                "this is the mean cosine similarity",
                "a mean cosine can be high when all frames are alike",
            ),
        ],
    ),
    "match": Solved(
        match,
        [
            Mistake(
                partial(match, order="cqaQA"),
                "first what is read from the answer",
                "the second LSTM has learned one order",
            ),
            Mistake(
                partial(match, axis=-2),
                "the softmax runs over the words",
                "each query has an attention distribution of its own",
            ),
            Mistake(
                partial(match, order="caqaq"),
                "products with the context",
                "the products tell the LSTM where both agree",
            ),
        ],
    ),
    "ask_about_video": Solved(
        ask_about_video,
        [
            Mistake(
                ask_what_is_said, "with other subtitles", "a question about what is said needs the subtitles"
            ),
            Mistake(ask_always_first, "in random order", "a model learns a fixed place at once"),
            Mistake(ask_at_random, "two right answers", "a question must say which object it means"),
            Mistake(
                ask_with_foils,
                "the other four answers are seldom right",
                "four answers that never fit tell which one does",
            ),
            Mistake(
                ask_the_same, "the words give it away", "text bias: common sense answers without the video"
            ),
        ],
        open="the student invents the question",
    ),
    "lying_batch": Solved(
        lying_batch,
        [
            Mistake(twins, "yours belong together", "equal representations are similar: CKA is right here"),
            Mistake(
                small_space, "more dimensions, or fewer examples", "the bias grows with D and falls with N"
            ),
            Mistake(repeated, "two rows are the same", "copies make a structure by hand"),
            Mistake(two_rows, "16 to 64 rows", "two centred points always have CKA 1"),
        ],
        open="the student draws the batch",
    ),
    "rotation": Solved(
        rotation,
        [
            Mistake(
                lambda words, frames: torch.linalg.lstsq(words, frames).solution,
                "least squares also stretches",
                "a linear map may change the shape; then it fits pairs that do not match",
            ),
            Mistake(stretched, "leave the singular values out", "U and V rotate, S stretches"),
            Mistake(
                lambda words, frames: rotation(frames, words),
                "this rotates frames onto words",
                "the inverse of a rotation is its transpose",
            ),
            Mistake(transposed_twice, "transposed already", "torch returns V transposed, not V"),
            Mistake(never_mirrored, "may mirror", "CKA sees neither a rotation nor a reflection"),
        ],
    ),
    "collapse": Solved(
        collapse,
        [
            Mistake(
                lambda count, width: torch.ones(count, width),
                "a column has a mean of 1.00",
                "rows that are all equal do not pass batch normalisation",
            ),
            Mistake(
                lambda count, width: normalised(torch.ones(count, width)),
                "every number must be finite",
                "equal rows less their mean are zero, and zero cannot be scaled",
            ),
            Mistake(
                two_directions,
                "the mean cosine similarity of different rows is",
                "rows of one length must balance half against half, and the cosine is near 0",
            ),
            Mistake(
                lambda count, width: normalised(
                    torch.randn(count, width, generator=torch.Generator().manual_seed(0))
                ),
                "the mean cosine similarity of different rows is",
                "normally distributed rows point in all directions",
            ),
            Mistake(
                lambda count, width: 2 * collapse(count, width),
                "a column has a variance of 4.00",
                "scale does not change the cosine, but batch normalisation fixes it",
            ),
        ],
    ),
    "second_scene": Solved(
        exchange,
        [
            Mistake(
                lambda scene, speaker: scene,
                "your subtitles do not change the answer",
                "with one scene there is one case, which a sum can answer",
            ),
            Mistake(
                lambda scene, speaker: exchange(scene, speaker, ("lines",)),
                "your video does not change the answer",
                "with one video the subtitles alone can decide",
            ),
            Mistake(
                lambda scene, speaker: exchange(scene, speaker, ("actors",)),
                "your subtitles do not change the answer",
                "with the same subtitles the video alone can decide",
            ),
            Mistake(
                lambda scene, speaker: rolled(scene, 1, 1),
                "give the mixtures one answer",
                "three answers do not contradict each other: scores can satisfy all four cases",
            ),
            Mistake(
                lambda scene, speaker: rolled(scene, 1, -1),
                "give both scenes one answer",
                "the contradiction needs both scenes on one side, both mixtures on the other",
            ),
        ],
    ),
    "shuffled_cka": Solved(
        shuffled_cka,
        [
            Mistake(linear_cka, "in the order in which they are given", "CKA of pairs, not of shuffled rows"),
            Mistake(
                one_shuffle, "rows with", "one order is a sample: the mean over all orders needs no shuffle"
            ),
            Mistake(
                partial(shuffled_cka, centre=False),
                "centre both clouds first",
                "an offset is one more direction that all examples share",
            ),
            Mistake(
                partial(shuffled_cka, below=0),
                "not N",
                "centring takes one direction away: C has trace N - 1",
            ),
            Mistake(lambda x, y: 0.0, "only the unbiased estimate", "plain CKA is never below 0"),
        ],
    ),
    "chance_share": Solved(
        chance_share,
        [
            Mistake(larger_alone, "also those that are equal", "the measured division is one of them"),
            Mistake(
                lambda aligned, plain: 1 - chance_share(aligned, plain),
                "not those with a smaller one",
                "a small share speaks against chance",
            ),
            Mistake(both_signs, "leave the sign as it is", "a one-sided and a two-sided question differ"),
            Mistake(
                single_runs,
                "do not compare single runs",
                "the share of wins measures an effect, not how often chance produces it",
            ),
        ],
    ),
}
