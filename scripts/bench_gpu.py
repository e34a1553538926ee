#!/usr/bin/env python3
"""Training and inference on a GPU: ours and PyTorch's, one after the other on the same GPU, in one run.

  scripts/bench_gpu.py [--caffe PATH] [--python PATH] [--quick] [--nets lenet,...] [--inference] [--lms]
                       [--json FILE [--resume]]

A step is forward + backward + update (SGD with momentum) on synthetic input that is on the GPU already. Ours is the
"Average Iteration" of `caffe time -gpu`. PyTorch runs the same networks (scripts/bench_torch.py) channels last, in
f32 with TF32 and with autocast to bf16, eagerly, compiled, and compiled with reduce-overhead (CUDA graphs) or
max-autotune, each in a process of its own (scripts/bench_torch_gpu.py); the best counts. With --lms, also what large
model support costs: the speed of a batch that does not fit under a cap of the memory against that of the largest one
that does, and against the time that the link to the host takes for the bytes that move.

With --inference passes forward take the place of steps: of deploy.prototxt by `caffe time -phase TEST -forward_only`,
and of PyTorch's network in eval() and inference_mode(), whose weights are of 16 bits for bf16 and which its compiler may
freeze; mode "graphs" is eager, captured as a CUDA graph. Either waits for each pass before the next.

A row, that is a net with a batch size and a precision, is measured whole before the next is begun: ours, a mode of
PyTorch's, ours, the next mode, ours. So rows that are there have their ratios when the time is up, and what a GPU does
that grows warm meets both; ours is the median of its turns. Each measurement is printed when it is there, and --json
writes its file anew; --resume goes on with what the file holds. Tables in Markdown, as docs/benchmarks.md has them, come
last. Without PyTorch ours is measured alone.

--quick is for a short visit: one batch size, fewer steps, no plain compilation, nothing is begun after eight minutes
and what runs then is ended a minute later. --caffe may be the bin/caffe of an unpacked bundle. --device cpu tries the
script where there is no GPU: tiny batches, nothing compiled. The exit code is 1 when ours failed, or --resume
finds nothing to measure with, 3 when --resume has something left for another time.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = {"lenet": "lenet", "alexnet": "bvlc_alexnet", "googlenet": "bvlc_googlenet", "vgg16": "vgg16",
           "resnet50": "resnet50", "mobilenet": "mobilenet_v1", "squeezenet": "squeezenet"}
TRAINED = "lenet,alexnet,googlenet,vgg16,resnet50,mobilenet"
INFERRED = "resnet50,googlenet,mobilenet,vgg16,squeezenet"
PRECISIONS = ("f32", "bf16")
MODES = ("reduce-overhead", "eager", "compile", "max-autotune")  # of PyTorch, the likeliest best first
FORWARD_MODES = ("reduce-overhead", "graphs", "eager", "max-autotune")  # the same for passes forward
LONGEST = 600  # seconds of a measurement
GRACE = 60  # seconds that one may go on when the time is up
# Net, precision, how many times the batch that fits, what of the speed may be lost.
LMS_CASES = (("resnet50", "bf16", 2, 0.15), ("vgg16", "f32", 4, 0.15), ("resnet50", "f32", 4, None))


class Failure(Exception):
    """A contestant did not run; the others do."""


class TimeIsUp(Failure):
    """A contestant was not begun, or not ended; it may be, another time."""


# --- programs in processes of their own -----------------------------------------------------------------------------


def run(options, line):
    """What a program prints to stdout and stderr; a Failure when it cannot be started, fails, or takes too long."""
    left = options.deadline - time.monotonic()
    if left < 0:
        options.out_of_time = True
        raise TimeIsUp("left out: the time is up")
    limit = min(LONGEST, left + (0 if options.seconds else GRACE))
    try:
        # In a session of its own: PyTorch's compilers are processes, too, and are ended with it.
        child = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 start_new_session=True)
    except OSError as error:
        raise Failure(f"{line[0]} cannot be started: {error}") from error
    try:
        out, log = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired as error:
        options.out_of_time |= limit < LONGEST
        raise (TimeIsUp if limit < LONGEST else Failure)(f"not done after {limit:.0f} s") from error
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    if child.returncode != 0:
        raise Failure(f"exit code {child.returncode}: {reason(log)}")
    return out, log


def reason(log):
    """The line of a log that says most about a failure."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b|caffe: error: ", line)]
    return (telling or lines or ["nothing was said"])[-1][:300]


def ask_torch(options, work, *arguments):
    out, _ = run(options, [options.python, str(ROOT / "scripts/bench_torch_gpu.py"), work, json.dumps(arguments)])
    return json.loads(out.strip().splitlines()[-1])


def run_caffe(options, command, net, batch, *flags):
    """What the program prints."""
    model = ROOT / "models" / FOLDERS[net] / ("deploy.prototxt" if options.inference else "train_val.prototxt")
    synthetic = options.folder / f"{net}.prototxt"
    # Without its data source the program feeds synthetic input, of a shape that it takes from the names.
    synthetic.write_text(re.sub(r'source: ".*"', f'source: "absent_{net}"', model.read_text()))
    where = [] if options.device == "cpu" else ["-gpu", "0"]
    line = [options.caffe, command, "-model", str(synthetic), "-batch", str(batch), *where, *flags]
    return "".join(run(options, line))


def milliseconds(output, what):
    found = re.search(rf"Average {what}: ([0-9.e+-]+) ms", output)
    if not found:
        raise Failure(f'`caffe time` printed no "Average {what}"')
    return float(found.group(1))


def precision_flags(options, precision):
    return [] if options.device == "cpu" or precision == "f32" else ["-precision", precision]


def our_step(options, net, batch, steps, precision, *flags):
    """Milliseconds of a training step, and all that was printed."""
    output = run_caffe(options, "time", net, batch, "-iterations", str(steps), *precision_flags(options, precision),
                       *flags)
    if options.device == "cpu":
        return milliseconds(output, "Forward-Backward") + milliseconds(output, "Update"), output
    return milliseconds(output, "Iteration"), output


def our_pass(options, net, batch, steps, precision):
    """Milliseconds of a pass forward."""
    output = run_caffe(options, "time", net, batch, "-phase", "TEST", "-forward_only", "-iterations", str(steps),
                       *precision_flags(options, precision))
    return milliseconds(output, "Forward pass")


# --- the comparison -------------------------------------------------------------------------------------------------


def measure(options, row, name):
    """Images per second of ours, or of a mode of PyTorch."""
    net, batch, precision = row["net"], row["batch"], row["precision"]
    steps = options.steps * (10 if net == "lenet" and options.device != "cpu" else 1)
    if options.inference and name == "ours":
        return batch / our_pass(options, net, batch, steps, precision) * 1000
    if options.inference:
        return batch / ask_torch(options, "forward", net, batch, steps, precision, name, options.device) * 1000
    if name == "ours":
        return batch / our_step(options, net, batch, steps, precision)[0] * 1000
    return batch / ask_torch(options, "step", net, batch, steps, precision, name, options.device) * 1000


def turns(options):
    """Who is measured, in this order: ours before and after each mode of PyTorch's."""
    return ["ours"] + [name for mode in options.modes for name in (mode, "ours")]


def compare(options, result, row):
    """Adds to a row whatever it lacks."""
    known = collections.Counter(name for name, _ in row["turns"])
    for name in turns(options):
        if known[name] > 0:
            known[name] -= 1
        elif name not in row["failed"]:
            take_turn(options, row, name)
            save(options, result)


def shown_name(row):
    return row["net"] + (" forward" if row.get("work") == "inference" else "")


def take_turn(options, row, name):
    label = f"{shown_name(row)}, batch {row['batch']}, {row['precision']}, {name}"
    try:
        row["turns"].append((name, measure(options, row, name)))
        print(f"{label}: {row['turns'][-1][1]:.1f} images/s", flush=True)
        rate(row)
    except TimeIsUp as failure:
        print(f"{label}: {failure}", flush=True)
    except Failure as failure:
        row["failed"][name] = str(failure)
        print(f"{label}: {failure}", flush=True)


def rate(row):
    """Speeds, the best of PyTorch's modes that have run, and the ratio to that."""
    names = dict.fromkeys(name for name, _ in row["turns"])
    row["images_per_s"] = {name: statistics.median(speed for who, speed in row["turns"] if who == name)
                           for name in names}
    theirs = {mode: speed for mode, speed in row["images_per_s"].items() if mode != "ours"}
    if theirs:
        row["best"] = max(theirs, key=theirs.get)
        if "ours" in row["images_per_s"]:
            row["ratio"] = row["images_per_s"]["ours"] / theirs[row["best"]]


def print_table(heads, rows):
    print("\n| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def print_rows(options, rows):
    """Images per second, as docs/benchmarks.md has them."""
    shown_names = list(dict.fromkeys(turns(options)))

    def cells(row):
        speeds = [row["images_per_s"].get(name) for name in shown_names]
        shown = [f"{speed:,.1f}" if speed else "" for speed in speeds]
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
        return [shown_name(row), str(row["batch"]), row["precision"], *shown, ratio]

    print_table(["net", "batch", "type", *shown_names, "ratio"], map(cells, rows))


def mebibytes(text):
    number, unit = text.split()
    return float(number) * {"B": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 1024}[unit]


def lms_case(options, net, precision, times):
    """The largest batch that fits under the cap, and so many times that batch with large model support."""
    cap = ["-gpu_memory", options.gpu_memory, *([] if options.lms_tuning else ["-autotune=false"])]
    precise = precision_flags(options, precision)
    planned = run_caffe(options, "plan", net, 1, *cap, *precise)
    found = re.search(r"Largest batch that fits in .*: (\d+);", planned)
    if not found or int(found.group(1)) == 0:
        raise Failure(f"no batch fits in {options.gpu_memory}")
    fits = int(found.group(1))
    resident, _ = our_step(options, net, fits, options.steps, precision, *cap)
    moved, output = our_step(options, net, fits * times, options.steps, precision, "-lms", "auto", *cap)
    copies = re.search(r"([0-9.]+ [KMG]?i?B) out and ([0-9.]+ [KMG]?i?B) in per pass", output)
    out, back = (mebibytes(copies.group(i)) for i in (1, 2)) if copies else (0.0, 0.0)
    link_ms = max(out, back) * 2**20 / options.link * 1000
    return {"net": net, "precision": precision, "times": times, "fits": fits, "batch": fits * times,
            "resident_images_per_s": fits / resident * 1000, "images_per_s": fits * times / moved * 1000,
            "loss": 1 - resident * times / moved, "mib_out": out, "mib_in": back,
            # Computing and copying at best go on at the same time.
            "of_bound": max(link_ms, resident * times) / moved}


def measure_lms(options, result):
    try:
        options.link = ask_torch(options, "link")
    except Failure as failure:
        print(f"\nLarge model support is left out: the rate of the link is not known: {failure}")
        return
    print(f"\nLarge model support under -gpu_memory {options.gpu_memory}; link {options.link / 1e9:.1f} GB/s; "
          "bound: the longer of computing and copying", flush=True)
    for net, precision, times, allowed in options.lms_cases:
        if any((net, precision, times) == (row["net"], row["precision"], row["times"]) for row in result["lms"]):
            continue
        try:
            result["lms"].append(lms_case(options, net, precision, times) | {"allowed_loss": allowed})
            save(options, result)
        except Failure as failure:
            options.failed |= not isinstance(failure, TimeIsUp)
            print(f"{net}, {precision}: {failure}", flush=True)
    print_table(["net", "type", "fits", "batch", "img/s fits", "img/s lms", "loss", "MiB out", "MiB in", "of bound"],
                [[row["net"], row["precision"], str(row["fits"]), str(row["batch"]),
                  f"{row['resident_images_per_s']:.1f}", f"{row['images_per_s']:.1f}", f"{row['loss']:.1%}",
                  f"{row['mib_out']:.0f}", f"{row['mib_in']:.0f}", f"{row['of_bound']:.1%}"] for row in result["lms"]])


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--caffe", default=str(ROOT / "build/tools/caffe"), help="our program")
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--inference", action="store_true", help="passes forward instead of steps")
    parser.add_argument("--nets", default="", help="comma list of " + ", ".join(FOLDERS))
    parser.add_argument("--batches", default="", help="comma list (default: 64,256; LeNet: 64; --inference: 1,16,64)")
    parser.add_argument("--precisions", default=",".join(PRECISIONS), help="comma list of " + ", ".join(PRECISIONS))
    parser.add_argument("--modes", default="", help="of PyTorch, comma list of " + ", ".join(MODES) +
                        "; --inference: " + ", ".join(FORWARD_MODES))
    parser.add_argument("--steps", type=int, default=0, help="timed steps (LeNet: ten times as many)")
    parser.add_argument("--quick", action="store_true", help="for a visit of ten minutes")
    parser.add_argument("--minutes", type=float, default=0, help="begin nothing after that time (--quick: 8)")
    parser.add_argument("--seconds", type=float, default=0, help="begin nothing after that time, and end what runs")
    parser.add_argument("--lms", action="store_true", help="large model support, too")
    parser.add_argument("--lms_cases", help="comma list of NET:PRECISION:TIMES, as many times the batch that fits")
    parser.add_argument("--gpu_memory", default="8G", help="the cap of --lms")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--lms_only", action="store_true", help="large model support alone")
    parser.add_argument("--lms_tuning", choices=("yes", "no"), default="yes", help="time kernels for --lms, too")
    parser.add_argument("--json", metavar="FILE", help="write all measurements to FILE")
    parser.add_argument("--resume", action="store_true", help="go on with what --json's FILE holds")
    options = parser.parse_args()
    on_cpu = options.device == "cpu"
    options.lms = options.lms or options.lms_only
    options.lms_tuning = options.lms_tuning == "yes"
    options.lms_cases = lms_cases(options.lms_cases) if options.lms_cases else LMS_CASES
    options.out_of_time = options.failed = False
    options.caffe = os.path.abspath(options.caffe)
    options.python = os.path.abspath(options.python) if os.sep in options.python else options.python
    options.nets = (options.nets or (INFERRED if options.inference else TRAINED)).split(",")
    modes = FORWARD_MODES if options.inference else MODES
    options.precisions = ["f32"] if on_cpu else options.precisions.split(",")
    default_modes = "eager" if on_cpu else "reduce-overhead,eager" if options.quick else ",".join(modes[:3])
    options.modes = (options.modes or default_modes).split(",")
    options.steps = options.steps or (2 if on_cpu else 20 if options.quick else 50)
    minutes = options.seconds / 60 or options.minutes or (8 if options.quick else float("inf"))
    options.deadline = time.monotonic() + 60 * minutes
    for given, known in ((options.nets, FOLDERS), (options.precisions, PRECISIONS), (options.modes, modes)):
        for name in given:
            if name not in known:
                parser.error(f"{name} is none of {', '.join(known)}")
    return options


def lms_cases(text):
    """The cases that --lms_cases names."""
    known = {case[:3]: case[3] for case in LMS_CASES}
    named = [case.split(":") for case in text.split(",")]
    return [(net, precision, int(times), known.get((net, precision, int(times)))) for net, precision, times in named]


def batches_of(options, net):
    if options.batches:
        return [int(batch) for batch in options.batches.split(",")]
    if options.device == "cpu":
        return [2]
    if options.inference:
        return [1, 16] if options.quick else [1, 16, 64]
    return [64] if net == "lenet" or options.quick else [64, 256]


def skip(options, text):
    print(f"bench_gpu.py: skipped: {text}")
    sys.exit(1 if options.resume else 0)


def look_around(options):
    """Sets options.about, and options.modes to those that can be measured; leaves where nothing can be measured."""
    if not os.access(options.caffe, os.X_OK):
        skip(options, f"{options.caffe} is not built; name our program with --caffe")
    gpu = None
    if options.device == "cuda":
        try:
            gpu = run(options, [options.caffe, "device_query", "-gpu", "0"])[0].splitlines()[0]
        except Failure as failure:
            skip(options, f"{options.caffe} sees no GPU ({failure}); --device cpu tries the script without one")
    try:
        options.about = ask_torch(options, "about")
        if options.device == "cuda" and not options.about["gpu"]:
            raise Failure("its PyTorch sees no GPU")
    except Failure as failure:
        print(f"Ours alone: {options.python} does not serve ({failure}); name a Python with PyTorch by --python")
        options.about = {"torch": None, "cuda": None, "cudnn": None, "gpu": gpu}
        options.modes = []


def save(options, result):
    if options.json:
        # In one piece: it may be this that the next call goes on with.
        part = pathlib.Path(options.json + ".part")
        part.write_text(json.dumps(result, indent=2) + "\n")
        part.replace(options.json)


def known_result(options):
    """What --resume goes on with; else nothing."""
    path = pathlib.Path(options.json or "")
    if not options.resume or not path.is_file():
        return {"rows": [], "lms": []}
    return json.loads(path.read_text())


def row_of(options, result, *which):
    """The row of a net, a batch size and a precision; a new one where there is none."""
    work = "inference" if options.inference else "training"
    for row in result["rows"]:
        if (row["net"], row["batch"], row["precision"], row.get("work", "training")) == (*which, work):
            return row
    result["rows"].append(dict(zip(("net", "batch", "precision"), which), work=work, images_per_s={}, failed={},
                               turns=[]))
    return result["rows"][-1]


def main():
    options = parse()
    look_around(options)
    here, today = options.about, datetime.date.today().isoformat()
    software = f"PyTorch {here['torch']}, CUDA {here['cuda']}, cuDNN {here['cudnn']}"
    title = f"{today}: {here['gpu'] or options.device}; {software}"
    print(title, flush=True)
    result = known_result(options) | {"date": today, **here}
    rows = [row_of(options, result, net, batch, precision) for net in options.nets for batch in batches_of(options, net)
            for precision in options.precisions if not options.lms_only]
    with tempfile.TemporaryDirectory() as folder:
        options.folder = pathlib.Path(folder)
        for row in rows:
            compare(options, result, row)
        print(f"\n{title}\nImages per second; f32: with TF32; ratio: ours to the best of PyTorch's.")
        print_rows(options, result["rows"])
        if options.lms and options.device == "cuda":
            measure_lms(options, result)
    failed = options.failed or any("ours" in row["failed"] for row in result["rows"])
    sys.exit(1 if failed else 3 if options.resume and options.out_of_time else 0)


if __name__ == "__main__":
    main()
