#!/usr/bin/env python3
"""Lets PyTorch compile several networks at the same time, so that what is measured later finds them in its caches.

  scripts/gpu_visit/warm_torch.py [--python PYTHON] NET:BATCH:TYPE:MODE...

What takes a minute or two each, mostly on one processor, takes little longer for all. Nothing that this measures counts.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent


def begin(case, python):
    """A process that compiles the case, and the file that gets what it complains of."""
    net, batch, kind, mode = case.split(":")
    step = json.dumps([net, int(batch), 2, kind, mode, "cuda"])
    log = tempfile.TemporaryFile(mode="w+")
    line = [python, str(SCRIPTS / "bench_torch_gpu.py"), "step", step]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=log), log


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("cases", nargs="+", metavar="NET:BATCH:TYPE:MODE")
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch")
    options = parser.parse_args()
    start = time.monotonic()
    compiling = {case: begin(case, options.python) for case in options.cases}
    failed = False
    for case, (child, log) in compiling.items():
        child.wait()
        log.seek(0)
        reason = "" if child.returncode == 0 else f" failed: {(log.read().strip().splitlines() or ['?'])[-1][:200]}"
        failed |= child.returncode != 0
        print(f"{case}:{reason} {time.monotonic() - start:.0f} s", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
