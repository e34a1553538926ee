#!/usr/bin/env python3
"""How a training of LeNet bears a machine that others use: the time of iterations beside one busy loop per core, as a
ratio to that on an idle machine.

  scripts/bench_busy.py [--caffe build/tools/caffe] [--iterations 100] [--rounds 5]

With cores shared fairly the ratio is 2. More is lost to threads that wait for one that has no core: at every barrier of
a parallel loop all wait for the last. Idle and busy take turns, and the medians count.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile

from robusta_bench.lenet import ROOT, BenchError, Training


@contextlib.contextmanager
def busy_cores():
    """A loop that never ends on each core that this process may use."""
    loops = []
    try:
        for core in sorted(os.sched_getaffinity(0)):
            loops.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            os.sched_setaffinity(loops[-1].pid, {core})
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def seconds_of(training, iterations):
    first, last = training.seconds_until(0, iterations)
    return last - first


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--caffe", default=str(ROOT / "build/tools/caffe"), help="our program")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if min(options.iterations, options.rounds) < 1:
        parser.error("--iterations and --rounds have to be 1 or more")
    count, idle, busy = options.iterations, [], []
    with tempfile.TemporaryDirectory() as folder:
        training = Training(options.caffe, folder, iterations=count + 1, display=count)
        seconds_of(training, count)  # fills the caches
        for _ in range(options.rounds):
            idle.append(seconds_of(training, count))
            with busy_cores():
                busy.append(seconds_of(training, count))
    alone, beside = statistics.median(idle), statistics.median(busy)
    print(f"{count} iterations: idle {alone:.3f} s, busy {beside:.3f} s, ratio {beside / alone:.2f}")


if __name__ == "__main__":
    try:
        main()
    except (BenchError, OSError) as error:
        sys.exit(f"bench_busy.py: {error}")
