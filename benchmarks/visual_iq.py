"""Problems drawn: ours alone, over cores, and beside a public generator.

REASONLIB_PEER_RAVEN names the folder I-RAVEN of a checkout of mikomel/raven-datasets, and
REASONLIB_PEER_RAVEN_PYTHON a Python that has its requirements (opencv-python above all; by default this one).
It then draws problems in a process of its own, in turn with ours, as many of the same configuration with the
same kind of answers, each on one core. First without files: its solver and its annotations are left out, and
nothing is stored. Then a released set as it lies on the disc, annotations and all. The indented lines give
rates, by the clock and by processor time.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
from clocks import Timed, print_rates

from reasonlib.visual_iq.data import corpus_writer, render
from reasonlib.visual_iq.data.example import CONFIGURATIONS, KEYS, POSITION_OF
from reasonlib.visual_iq.data.simulator import simulate

COUNT = 100  # problems of each call beside the peer
MANY = 500  # problems of each call where ours are alone


def say(label, ours, theirs):
    """Print rates and their ratio, where there is something to print."""
    if not ours.clock or not theirs.clock:
        return
    ratio = median(theirs.processor) / theirs.count / median(ours.processor) * ours.count
    print_rates(label, ours=ours, other=theirs)
    print(f"    ratio of processor times {ratio:.0f}", flush=True)


class Seeds:
    """Numbers that differ from call to call, so that no call finds what another drew."""

    def __init__(self):
        self.last = 0

    def __call__(self):
        self.last += 1
        return self.last


SEED = Seeds()


def drawn(key, count=COUNT):
    return render.render_problems(simulate(key, count, seed=SEED(), answers="i-raven"))


# Ours -------------------------------------------------------------------------------------------------------


def plainly(configuration, entities):
    """Panels put together one by one: the same sprites, without drawing many at once."""
    images = np.full((len(configuration), 160, 160), 255, dtype=np.uint8)
    for image, index, slots in zip(images, configuration, entities, strict=True):
        for position, levels in zip(POSITION_OF[index], slots, strict=True):
            if position >= 0 and levels[0]:
                sprites = render._sprites(int(position))
                view = image[sprites.window]
                picture = sprites.take(levels[None])[0]
                view[picture < 255] = picture[picture < 255]
        if CONFIGURATIONS[index].structure == "Left_Right":
            image[:, 80] = 0
        elif CONFIGURATIONS[index].structure == "Up_Down":
            image[80] = 0
    return images


def composing():
    for key in ("center_single", "distribute_nine"):
        problems = simulate(key, 60, seed=1)
        configuration = np.repeat(problems.configuration, 16)
        entities = problems.entities.reshape(-1, 9, 4)
        assert (render.render_panels(configuration, entities) == plainly(configuration, entities)).all()
        yield (
            f"draw 60 problems of {key}",
            "one panel at a time",
            lambda configuration=configuration, entities=entities: render.render_panels(
                configuration, entities
            ),
            lambda configuration=configuration, entities=entities: plainly(configuration, entities),
        )


def over_cores():
    """`joblib`: the same set written by all cores and by one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores == 1:
        print("    one core: nothing to spread over")
        return
    problems = simulate("distribute_four", MANY, seed=1)
    with tempfile.TemporaryDirectory() as folder:

        def written(workers):
            path = Path(folder) / str(SEED())
            corpus_writer.write(problems, path, workers=workers)
            shutil.rmtree(path)

        yield (f"write {MANY} problems, {cores} workers", "one", lambda: written(cores), lambda: written(1))


# A public generator -----------------------------------------------------------------------------------------

DRIVER = """
import os, sys, time
said = os.fdopen(os.dup(1), "w")
sys.stdout = sys.stderr = open(os.devnull, "w")
folder, out = sys.argv[1:]
sys.path.insert(0, folder)
os.chdir(folder)
import cv2
import main
cv2.setNumThreads(1)
whole = {"dom_problem": main.dom_problem, "solve": main.solve, "savez": main.np.savez}
print("ready", file=said, flush=True)
for line in sys.stdin:
    key, count, seed, files = line.split()
    bare = files == "no"
    main.dom_problem = (lambda *_: b"") if bare else whole["dom_problem"]
    main.solve = (lambda *_: 0) if bare else whole["solve"]
    main.np.savez = (lambda *_, **__: None) if bare else whole["savez"]
    given = ["--num-samples", count, "--seed", seed, "--save-dir", out, "--configurations", key]
    start = time.process_time()
    main.main(main.make_parser().parse_args(given))
    print(time.process_time() - start, file=said, flush=True)
"""


class Peer:
    """The other generator in a process of its own."""

    def __init__(self, folder, out):
        single_threaded = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [os.environ.get("REASONLIB_PEER_RAVEN_PYTHON", sys.executable), "-c", DRIVER, folder, out],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | single_threaded,
        )
        self.runs = self.process.stdout.readline().strip() == "ready"

    def draw(self, key, files):
        self.process.stdin.write(f"{key} {COUNT} {SEED()} {'yes' if files else 'no'}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the peer in REASONLIB_PEER_RAVEN ended early; does its main.py run?")
        return float(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def beside(folder):
    with tempfile.TemporaryDirectory() as ours_to, tempfile.TemporaryDirectory() as theirs_to:
        peer = Peer(str(Path(folder).resolve()), theirs_to)
        try:
            if not peer.runs:
                print(
                    "    the peer in REASONLIB_PEER_RAVEN does not run; set REASONLIB_PEER_RAVEN_PYTHON to a"
                )
                print("    Python that has its requirements")
                return
            for key in KEYS:
                drawn(key, MANY)
                ours = Timed(lambda key=key: drawn(key), COUNT)
                theirs = Timed(lambda key=key: peer.draw(key, False), COUNT, returns_seconds=True)
                yield f"simulate and draw {COUNT} of {key[:22]}", "mikomel/raven-datasets", ours, theirs
                say(f"problems of {key}", ours, theirs)
            for key in ("center_single", "distribute_nine"):

                def stored(key=key):
                    problems = simulate(key, COUNT, seed=SEED(), answers="i-raven")
                    corpus_writer.write(problems, Path(ours_to) / str(SEED()))

                ours = Timed(stored, COUNT)
                theirs = Timed(lambda key=key: peer.draw(key, True), COUNT, returns_seconds=True)
                yield f"store {COUNT} of {key}", "mikomel/raven-datasets", ours, theirs
                say(f"stored problems of {key}", ours, theirs)
        finally:
            peer.close()


def comparisons():
    yield from composing()
    yield from over_cores()
    if folder := os.environ.get("REASONLIB_PEER_RAVEN"):
        yield from beside(folder)
    else:
        print("    no generator to compare with: REASONLIB_PEER_RAVEN names none")
