#!/usr/bin/env python3
"""Speed of forward passes on the CPU: ours, onnxruntime's and OpenVINO's, in one run.

  scripts/bench_inference.py --python PYTHON [--nets resnet50,...] [--batches 1,16] [--precisions f32,bf16] [--quick]

PYTHON has onnxruntime, or openvino, or both (python3 -m venv E && E/bin/pip install onnxruntime openvino). All run the
same network with the same weights, which `caffe export -onnx` has written; ours is what `caffe time -phase TEST
-forward_only` prints. Contestants take turns for several rounds, each in a process of its own, and the median counts.
A ratio above 1 says that ours is faster than the better one of the others. bf16 is ours and OpenVINO's, where the
processor has it.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from bench_cpu import NETS, ROOT, Peak

PROGRAMS = {"onnxruntime": ("f32",), "openvino": ("f32", "bf16")}  # with their precisions
CHOSEN = ("resnet50", "mobilenet", "mobilenet_v2", "squeezenet", "googlenet", "alexnet", "vgg16")


def fail(text):
    sys.exit(f"bench_inference.py: {text}")


def run(command, environment, cwd=None):
    done = subprocess.run([str(word) for word in command], env=environment, cwd=cwd, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))} ended with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def version_of(python, program):
    """None where it cannot be imported."""
    # Not from the working folder, where Python looks first.
    code = ("import sys; sys.path[:] = [folder for folder in sys.path if folder]; "
            f"import {program}; print({program}.__version__)")
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip().splitlines()[-1] if done.returncode == 0 else None


def deployed(net):
    """The net as it is published for use: scores without losses."""
    return ROOT / "models" / net.folder / "deploy.prototxt"


def export(options, net, folder, environment):
    """The net as ONNX, with the weights that its fillers give."""
    (folder / "solver.prototxt").write_text(
        f'net: "{deployed(net)}" base_lr: 0 lr_policy: "fixed" max_iter: 0 random_seed: 1 snapshot_prefix: "net"')
    run([options.caffe, "train", "-solver", "solver.prototxt", "-autotune=false"], environment, folder)
    run([options.caffe, "export", "-onnx", "net.onnx", "-model", deployed(net), "-weights", "net_iter_0.caffemodel",
         "-batch", "dynamic"], environment, folder)
    return folder / "net.onnx"


def our_pass(options, net, batch, steps, precision, environment):
    """Milliseconds of a pass by `caffe time`."""
    done = subprocess.run([options.caffe, "time", "-model", deployed(net), "-phase", "TEST", "-forward_only", "-batch",
                           str(batch), "-iterations", str(steps), "-precision", precision], env=environment,
                          capture_output=True, text=True, check=False)
    found = re.search(r"Average Forward pass: ([0-9.e+-]+) ms", done.stdout + done.stderr)
    return float(found.group(1)) if found else fail(f"caffe time printed no time:\n{done.stderr[-2000:]}")


def measure(options, net, model, batch, precision, environment):
    """Contestant -> milliseconds of each round."""
    steps = max(2, (2 if options.quick else 6) * net.steps // max(batch // 2, 1))
    others = [program for program in options.programs if precision in PROGRAMS[program]]
    times = {name: [] for name in ("ours", *others)}
    for _ in range(1 if options.quick else options.rounds):
        times["ours"].append(our_pass(options, net, batch, steps, precision, environment))
        for program in others:
            times[program].append(float(run(
                [options.python, ROOT / "scripts/bench_onnx.py", program, model, batch, steps, options.threads,
                 precision], environment)))
    return times


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nets", default=",".join(CHOSEN), help=f"comma list of {', '.join(CHOSEN)}")
    parser.add_argument("--batches", default="1,16")
    parser.add_argument("--precisions", default="f32", help="comma list of f32 and bf16 (default: f32)")
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", metavar="FILE", help="write all measurements to FILE")
    parser.add_argument("--caffe", default=str(ROOT / "build/tools/caffe"), help="our program")
    parser.add_argument("--python", default=sys.executable, help="a Python that has onnxruntime or openvino")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    options.caffe = os.path.abspath(options.caffe)
    options.nets, options.precisions = options.nets.split(","), options.precisions.split(",")
    options.batches = [int(batch) for batch in options.batches.split(",")]
    for name in options.nets:
        if name not in CHOSEN:
            parser.error(f"unknown net {name} (known: {', '.join(CHOSEN)})")
    if not os.access(options.caffe, os.X_OK):
        fail(f"{options.caffe} is not built; run scripts/quickstart.sh, or name it with --caffe")
    versions = {program: version_of(options.python, program) for program in PROGRAMS}
    options.programs = {program: version for program, version in versions.items() if version}
    if not options.programs:
        fail(f"{options.python} has neither onnxruntime nor openvino; name one that has with --python")
    return options


def main():
    options = parse()
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads))
    print(", ".join(f"{program} {version}" for program, version in options.programs.items()) +
          f"; {options.threads} threads, forward, phase TEST")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        peak = Peak(options.caffe, environment)
        names = list(options.programs)
        print(f"{'net':<14}{'batch':>6}  {'type':<6}{'ours ms':>10}" + "".join(f"{n + ' ms':>16}" for n in names) +
              f"{'ratio':>8}   peak, GFLOP/s")
        for name in options.nets:
            net = NETS[name]
            model = export(options, net, folder, environment)
            for batch in options.batches:
                for precision in options.precisions:
                    times = measure(options, net, model, batch, precision, environment)
                    median = {who: statistics.median(values) for who, values in times.items()}
                    best = min((median[n] for n in names if n in median), default=None)
                    row = {"net": name, "batch": batch, "precision": precision, "ms": times,
                           "ratio": best / median["ours"] if best else None, "peak": peak.measure(0.5)}
                    rows.append(row)
                    print(f"{name:<14}{batch:>6}  {precision:<6}{median['ours']:>10.2f}" +
                          "".join(f"{median[n]:>16.2f}" if n in median else f"{'-':>16}" for n in names) +
                          (f"{row['ratio']:>8.2f}" if best else f"{'-':>8}") + f"   {row['peak']:.0f}", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"versions": options.programs, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
