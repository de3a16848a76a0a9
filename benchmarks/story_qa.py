"""The memory network, its batches and the simulator; with a folder, a public implementation too.

REASONLIB_PEER_MEMN2N names a checkout of vinhkhuc/MemN2N-babi-python that runs on this Python (see
`reasonlib.story_qa.experiments.peer`). It is then trained in a process of its own, on the same file, in turn
with ours: the network of the joint tables, one network as the authors' code has it, and as many as the source
trains for each task. Each is validated after every epoch, all on one thread. The indented lines give rates,
by the clock and by processor time. `story_qa/peer` measures whole trainings, with the errors.
"""

import os
import tempfile
from copy import deepcopy
from pathlib import Path

import numpy as np
import torch
from clocks import Timed, print_rates
from torch.nn import functional

from reasonlib import data
from reasonlib.story_qa.data import corpus
from reasonlib.story_qa.data.encoding import build_vocabulary, encode, encode_ordered
from reasonlib.story_qa.data.example import TASKS, words
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.experiments.memory import Recipe, learn
from reasonlib.story_qa.experiments.peer import VARIABLE, PeerNetwork, checkout
from reasonlib.story_qa.experiments.per_task import RestartsRecipe, evaluate_restarts, train_restarts
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork
from reasonlib.story_qa.models.restarts import Restarts, RestartsConfig

PEER_TASKS = (1, 2, 15)  # stories of up to 10, 88 and 8 sentences
EPOCHS = 2  # of each call that compares with the peer
STARTS = 10  # networks that differ in their first weights; the source trains as many for each task


# The same network in the obvious way ------------------------------------------------------------------------


def dense(stories, items, slots):
    """Word numbers of every memory and question of a batch: (B, S, W), (B, W) and the classes (B,)."""
    encoded = [
        [stories.vocabulary.encode(words(each)) for each in (*example.story[-slots:][::-1], example.question)]
        for example in (stories.examples[item] for item in items)
    ]
    longest = max(len(sentence) for each in encoded for sentence in each)
    story = torch.zeros(len(encoded), max(len(each) for each in encoded) - 1, longest, dtype=torch.long)
    question = torch.zeros(len(encoded), longest, dtype=torch.long)
    for row, each in enumerate(encoded):
        for slot, sentence in enumerate(each[:-1]):
            story[row, slot, : len(sentence)] = torch.tensor(sentence)
        question[row, : len(each[-1])] = torch.tensor(each[-1])
    return story, question, torch.from_numpy(stories.answer[list(items)])


def order(width, longest):
    """Position encoding l of a sentence of each length J, (J, W, D)."""
    length = torch.arange(longest + 1).clamp(min=1)[:, None, None]
    word, unit = torch.arange(1, longest + 1)[:, None] / length, torch.arange(1, width + 1) / width
    return (1 - word) - unit * (1 - 2 * word)


def answer(model, story, question):
    """Scores of the answers, from the equations: every memory of every question is a vector of its own."""
    weigh = order(model.config.width, story.shape[2])

    def embed(sentence, table):
        vectors = functional.embedding(sentence, model.words[table])
        return (vectors * weigh[(sentence > 0).sum(-1)] * (sentence > 0).unsqueeze(-1)).sum(-2)

    tying, slots = model.tying, story.shape[1]
    empty = (story == 0).all(-1)
    embedded = {}
    for table in {*tying.keys, *tying.values}:
        embedded[table] = embed(story, table) + model.ages[table, :slots]
    state = embed(question, tying.query)
    for key, value in zip(tying.keys, tying.values, strict=True):
        scores = torch.einsum("bsd,bd->bs", embedded[key], state).masked_fill(empty, -torch.inf)
        state = state + torch.einsum("bs,bsd->bd", scores.softmax(1), embedded[value])
    return state @ model.words[tying.answer].T


def train(model, batches, forward):
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-4)

    def epoch():
        for batch, labels in batches:
            optimiser.zero_grad()
            functional.cross_entropy(forward(model, batch), labels).backward()
            optimiser.step()

    return epoch


def networks():
    for name, tasks, width, slots, size in (
        ("task 1, width 20, batches of 32", (1,), 20, 50, 32),
        ("all tasks, width 50, batches of 128", TASKS, 50, 130, 128),
    ):
        examples = [example for task in tasks for example in simulate(task, 512 // len(tasks), seed=1)]
        stories = encode(examples, build_vocabulary(examples))
        ranks = np.argsort(stories.lengths, kind="stable")
        plan = [ranks[start : start + size] for start in range(0, len(ranks) - size + 1, size)]
        model = MemoryNetwork(MemoryConfig(vocabulary=len(stories.vocabulary), width=width, slots=slots))
        shared = [(batch, batch.answer) for batch in (stories.batch(items, slots=slots) for items in plan)]
        plain = [dense(stories, items, slots) for items in plan]
        plain = [((story, question), labels) for story, question, labels in plain]
        for (batch, _), (each, _) in zip(shared, plain, strict=True):  # both are the same network
            torch.testing.assert_close(model(batch).logits, answer(model, *each), atol=1e-4, rtol=1e-4)
        count = size * len(plan)
        ours = Timed(train(deepcopy(model), shared, lambda model, batch: model(batch).logits), count)
        theirs = Timed(train(deepcopy(model), plain, lambda model, batch: answer(model, *batch)), count)
        yield f"train: {name}", "a vector for every memory", ours, theirs
        print_rates("questions", ours=ours, other=theirs)


# Batches and stories ----------------------------------------------------------------------------------------


def building():
    examples = [example for task in TASKS for example in simulate(task, 100, seed=1)]
    stories = encode(examples, build_vocabulary(examples))
    plan = [range(start, start + 32) for start in range(0, len(stories) - 31, 32)]
    slots, longest = 50, 16
    padded = {}
    for example in examples:
        for sentence in (*example.story, example.question):
            ids = stories.vocabulary.encode(words(sentence))
            padded[sentence] = np.pad(ids, (0, longest - len(ids)))
    memories = [
        np.array([padded[each] for each in example.story[-slots:][::-1]]).reshape(-1, longest)
        for example in examples
    ]
    questions = np.array([padded[example.question] for example in examples])

    def copied():
        for items in plan:
            story = np.zeros(
                (len(items), max(len(memories[item]) for item in items), longest), dtype=np.int64
            )
            for row, item in enumerate(items):
                story[row, : len(memories[item])] = memories[item]
            torch.from_numpy(story), torch.from_numpy(questions[items.start : items.stop])
            torch.from_numpy(stories.answer[items.start : items.stop])

    ours = Timed(lambda: [stories.batch(items, slots=slots) for items in plan], 32 * len(plan))
    theirs = Timed(copied, 32 * len(plan))
    yield "build batches of 32 questions, all tasks", "copying padded word numbers", ours, theirs
    print_rates("questions", ours=ours, other=theirs)


def telling():
    count = 20
    texts = {task: corpus.dumps(simulate(task, stories=count, seed=3)).splitlines() for task in TASKS}
    each = {task: Timed(lambda task=task: simulate(task, stories=count, seed=3), count) for task in TASKS}
    yield (
        f"simulate {count} stories of each task",
        "reading them from a file's lines",
        lambda: [each[task]() for task in TASKS],
        lambda: [corpus.parse(texts[task], f"qa{task}", task) for task in TASKS],
    )
    for task in TASKS:
        print_rates(f"stories of task {task}", ours=each[task])


# A public implementation ------------------------------------------------------------------------------------


def task_files(task, folder):
    """The released files of a task, or simulated ones where the release is not at hand."""
    try:
        corpus_folder = data.locate(corpus.CORPORA["babi"])
        return [corpus.path_of(corpus_folder, task, split, "en") for split in ("train", "test")]
    except data.DataError:
        paths = []
        for split, seed in (("train", 1), ("test", 2)):
            paths.append(Path(folder) / f"qa{task}_{split}.txt")
            paths[-1].write_text(corpus.dumps(simulate(task, 1000, seed=seed)))
        return paths


def ours(examples, valid_size, port):
    """Functions that train our networks for some epochs, with the questions and networks of each."""
    vocabulary = build_vocabulary(examples)
    stories, valid = encode(examples[:-valid_size], vocabulary), encode(examples[-valid_size:], vocabulary)
    sizes = {"vocabulary": len(vocabulary), "width": port.width, "hops": port.hops, "slots": port.slots}
    model = MemoryNetwork(MemoryConfig(**sizes))
    recipe = Recipe(epochs=EPOCHS, batch_size=port.batch, noise=0.1)
    yield (
        "of the joint tables",
        len(stories),
        1,
        lambda: learn(model, stories, recipe, valid=valid, progress=False),
    )

    ordered_train = encode_ordered(examples[:-valid_size], vocabulary, port.width)
    ordered_valid = encode_ordered(examples[-valid_size:], vocabulary, port.width, like=ordered_train)
    plan = RestartsRecipe(epochs=EPOCHS, batch_size=port.batch, linear_start=0.0)
    for starts in (1, STARTS):
        models = Restarts(RestartsConfig(restarts=starts, **sizes))

        def train(models=models):
            train_restarts(
                models,
                ordered_train,
                plan,
                progress=False,
                on_epoch=lambda row: evaluate_restarts(models, ordered_valid),
            )

        drawn = len(stories) // port.batch * port.batch  # the few that fill no batch are left out
        yield f"{starts} as the authors have it", drawn, starts, train


def peers(folder):
    with tempfile.TemporaryDirectory() as temporary:
        for task in PEER_TASKS:
            files = task_files(task, temporary)
            examples = corpus.read_file(files[0], task)
            valid_size = len(examples) // 10  # the last tenth of the questions, in both
            with PeerNetwork(folder, files[:1], files[1:]) as port:
                for name, questions, count, call in ours(examples, valid_size, port):
                    mine = Timed(call, count * EPOCHS * questions)
                    theirs = Timed(
                        lambda port=port, count=count: sum(port.train(EPOCHS) for _ in range(count)),
                        count * EPOCHS * (port.questions // port.batch) * port.batch,
                        returns_seconds=True,
                    )
                    yield (
                        f"task {task}, width {port.width}: {name}",
                        "vinhkhuc/MemN2N-babi-python",
                        mine,
                        theirs,
                    )
                    print_rates("questions", ours=mine, other=theirs)


def comparisons():
    torch.set_num_threads(1)
    yield from networks()
    yield from building()
    yield from telling()
    if os.environ.get(VARIABLE):
        yield from peers(checkout())
