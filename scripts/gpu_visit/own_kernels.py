#!/usr/bin/env python3
"""What NVIDIA's ncu says of our own kernels in a training step of ResNet-50: how long each takes in all, and of the three
most expensive ones what bounds them.

  scripts/gpu_visit/own_kernels.py PROGRAM FILE.json [--small]

The clocks of the GPU are left as they are.
"""

import argparse
import collections
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIME = "gpu__time_duration.sum"
DEEPER = 3  # kernels
# ncu counts launches of kernels that its filter takes. Those of a step or two are enough.
LAUNCHES = 700
SECTIONS = ("SpeedOfLight", "MemoryWorkloadAnalysis", "LaunchStats", "Occupancy", "WarpStateStats")


def behind_launcher(program):
    """A bundle's program itself, and the environment that its launcher would give it."""
    if not (pathlib.Path(program).parent / "launch").exists():
        return program, dict(os.environ)
    told = subprocess.run([program], env=os.environ | {"ROBUSTA_SHOW_LIBRARIES": "1"}, text=True, check=True,
                          stdout=subprocess.PIPE).stdout.splitlines()
    return told[0], os.environ | {"LD_LIBRARY_PATH": told[1]}


def profile(program, step, *options):
    """What ncu prints of our kernels in a step without CUDA graphs, as a table."""
    real, environment = behind_launcher(program)
    line = ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--kernel-name-base", "demangled",
            "--kernel-name", "regex:robusta", *options, real, *step]
    done = subprocess.run(line, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"ncu ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return table_of(done.stdout)


def table_of(text):
    """The rows of ncu's table in the raw form: names, units, then a row a launch."""
    lines = text.splitlines()
    head = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if head is None:
        sys.exit(f"ncu has printed no table:\n{text[-3000:]}")
    rows = list(csv.DictReader(line for line in lines[head:] if line.startswith('"')))
    return rows[0], rows[1:]


def number(text):
    return float(text.replace(",", ""))


NANOSECONDS = {"ns": 1, "nsecond": 1, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9}


def sums(units, rows):
    """For each kernel the nanoseconds in all, the launches, and the first one's number; the longest first."""
    scale = NANOSECONDS[units[TIME]]
    found = collections.defaultdict(lambda: {"ns": 0.0, "launches": 0})
    for row in rows:
        kernel = found[row["Kernel Name"]]
        kernel["ns"] += number(row[TIME]) * scale
        kernel["launches"] += 1
        kernel.setdefault("first", int(row["ID"]))
    return sorted(({"kernel": name, **kernel} for name, kernel in found.items()), key=lambda kernel: -kernel["ns"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--small", action="store_true", help="LeNet, for a rehearsal")
    options = parser.parse_args()
    if not shutil.which("ncu"):
        sys.exit("there is no ncu in PATH; it comes with the CUDA toolkit")
    net, batch = ("lenet", 2) if options.small else ("resnet50", 256)
    step = ["time", "-model", f"models/{net}/train_val.prototxt", "-batch", str(batch), "-precision", "bf16",
            "-iterations", "1", "-gpu", "0", "-cuda_graphs=false"]
    kernels = sums(*profile(options.program, step, "--metrics", TIME, "--launch-count", str(LAUNCHES)))
    result = {"kernels": kernels, "deeper": []}
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    sections = [word for section in SECTIONS for word in ("--section", section)]
    for kernel in kernels[:DEEPER]:
        one = ("--launch-skip", str(kernel["first"]), "--launch-count", "1")
        units, rows = profile(options.program, step, *sections, *one)
        result["deeper"].append({name: f"{value} {units[name] or ''}".strip() for name, value in rows[0].items()})
        options.output.write_text(json.dumps(result, indent=1) + "\n")
    for kernel in kernels[:10]:
        print(f"{kernel['ns'] / 1e6:8.3f} ms in {kernel['launches']:4} launches: {kernel['kernel'][:100]}")


if __name__ == "__main__":
    main()
