#!/usr/bin/env python3
"""A training on a GPU that is killed, stopped and started without memory, again and again: in the end its weights have to
be, bit by bit, those of one that nothing happened to.

  scripts/gpu_visit/faults.py --caffe PROGRAM --results FOLDER [--seconds 300] [--iterations 600]

A round is a training with three faults, one of each kind, at moments that are drawn; rounds are begun while there is
time for one. Each start goes on from the newest snapshot.
"""

import argparse
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import lenet

NO_MEMORY = 5  # exit code, docs/errors.md
FLAGS = ("-gpu", "0", "-deterministic")


class Training:
    """One prefix of snapshots, on which trainings are started."""

    def __init__(self, options, folder, name):
        self.caffe, self.last = options.caffe, folder / f"{name}_iter_{options.iterations}.caffemodel"
        self.solver = lenet.write_solver(folder, name, max_iter=options.iterations, snapshot=options.iterations // 12,
                                         display=100, snapshot_after_train="true")
        self.log = folder / f"{name}.log"

    def start(self, *flags):
        with open(self.log, "ab") as log:
            return lenet.train(self.caffe, self.solver, *FLAGS, "-snapshot", "auto", *flags, log=log)

    def finish(self):
        code = self.start().wait()
        if code != 0:
            sys.exit(f"a training that nobody disturbed ended with {code}:\n{self.log.read_text()[-3000:]}")
        return self.last.read_bytes()


def kill(training, delay):
    """In the middle of whatever it does. It may have been done before."""
    child = training.start()
    try:
        code = child.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        child.kill()
        code = child.wait()
    return code in (0, -signal.SIGKILL), code


def stop(training, delay):
    """As batch systems do: it writes a snapshot and ends well."""
    child = training.start()
    try:
        code = child.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        child.terminate()
        code = child.wait()
    # Before it has handlers of its own a signal ends it.
    return code in (0, -signal.SIGTERM), code


def starve(training, _):
    """The GPU has no room for it: it says so, and no snapshot is harmed."""
    code = training.start("-gpu_memory", "1M").wait()
    return code == NO_MEMORY, code


FAULTS = {"kill": kill, "stop": stop, "memory": starve}


def round_of(training, duration, rng):
    """Three faults in an order that is drawn; what was unexpected of them."""
    wrong = []
    for name in rng.sample(sorted(FAULTS), len(FAULTS)):
        as_expected, code = FAULTS[name](training, rng.uniform(0.1, 0.9) * duration)
        if not as_expected:
            wrong.append(f"{name}: exit code {code}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--caffe", required=True)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--iterations", type=int, default=600, help="of a training")
    options = parser.parse_args()
    rng, begin, rounds, wrong = random.Random(1), time.monotonic(), 0, []
    lenet.make_digits()
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        start = time.monotonic()
        undisturbed = Training(options, folder, "undisturbed").finish()
        longest = duration = time.monotonic() - start
        while rounds == 0 or time.monotonic() - begin + longest < options.seconds:
            start = time.monotonic()
            training = Training(options, folder, f"round{rounds}")
            wrong += round_of(training, duration, rng)
            if training.finish() != undisturbed:
                wrong.append(f"round {rounds}: other weights than those of an undisturbed training")
            longest = max(longest, time.monotonic() - start)
            rounds += 1
    result = {"rounds": rounds, "faults": rounds * len(FAULTS), "wrong": wrong, "seconds": time.monotonic() - begin}
    (options.results / "faults.json").write_text(json.dumps(result) + "\n")
    print(f"{result['faults']} faults in {rounds} trainings, {len(wrong)} not as expected", *wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
