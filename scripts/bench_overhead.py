#!/usr/bin/env python3
"""What the watch over ranks costs: the time of an iteration with it and with -timeout 0, on two ranks of this host.

  scripts/bench_overhead.py [--caffe build/tools/caffe] [--nets lenet,resnet50] [--pairs 9] [--ranks 2] [--seconds 5]

Runs with and without it take turns, each pair in another order, so that clocks and neighbours that change meet both. The
median of the pairs' ratios counts; what lies in the middle half of them is told, too. Since a shared machine varies by
more than the goal, the processor time of the watch's own threads is told as well, as a share of all that the ranks take:
what the watch does is done there, but for a counter that each step of the training writes. A net trains on synthetic
data. The first runs of each net fill the caches and say how many iterations fit into a run of so many seconds.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from robusta_bench.lenet import ROOT, BenchError
from robusta_bench.synthetic import without_data

GOAL = 0.5  # percent
LOOK_EVERY = 0.5  # seconds
# Folder of models/: samples per rank, channels, height and width.
NETS = {"lenet": (64, 1, 28), "resnet50": (4, 3, 224)}
SOLVER = """net: "{net}.prototxt" base_lr: 0.0001 lr_policy: "fixed" momentum: 0.9 random_seed: 1 solver_mode: CPU
display: {iterations} max_iter: {last} snapshot_after_train: false test_interval: 1000000 test_initialization: false
test_iter: 1
"""
# As root and on few processors, too; ranks that wait leave the processor to others.
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}


class ProcessorTime:
    """Of the threads of the programs that run in a folder, by the kernel's count, as long as they live."""

    def __init__(self, folder):
        self.folder, self.threads = str(pathlib.Path(folder).resolve()), {}

    def look(self):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "cwd") != self.folder:
                    continue
                for thread in (process / "task").iterdir():
                    nanoseconds = int((thread / "schedstat").read_text().split()[0])
                    self.threads[thread] = ((thread / "comm").read_text().strip(), nanoseconds)
            except OSError:  # it has ended meanwhile
                continue

    def percent_of(self, name):
        """The part of the threads of this name."""
        total = sum(taken for _, taken in self.threads.values())
        if not total:
            raise BenchError("no thread of a rank was seen in /proc")
        return 100 * sum(taken for thread, taken in self.threads.values() if thread == name) / total


class Job:
    """A net that several ranks train, in a folder of its own."""

    def __init__(self, options, net, folder):
        self.caffe, self.ranks, self.net, self.folder = options.caffe.resolve(), options.ranks, net, pathlib.Path(folder)
        model = ROOT / "models" / net / "train_val.prototxt"
        (self.folder / f"{net}.prototxt").write_text(without_data(model.read_text(), *NETS[net]))
        cores = max(1, len(os.sched_getaffinity(0)) // self.ranks)
        self.environment = {**os.environ, **SETTINGS, "OMP_NUM_THREADS": str(cores)}
        self.processor_time = ProcessorTime(folder)

    def milliseconds(self, iterations, *options):
        """Of an iteration, without those before the first line of the log."""
        solver = self.folder / "solver.prototxt"
        solver.write_text(SOLVER.format(net=self.net, iterations=iterations, last=iterations + 1))
        command = ["mpirun", "-n", str(self.ranks), self.caffe, "train", "-solver", solver.name, "-ddl",
                   " ".join([f"-mode r:{self.ranks}", *options])]
        self.processor_time = ProcessorTime(self.folder)
        with tempfile.TemporaryFile("w+") as log:
            running = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=log, stderr=log)
            while running.poll() is None:
                time.sleep(LOOK_EVERY)
                self.processor_time.look()
            log.seek(0)
            printed = log.read()
        shown = re.search(rf"Iteration {iterations} \([^,]*, ([\d.e+-]+)s/(\d+) iters\)", printed)
        if running.returncode or not shown:
            raise BenchError(f"{' '.join(map(str, command))} ended with exit code {running.returncode}:\n{printed[-2000:]}")
        return 1000 * float(shown[1]) / int(shown[2])


def measure(job, pairs, seconds):
    """Milliseconds with and without the watch, by how many percent each pair differs, and the watch's part in percent of
    the processor time of each run with it."""
    step = job.milliseconds(2, "-timeout 0")
    iterations = max(2, round(1000 * seconds / step))
    job.milliseconds(iterations)
    watched, alone, shares = [], [], []
    for pair in range(pairs):
        for way in (watched, alone) if pair % 2 else (alone, watched):
            way.append(job.milliseconds(iterations, *([] if way is watched else ["-timeout 0"])))
            if way is watched:
                shares.append(job.processor_time.percent_of("watch"))
    return watched, alone, [100 * (a / b - 1) for a, b in zip(watched, alone)], shares


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--caffe", default=ROOT / "build/tools/caffe", type=pathlib.Path, help="our program")
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5, help="of a run")
    options = parser.parse_args()
    names = options.nets.split(",")
    if min(options.pairs, options.ranks - 1) < 1 or options.seconds <= 0 or not set(names) <= set(NETS):
        parser.error(f"--pairs wants 1 or more, --ranks 2 or more, --nets some of {','.join(NETS)}")
    missed = False
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            watched, alone, percent, shares = measure(Job(options, name, folder), options.pairs, options.seconds)
        middle = statistics.median(percent)
        low, _, high = statistics.quantiles(percent, n=4) if len(percent) > 1 else percent * 3
        missed |= middle > GOAL
        print(f"{name}: {statistics.median(alone):.2f} ms without the watch, {statistics.median(watched):.2f} ms with it: "
              f"{middle:+.2f} % ({low:+.2f} to {high:+.2f} in the middle half of {len(percent)} pairs); processor time of "
              f"the watch's threads: {statistics.median(shares):.3f} % of the ranks'", flush=True)
    print(f"{'MISSED' if missed else 'met'}: at most {GOAL} %")
    return int(missed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BenchError, OSError) as error:
        sys.exit(f"bench_overhead.py: {error}")
