#!/usr/bin/env python3
"""Training speed on the CPU: ours and PyTorch's, against this machine's arithmetic peak, in one run.

  scripts/bench_cpu.py [--nets lenet,alexnet,...] [--quick] [--inference] [--json FILE]

A step is forward + backward + update (SGD with momentum) on synthetic input in f32. Ours is what `caffe time` prints.
PyTorch runs eagerly, the same networks (scripts/bench_torch.py) in both memory formats, and the better one counts.
Contestants alternate for several rounds, each in a process of its own, and the median of the rounds counts. The peak
is measured before and after every network, because clocks change with load and neighbours. One GFLOP is 1e9
multiplications or additions; a step counts as 3 times the forward convolutions and inner products. With --inference a
step is a forward pass in phase TEST, and counts once.
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
    "mobilenet": Net("mobilenet_v1", 16, 3.4, 10),
    "mobilenet_v2": Timed("mobilenet_v2", 16, 1.8, 10),
    "shufflenet_v2": Timed("shufflenet_v2", 16, 0.87, 16),
    "ssd_mobilenet": Timed("ssd_mobilenet", 16, 7.0, 5),
    "fcn8s": Timed("fcn8s", 1, 1100, 3),
    "lstm16": Lstm(16, 20),
    "lstm32": Lstm(32, 14),
    "lstm64": Lstm(64, 8),
}

# Independent fused multiply-adds on registers, as wide as the machine has them.
PEAK_SOURCE = r"""
#include <omp.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
typedef float Vector __attribute__((vector_size(kBytes)));
constexpr int kChains = 12, kLanes = kBytes / 4;

static double gflops(double seconds, float* sink) {
  Vector a[kChains], m, s;
  for (int l = 0; l < kLanes; ++l) m[l] = 0.999f, s[l] = 0.001f;
  for (int c = 0; c < kChains; ++c) a[c] = s * static_cast<float>(c);
  long rounds = 0;
  const auto start = std::chrono::steady_clock::now();
  double passed = 0;
  while (passed < seconds) {
    for (int i = 0; i < 100000; ++i)
      for (int c = 0; c < kChains; ++c) a[c] = a[c] * m + s;
    rounds += 100000;
    passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  for (int c = 0; c < kChains; ++c) *sink += a[c][0];
  return 2.0 * kLanes * kChains * static_cast<double>(rounds) / passed * 1e-9;
}

int main(int, char** argv) {
  double sum = 0;
  float sink = 0;
#pragma omp parallel reduction(+ : sum, sink)
  sum += gflops(std::atof(argv[1]), &sink);
  std::printf("%.3f %g\n", sum, static_cast<double>(sink));
}
"""


def fail(text):
    sys.exit(f"bench_cpu.py: {text}")


class Peak:
    """The measuring program, compiled once."""

    def __init__(self, folder, environment):
        self.program, self.environment = folder / "peak", environment
        source = folder / "peak.cpp"
        source.write_text(PEAK_SOURCE)
        compiler = os.environ.get("CXX", "g++")
        flags = ["-O3", "-march=native", "-ffp-contract=fast", "-fopenmp"]
        command = [compiler, *flags, source, "-o", self.program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            fail(f"cannot compile the peak program:\n{done.stderr}")

    def measure(self, seconds):
        """GFLOP/s of all threads together."""
        command = [self.program, str(seconds)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return float(done.stdout.split()[0])


def our_step(options, net, steps, folder, environment):
    """Milliseconds of a step by `caffe time`."""
    text, batch = net.definition()
    synthetic = folder / f"{net.folder}.prototxt"
    synthetic.write_text(text)
    mode = ["-forward_only", "-phase", "TEST"] if options.inference else []
    command = [options.caffe, "time", "-model", str(synthetic), *batch, "-iterations", str(steps), *mode]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))} ended with exit code {done.returncode}:\n{done.stderr[-3000:]}")
    output = done.stdout + done.stderr

    def milliseconds(what):
        found = re.search(rf"Average {what}: ([0-9.e+-]+) ms", output)
        if not found:
            fail(f"`caffe time` printed no \"Average {what}\"")
        return float(found.group(1))

    if options.inference:
        return milliseconds("Forward pass")
    return milliseconds("Forward-Backward") + milliseconds("Update")


def torch_step(options, name, net, steps, memory_format, environment):
    """Milliseconds of a step by PyTorch."""
    worker = ROOT / "scripts" / "bench_torch.py"
    command = [options.python, str(worker), net.torch_net or name, str(net.batch), str(steps), memory_format,
               str(options.threads), *(["--inference"] if options.inference else [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return float(done.stdout.split()[-1])


def torch_version(python):
    """PyTorch's version, or None where it cannot be imported."""
    # Not from the working folder, where Python looks first.
    code = "import sys; sys.path[:] = [folder for folder in sys.path if folder]; import torch; print(torch.__version__)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def measure(name, options, folder, environment, version, peak, before):
    """One row of the table."""
    net = NETS[name]
    steps = max(2, net.steps // 3) if options.quick else net.steps
    formats = net.formats if version else []
    times = {key: [] for key in ["ours", *formats]}
    for _ in range(1 if options.quick else options.rounds):
        times["ours"].append(our_step(options, net, steps, folder, environment))
        for form in formats:
            times[form].append(torch_step(options, name, net, steps, form, environment))
    after = peak.measure(options.peak_seconds)
    median = {key: statistics.median(values) for key, values in times.items()}
    rate = {key: net.batch / ms * 1000 for key, ms in median.items()}
    gflop = net.gflop / 3 if options.inference else net.gflop
    row = {"net": name, "batch": net.batch, "peak_before": before, "peak_after": after, "ms": times,
           "ours_images_per_s": rate["ours"], "ours_gflops": rate["ours"] * gflop,
           "share_of_peak": rate["ours"] * gflop / ((before + after) / 2)}
    if formats:
        best = max(formats, key=rate.get)
        row.update(torch_format=best, torch_images_per_s=rate[best], ratio=rate["ours"] / rate[best])
    return row


def print_row(row):
    line = (f"{row['net']:<14}{row['batch']:>6}{row['ours_images_per_s']:>11.1f}{row['ours_gflops']:>10.1f}"
            f"{row['share_of_peak']:>8.2f}")
    if "ratio" in row:
        line += f"{row['torch_images_per_s']:>11.1f}  {row['torch_format']:<14}{row['ratio']:>7.2f}"
    print(f"{line}   {row['peak_before']:.0f} / {row['peak_after']:.0f}", flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nets", default=",".join(NETS), help=f"comma list of {', '.join(NETS)}")
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--inference", action="store_true", help="forward passes in phase TEST instead of training")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", metavar="FILE", help="write all measurements to FILE")
    parser.add_argument("--caffe", default=str(ROOT / "build/tools/caffe"), help="our program")
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    options.nets = options.nets.split(",")
    options.peak_seconds = 0.5 if options.quick else 2
    for name in options.nets:
        if name not in NETS:
            parser.error(f"unknown net {name} (known: {', '.join(NETS)})")
    if not os.access(options.caffe, os.X_OK):
        fail(f"{options.caffe} is not built; run scripts/quickstart.sh, or name it with --caffe")
    return options


def main():
    options = parse()
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads))
    version = torch_version(options.python)
    if version:
        print(f"PyTorch {version}, eager")
    else:
        print(f"PyTorch is not installed for {options.python}, so only ours is measured. To compare: python3 -m venv "
              "/tmp/torch && /tmp/torch/bin/pip install torch, then add --python /tmp/torch/bin/python")
    work = "forward, phase TEST" if options.inference else "forward + backward + update"
    print(f"{options.threads} threads, f32, {work}\n")
    print("net            batch     img/s   GFLOP/s  x peak" +
          ("  PyTorch img/s  format        ratio" if version else "") + "   peak before / after")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        peak = Peak(folder, environment)
        before, rows = peak.measure(options.peak_seconds), []
        for net in options.nets:
            rows.append(measure(net, options, folder, environment, version, peak, before))
            before = rows[-1]["peak_after"]
            print_row(rows[-1])
    if options.json:
        result = {"torch": version, "threads": options.threads, "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
