#!/usr/bin/env python3
"""Seconds from the start of `caffe train` on LeNet until its log shows iteration 0.

  scripts/bench_startup.py [--caffe build/tools/caffe] [--runs 20]

That is loading the program, reading nets and data, planning, and one iteration. One more run before those that count
fills the caches: files in memory, and the choices of the tuner.
"""

import argparse
import statistics
import sys
import tempfile

from robusta_bench.lenet import ROOT, BenchError, Training


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--caffe", default=str(ROOT / "build/tools/caffe"), help="our program")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs has to be 1 or more")
    with tempfile.TemporaryDirectory() as folder:
        training = Training(options.caffe, folder, iterations=1, display=1)
        training.seconds_until(0)
        seconds = [training.seconds_until(0)[0] for _ in range(options.runs)]
    print(f"best {min(seconds):.3f} s, median {statistics.median(seconds):.3f} s, worst {max(seconds):.3f} s of {len(seconds)} starts")


if __name__ == "__main__":
    try:
        main()
    except (BenchError, OSError) as error:
        sys.exit(f"bench_startup.py: {error}")
