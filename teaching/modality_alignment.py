"""Teacher's edition of `modality_alignment`: solutions, wrong answers, and what each of them teaches."""

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
    actor = draw.choice(scene.actors)
    answers = [actor.colour, "north", "seven", "slowly", "perhaps"]
    draw.shuffle(answers)
    return "what colour is the first object ?", answers, answers.index(actor.colour)


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
                lambda context, question, answers: match(context, question, answers, order="cqaQA"),
                "first what is read from the answer",
                "the second LSTM has learnt one order",
            ),
            Mistake(
                lambda context, question, answers: match(context, question, answers, axis=-2),
                "the softmax runs over the words",
                "an attention distribution belongs to who looks",
            ),
            Mistake(
                lambda context, question, answers: match(context, question, answers, order="caqaq"),
                "products with the context",
                "the products tell the LSTM where both agree",
            ),
        ],
    ),
    "ask_about_video": Solved(
        ask_about_video,
        [
            Mistake(
                ask_what_is_said,
                "with other subtitles",
                "a question about what is said needs the subtitles",
            ),
            Mistake(
                ask_always_first,
                "in random order",
                "a model learns a fixed place at once",
            ),
            Mistake(
                ask_with_foils,
                "two right answers",
                "a question must say which object it means",
            ),
            Mistake(
                ask_the_same,
                "the words give it away",
                "text bias: common sense answers without the video",
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
}
