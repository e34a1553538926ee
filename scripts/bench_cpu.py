#!/usr/bin/env python3
"""Training speed on the CPU: ours and PyTorch's, against this machine's arithmetic peak, in one run.

  scripts/bench_cpu.py [--nets lenet,alexnet,...] [--precisions f32,bf16] [--phases training,inference]
    [--modes eager,compiled] [--quick] [--json FILE]

A step is forward + backward + update (SGD with momentum) on synthetic input. Ours is what `caffe time` prints, with
-precision. PyTorch runs the same networks (scripts/bench_torch.py) eagerly or compiled, in both memory formats and in
these precisions (bf16 by autocast), and the best one counts for all of ours. Compiling takes minutes for each, the first
time; what does not compile is left out, and a line says so. The first lines have the machine's peaks in f32
and, where it has them, of its instructions for bf16, and its memory's rate; a share is of the peak in f32. Contestants
alternate for several rounds, each in a process of its own, and the median of the rounds counts. The peak
is measured before and after every network, because clocks change with load and neighbours. One GFLOP is 1e9
multiplications or additions; a step counts as 3 times the forward convolutions and inner products. For inference a
step is a forward pass in phase TEST, and counts once.
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from robusta_models import recurrent, timed

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Net:
    """One benchmark: our definition, batch, GFLOP of a step per image (of an LSTM: per stream), steps of a round."""

    def __init__(self, folder, batch, gflop, steps):
        self.folder, self.batch, self.gflop, self.steps = folder, batch, gflop, steps
        self.torch_net, self.formats = None, ["contiguous", "channels_last"]  # None: the name in NETS

    def definition(self):
        """The net with synthetic input, and what `caffe time` is told of its batch."""
        model = ROOT / "models" / self.folder / "train_val.prototxt"
        # Without its data source the program feeds synthetic input, of a shape that it takes from the names.
        text = re.sub(r'source: ".*"', f'source: "absent_{self.folder}"', model.read_text())
        return text, ["-batch", str(self.batch)]


class Lstm(Net):
    """Two layers of 512 units over 64 steps, and scores of 256 classes at each. The batch is that of streams."""

    def __init__(self, batch, steps):
        forward = 64 * 2 * (2 * 4 * 512 * (512 + 512) + 512 * 256)
        super().__init__("lstm", batch, 3e-9 * forward, steps)
        self.torch_net, self.formats = "lstm", ["contiguous"]

    def definition(self):
        return recurrent.lstm(self.batch).file("train", "Timing."), []


class Timed(Net):
    """A network of robusta_models/timed.py."""

    def __init__(self, name, batch, gflop, steps):
        super().__init__(name, batch, gflop, steps)
        self.build = getattr(timed, name)

    def definition(self):
        text = self.build(self.batch).file("train", "Timing.")
        return re.sub(r'source: ".*"', f'source: "absent_{self.folder}"', text), []


NETS = {
    "lenet": Net("lenet", 64, 0.0138, 300),
    "alexnet": Net("bvlc_alexnet", 32, 4.3, 12),
    "googlenet": Net("bvlc_googlenet", 16, 9.5, 10),
    "resnet50": Net("resnet50", 16, 23, 6),
    "vgg16": Net("vgg16", 8, 93, 4),
    "squeezenet": Net("squeezenet", 16, 2.35, 14),
    "mobilenet": Net("mobilenet_v1", 16, 3.4, 10),
    "mobilenet_v2": Net("mobilenet_v2", 16, 2.6, 10),
    "shufflenet_v2": Timed("shufflenet_v2", 16, 0.87, 16),
    "ssd_mobilenet": Timed("ssd_mobilenet", 16, 7.0, 5),
    "fcn8s": Timed("fcn8s", 1, 1100, 3),
    "lstm16": Lstm(16, 20),
    "lstm32": Lstm(32, 14),
    "lstm64": Lstm(64, 8),
}

def fail(text):
    sys.exit(f"bench_cpu.py: {text}")


class Peak:
    """What the machine's cores and memory give, by `caffe device_query`."""

    def __init__(self, caffe, environment):
        self.caffe, self.environment = caffe, environment

    def all(self, seconds):
        """Of all threads together: GFLOP/s by name, and GB/s of "memory"."""
        command = [self.caffe, "device_query", "-peak_seconds", str(seconds)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        line = re.search(r"peaks: (.*)", done.stdout)
        if done.returncode != 0 or not line:
            fail(f"{' '.join(map(str, command))} measured nothing:\n{done.stderr[-2000:]}")
        return {name: float(value) for name, value in re.findall(r"(\w+) ([0-9.]+) G", line.group(1))}

    def measure(self, seconds):
        """GFLOP/s in f32."""
        return self.all(seconds)["f32"]


def our_step(options, net, steps, phase, precision, folder, environment):
    """Milliseconds of a step by `caffe time`."""
    text, batch = net.definition()
    synthetic = folder / f"{net.folder}.prototxt"
    synthetic.write_text(text)
    mode = ["-forward_only", "-phase", "TEST"] if phase == "inference" else []
    command = [options.caffe, "time", "-model", str(synthetic), *batch, "-iterations", str(steps),
               "-precision", precision, *mode]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))} ended with exit code {done.returncode}:\n{done.stderr[-3000:]}")
    output = done.stdout + done.stderr

    def milliseconds(what):
        found = re.search(rf"Average {what}: ([0-9.e+-]+) ms", output)
        if not found:
            fail(f"`caffe time` printed no \"Average {what}\"")
        return float(found.group(1))

    if phase == "inference":
        return milliseconds("Forward pass")
    return milliseconds("Forward-Backward") + milliseconds("Update")


def torch_step(options, name, net, steps, phase, how, environment):
    """Milliseconds of a step by PyTorch, whose mode, memory format and precision `how` has. None: it does not compile."""
    mode, memory_format, precision = how
    worker = ROOT / "scripts" / "bench_torch.py"
    command = [options.python, str(worker), net.torch_net or name, str(net.batch), str(steps), memory_format,
               str(options.threads), "--precision", precision, "--mode", mode,
               *(["--inference"] if phase == "inference" else [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return float(done.stdout.split()[-1])
    if mode == "compiled":
        why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        print(f"-- {name}, PyTorch {' '.join(how)}: left out ({why[:200]})", flush=True)
        return None
    return fail(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")


def torch_version(python):
    """PyTorch's version, or None where it cannot be imported."""
    # Not from the working folder, where Python looks first.
    code = "import sys; sys.path[:] = [folder for folder in sys.path if folder]; import torch; print(torch.__version__)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def take_turns(options, name, steps, phase, theirs, folder, environment):
    """Milliseconds of a step by contestant, a list of the rounds: of our precisions, and of PyTorch's ways `theirs`."""
    net = NETS[name]
    times = {key: [] for key in [*options.precisions, *theirs]}
    for _ in range(1 if options.quick else options.rounds):
        for precision in options.precisions:
            times[precision].append(our_step(options, net, steps, phase, precision, folder, environment))
        for how in [how for how in theirs if how in times]:
            ms = torch_step(options, name, net, steps, phase, how, environment)
            if ms is None:
                del times[how]
            else:
                times[how].append(ms)
    return times


def measure(name, phase, options, folder, environment, version, peak, before):
    """The rows of the table of a net in a phase: one for each of our precisions."""
    net = NETS[name]
    steps = max(2, net.steps // 3) if options.quick else net.steps
    ways = itertools.product(options.modes, net.formats, options.precisions)
    times = take_turns(options, name, steps, phase, list(ways) if version else [], folder, environment)
    after = peak.measure(options.peak_seconds)
    rate = {key: net.batch / statistics.median(values) * 1000 for key, values in times.items()}
    theirs = [key for key in times if isinstance(key, tuple)]
    gflop = net.gflop / 3 if phase == "inference" else net.gflop
    rows = []
    for precision in options.precisions:
        ours = rate[precision]
        row = {"net": name, "batch": net.batch, "phase": phase, "precision": precision, "peak_before": before,
               "peak_after": after,
               "ms": {" ".join(key) if isinstance(key, tuple) else key: value for key, value in times.items()},
               "ours_images_per_s": ours, "ours_gflops": ours * gflop,
               "share_of_peak": ours * gflop / ((before + after) / 2)}
        if theirs:
            best = max(theirs, key=rate.get)
            row.update(torch_how=" ".join(best), torch_images_per_s=rate[best], ratio=ours / rate[best])
        rows.append(row)
    return rows


def print_row(row):
    line = (f"{row['net']:<14}{row['batch']:>6}  {row['phase']:<11}{row['precision']:<6}{row['ours_images_per_s']:>9.1f}"
            f"{row['ours_gflops']:>10.1f}{row['share_of_peak']:>8.2f}")
    if "ratio" in row:
        line += f"{row['torch_images_per_s']:>11.1f}  {row['torch_how']:<28}{row['ratio']:>6.2f}"
    print(f"{line}   {row['peak_before']:.0f} / {row['peak_after']:.0f}", flush=True)


def comma_list(known):
    """The type of an option that takes some of these, separated by commas."""
    def parse_list(text):
        for name in (names := text.split(",")):
            if name not in known:
                raise argparse.ArgumentTypeError(f"unknown: {name} (known: {', '.join(known)})")
        return names
    return parse_list


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name, known, default, what in [
            ("nets", list(NETS), list(NETS), "networks"),
            ("precisions", ["f32", "bf16"], ["f32"], "precisions, of ours and of PyTorch's"),
            ("phases", ["training", "inference"], ["training"], "what is timed: steps, or forward passes in phase TEST"),
            ("modes", ["eager", "compiled"], ["eager"], "how PyTorch runs")]:
        parser.add_argument(f"--{name}", type=comma_list(known), default=default, metavar="LIST",
                            help=f"{what}: some of {','.join(known)} (default: {','.join(default)})")
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", metavar="FILE", help="write all measurements to FILE")
    parser.add_argument("--caffe", default=str(ROOT / "build/tools/caffe"), help="our program")
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    options.peak_seconds = 0.5 if options.quick else 2
    if not os.access(options.caffe, os.X_OK):
        fail(f"{options.caffe} is not built; run scripts/quickstart.sh, or name it with --caffe")
    return options


def main():
    options = parse()
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads))
    version = torch_version(options.python)
    if version:
        print(f"PyTorch {version}, {' and '.join(options.modes)}")
    else:
        print(f"PyTorch is not installed for {options.python}, so only ours is measured. To compare: python3 -m venv "
              "/tmp/torch && /tmp/torch/bin/pip install torch, then add --python /tmp/torch/bin/python")
    print(f"{options.threads} threads")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        peak = Peak(options.caffe, environment)
        peaks = peak.all(options.peak_seconds)
        print("peaks: " + ", ".join(f"{name} {value:.0f} {'GB/s' if name == 'memory' else 'GFLOP/s'}"
                                    for name, value in peaks.items()) + "\n")
        print("net            batch  phase      type      img/s   GFLOP/s  x peak" +
              ("  PyTorch img/s  its best                    ratio" if version else "") + "   peak before / after")
        before, rows = peaks["f32"], []
        for net, phase in itertools.product(options.nets, options.phases):
            rows += measure(net, phase, options, folder, environment, version, peak, before)
            before = rows[-1]["peak_after"]
            for row in rows[-len(options.precisions):]:
                print_row(row)
    if options.json:
        result = {"torch": version, "threads": options.threads, "peaks": peaks, "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
