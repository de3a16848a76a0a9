"""Training a memory network on dialogues; with a folder, beside a public implementation.

REASONLIB_PEER_DIALOGUE names a checkout of dehuachen/chatbot_memn2n_pytorch that runs on this Python and
torch (``'(\\W+)?'`` to ``r'(\\W+)'``, ``clip_grad_norm`` to ``clip_grad_norm_``, ``Softmax()`` to
``Softmax(dim=1)``). It is trained in a process of its own, on the same file, in turn with ours: the same
width, hops, memory and batch, every candidate scored. All on one thread. Both have trained for a while when
the clock starts, since steps take longer once a network is sure of most answers. The indented lines give
rates, by the clock and by processor time. Ours builds its batches while it trains; the other does so before.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import torch
from clocks import Timed, print_rates
from torch.nn import functional

from reasonlib import data, training
from reasonlib.goal_dialogue.data import corpus, datasets
from reasonlib.goal_dialogue.data.encoding import encode_split
from reasonlib.goal_dialogue.models.memory_network import NetworkConfig, build
from reasonlib.nn.sums import sum_groups

TASKS = (1, 2, 3, 4, 5)
BATCH, WIDTH, HOPS, SLOTS = 64, 32, 3, 50
STEPS = 40  # of each call
BEFORE = 2000  # steps before the first call, so that it is the middle of a training that is timed


# Ours -------------------------------------------------------------------------------------------------------


def trainer(task):
    """Some steps of training, batches built on the way."""
    model = build(NetworkConfig(width=WIDTH, hops=HOPS, slots=SLOTS), task)
    optimiser = training.make_optimiser(model, training.TrainingConfig())
    rng = np.random.default_rng(0)

    @training.denormals_flushed()
    def steps():
        for items in rng.permutation(len(task.train))[: STEPS * BATCH].reshape(-1, BATCH):
            batch = task.train.batch(items, slots=SLOTS)
            optimiser.zero_grad()
            functional.cross_entropy(model(batch).logits, batch.response).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 40.0)
            optimiser.step()

    for _ in range(BEFORE // STEPS):
        steps()
    return steps


def sums(task):
    """Bags of words as vectors, beside torch's own function for it."""
    groups, width = task.bags.words, WIDTH
    table = torch.randn(groups.rows, width, requires_grad=True)
    weight = torch.randn(len(groups), width)

    def both(embed):
        table.grad = None
        (embed() * weight).sum().backward()

    starts = groups.starts[:-1].contiguous()
    ours = Timed(lambda: both(lambda: sum_groups(table, groups)), len(groups))
    theirs = Timed(
        lambda: both(lambda: functional.embedding_bag(groups.members, table, starts, mode="sum")), len(groups)
    )
    yield "embed the candidates, and back", "torch's embedding_bag", ours, theirs
    print_rates("candidates", ours=ours, other=theirs)


# A public implementation ------------------------------------------------------------------------------------

DRIVER = """
import os, sys, time
output = os.fdopen(os.dup(1), "w")
sys.stdout = open(os.devnull, "w")
folder, data_folder, *sizes = sys.argv[1:]
task, batch, width, hops, slots, steps, before = map(int, sizes)
sys.path.insert(0, folder)
from itertools import chain
import numpy as np
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)
from data_utils import load_candidates, load_dialog_task, vectorize_candidates, vectorize_data
from memn2n_pytorch import MemN2NDialog
candidates, numbers = load_candidates(data_folder, task)
train, test, valid = load_dialog_task(data_folder, task, numbers, False)
seen = train + test + valid
words = set(chain.from_iterable(list(chain.from_iterable(s)) + q for s, q, a in seen))
words = {word: index + 1 for index, word in enumerate(sorted(words | set(chain.from_iterable(candidates))))}
longest = max(map(len, chain(chain.from_iterable(s for s, _, _ in seen), (q for _, q, _ in seen))))
embedded = vectorize_candidates(candidates, words, max(map(len, candidates)))
model = MemN2NDialog(batch, len(words) + 1, len(candidates), longest, width, embedded, hops=hops)
S, Q, A = vectorize_data(train, words, longest, batch, len(candidates), slots)
starts = list(range(0, len(S) - batch, batch))
def fit(steps):
    for start in np.random.choice(starts, steps):
        end = start + batch
        model.batch_fit(*(torch.from_numpy(np.stack(part[start:end])) for part in (S, Q, A)))
fit(before)
print("ready", file=output, flush=True)
for _ in sys.stdin:
    clock = time.process_time()
    fit(steps)
    print(time.process_time() - clock, file=output, flush=True)
"""


class Peer:
    """The other implementation in a process of its own; a call trains it for some steps."""

    def __init__(self, folder, data_folder, task):
        thread_limits = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        sizes = map(str, (task, BATCH, WIDTH, HOPS, SLOTS, STEPS, BEFORE))
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(folder), str(data_folder), *sizes],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | thread_limits,
        )
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(
                "the peer in REASONLIB_PEER_DIALOGUE ended early; does its memn2n_pytorch.py run?"
            )
        return line

    def __call__(self):
        self.process.stdin.write("again\n")
        self.process.stdin.flush()
        return float(self.answer())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def released(temp_folder):
    """Name the set to train on, and the folder with its files; simulated where the release is not at hand."""
    try:
        return "dialog-babi", corpus.locate()
    except data.DataError:
        for task in TASKS:
            corpus.write_split(datasets.load("simulated", task, dialogues=200), temp_folder)
        return "simulated", Path(temp_folder)


def say_total(passes):
    """Print the time of a pass over all tasks as a ratio, from the rates of each."""
    if len(passes) < len(TASKS) or not all(ours.clock for _, ours, _ in passes):
        return
    ratios = {}
    for name in ("clock", "processor"):
        ours, theirs = (
            sum(turns * median(getattr(sides[side], name)) for turns, *sides in passes) for side in (0, 1)
        )
        ratios[name] = theirs / ours
    print(
        f"    a pass over all {len(TASKS)} tasks: {ratios['clock']:.2f} times the speed by the clock, "
        f"{ratios['processor']:.2f} times by processor time"
    )


def comparisons():
    torch.set_num_threads(1)
    folder = os.environ.get("REASONLIB_PEER_DIALOGUE")
    passes = []
    with tempfile.TemporaryDirectory() as temp_folder:
        name, data_folder = released(temp_folder)
        for task in TASKS:
            split = datasets.load(name, task, dialogues=None if name == "dialog-babi" else 200)
            encoded = encode_split(split)
            if task == TASKS[0]:
                yield from sums(encoded)
            if not folder:
                continue
            peer = Peer(folder, data_folder, task)
            try:
                ours = Timed(trainer(encoded), STEPS * BATCH)
                theirs = Timed(peer, STEPS * BATCH, returns_seconds=True)
                label = f"{STEPS} steps of task {task}, {HOPS} hops, width {WIDTH}, batches of {BATCH}"
                yield label, "dehuachen/chatbot_memn2n_pytorch", ours, theirs
                print_rates("turns", ours=ours, other=theirs)
                passes.append((len(encoded.train), ours, theirs))
            finally:
                peer.close()
    say_total(passes)
