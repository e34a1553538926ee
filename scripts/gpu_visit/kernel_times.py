#!/usr/bin/env python3
"""Which kernels an iteration of a training spends its time in, as it runs: in CUDA graphs, one kernel behind the other.

  scripts/gpu_visit/kernel_times.py PROGRAM FILE.json NET BATCH TYPE [--library libkernel_trace.so]

Runs `caffe time` with the library that prepare.sh makes of kernel_trace.cpp. FILE gets the milliseconds and launches of
each kernel in the last iteration that graphs ran; the ten longest are printed, and how much of the iteration the GPU was
busy.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import own_kernels

ROOT = pathlib.Path(__file__).resolve().parents[2]


def records_of(text):
    """Begin, duration, node and name of each record, in the order of their begin."""
    records = []
    for line in text.splitlines():
        begin, duration, node, *_, name = line.split("\t")
        records.append((int(begin), int(duration), int(node), name))
    return sorted(records)


def last_iteration(records, length):
    """The records of the last `length` ns of what graphs ran."""
    end = max((begin + duration for begin, duration, node, _ in records if node), default=0)
    return [record for record in records if end - length <= record[0] < end]


def busy(records):
    """Nanoseconds in which at least one of them ran."""
    total = last = 0
    for begin, duration, *_ in records:
        total += max(begin + duration - max(begin, last), 0)
        last = max(last, begin + duration)
    return total


def sums(records):
    """Milliseconds and launches by name, the longest first."""
    found = collections.defaultdict(lambda: [0.0, 0])
    for _, duration, _, name in records:
        found[name][0] += duration / 1e6
        found[name][1] += 1
    return [{"kernel": name, "ms": ms, "launches": launches}
            for name, (ms, launches) in sorted(found.items(), key=lambda item: -item[1][0])]


def find_cupti():
    """CUPTI's library: of a toolkit, or of the packages that PyTorch brings along."""
    places = [pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")),
              *(pathlib.Path(folder) / "nvidia" for folder in sys.path if folder)]
    for place in places:
        for pattern in ("lib64/libcupti.so*", "extras/CUPTI/lib64/libcupti.so*", "*/lib/libcupti.so*"):
            for found in sorted(place.glob(pattern)):
                return str(found)
    sys.exit("there is no libcupti.so: it comes with the CUDA toolkit, named by CUDA_HOME, and with PyTorch")


def readable(names):
    """The names as they are written in C++, where there is a program for that."""
    try:
        done = subprocess.run(["c++filt"], input="\n".join(names), text=True, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return dict(zip(names, names))
    return dict(zip(names, done.stdout.splitlines()))


def trace(program, library, net, batch, kind):
    """The records of a run, and the milliseconds of its average iteration."""
    real, environment = own_kernels.behind_launcher(program)
    with tempfile.TemporaryDirectory() as folder:
        model, file = pathlib.Path(folder) / "net.prototxt", pathlib.Path(folder) / "trace"
        text = (ROOT / "models" / net / "train_val.prototxt").read_text()
        model.write_text(re.sub(r'source: ".*"', f'source: "absent_{net}"', text))
        precision = [] if kind == "f32" else ["-precision", kind]
        line = [real, "time", "-model", str(model), "-batch", batch, "-iterations", "10", "-gpu", "0", *precision]
        environment = environment | {"CUDA_INJECTION64_PATH": library, "KERNEL_TRACE": str(file),
                                     "KERNEL_TRACE_CUPTI": find_cupti()}
        done = subprocess.run(line, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        average = re.search(r"Average Iteration: ([0-9.e+-]+) ms", done.stdout)
        if done.returncode != 0 or not average or not file.exists():
            sys.exit(f"{real} ended with {done.returncode}:\n{done.stdout[-3000:]}")
        return records_of(file.read_text()), float(average.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("net", help="a folder of models/")
    parser.add_argument("batch")
    parser.add_argument("type", choices=("f32", "bf16", "fp16"))
    parser.add_argument("--library", default="libkernel_trace.so")
    options = parser.parse_args()
    if not os.path.exists(options.library):
        sys.exit(f"there is no {options.library}; prepare.sh makes it where it finds cupti.h")
    records, iteration = trace(options.program, os.path.abspath(options.library), options.net, options.batch, options.type)
    records = last_iteration(records, iteration * 1e6)
    kernels = sums(records)
    names = readable([kernel["kernel"] for kernel in kernels])
    for kernel in kernels:
        kernel["kernel"] = names[kernel["kernel"]]
    result = {"iteration_ms": iteration, "busy_ms": busy(records) / 1e6, "launches": len(records), "kernels": kernels}
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{iteration:.3f} ms, busy for {result['busy_ms']:.3f}, {len(records)} launches")
    for kernel in kernels[:10]:
        print(f"{kernel['ms']:8.3f} ms in {kernel['launches']:4} launches: {kernel['kernel'][:100]}")


if __name__ == "__main__":
    main()
