#!/usr/bin/env python3
"""A training that is disturbed once a minute, as a chain of jobs under -snapshot auto, beside one that nothing disturbs.

  scripts/soak.py [--caffe build/tools/caffe] [--minutes 120] [--every 60] [--seed N] [--cluster cluster.sh]

LeNet on synthetic digits, six ranks on three hosts that --cluster makes of network namespaces, or four ranks on this host
where there are none. The faults are drawn from the seed:

  kill    a rank gets SIGKILL                          stop    a rank gets SIGSTOP
  cut     a host is cut off without a word             disk    the disk of the snapshots is full for a while
  memory  a job begins with a limit on the memory of one rank

One line is printed per fault: what was done, what the job said of it, and whether that is right: rank or host, and code.
A training that nothing disturbs goes on beside it, on hosts of its own, with what the chain leaves of the processors. When
the time is over the chain is asked to stop; what it has learned is compared with what the other one had learned after as
many iterations. The last line is a summary. Exit code 0: all was named rightly, and the accuracies are alike.
"""

import argparse
import pathlib
import random
import sys
import tempfile

from robusta_bench.lenet import ROOT, BenchError
from robusta_soak.calm import Calm
from robusta_soak.chain import Chain
from robusta_soak.ending import Ending
from robusta_soak.report import summary
from robusta_soak.workplace import Workplace


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--caffe", default=ROOT / "build/tools/caffe", type=pathlib.Path, help="our program")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--every", type=float, default=60, help="seconds between two faults")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--cluster", help="script that makes hosts; without it, all ranks run on this one")
    parser.add_argument("--keep", help="folder for logs of faults that were named wrongly (default: this one)")
    options = parser.parse_args()
    if options.minutes <= 0 or options.every <= 0:
        parser.error("--minutes and --every have to be above 0")
    options.caffe = options.caffe.resolve()
    # Jobs run in another folder.
    options.cluster = options.cluster and str(pathlib.Path(options.cluster).resolve())
    return options


def soak(ending, options, folder):
    """The exit code."""
    place = Workplace(ending, options, folder)
    chain, calm = Chain(place), Calm(place, ending)
    iterations = chain.run(calm)
    return int(not summary(place, chain, iterations, calm.model_at(iterations)))


def main():
    options, ending = read_options(), Ending()
    # It goes last: what is mounted in it has to go first.
    with tempfile.TemporaryDirectory(prefix="soak.") as folder:
        return ending.run(lambda: soak(ending, options, folder))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BenchError, OSError) as error:
        sys.exit(f"soak.py: {error}")
