#!/usr/bin/env python3
"""Training speed on a GPU: ours and PyTorch's, one after the other on the same GPU, in one run.

  scripts/bench_gpu.py [--caffe PATH] [--python PATH] [--quick] [--nets lenet,...] [--lms] [--json FILE]

A step is forward + backward + update (SGD with momentum) on synthetic input that is on the GPU already. Ours is the
"Average Iteration" of `caffe time -gpu`. PyTorch runs the same networks (scripts/bench_torch.py) channels last, in
f32 with TF32 and with autocast to bf16, eagerly, compiled, and compiled with reduce-overhead (CUDA graphs); each in a
process of its own, and the best counts. With --lms, also what large model support costs: the speed of a batch that
does not fit under a cap of the memory against that of the largest one that does, and against the time that the link to
the host takes for the bytes that move.

--quick is for a short visit: one batch size, fewer steps, no plain compilation, and nothing is begun after nine
minutes. --caffe may be the bin/caffe of an unpacked bundle. --device cpu tries the script where there is no GPU: tiny batches, nothing compiled.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = {"lenet": "lenet", "alexnet": "bvlc_alexnet", "googlenet": "bvlc_googlenet", "vgg16": "vgg16",
           "resnet50": "resnet50"}
PRECISIONS = ("f32", "bf16")
MODES = ("eager", "compile", "reduce-overhead")
# Net, precision, how many times the batch that fits, what of the speed may be lost.
LMS_CASES = (("resnet50", "bf16", 2, 0.15), ("vgg16", "f32", 4, 0.15), ("resnet50", "f32", 4, None))


class Failure(Exception):
    """A contestant did not run; the others do."""


# --- PyTorch, in a process of its own -------------------------------------------------------------------------------


def torch_step(net, batch, steps, precision, mode, device):
    """Milliseconds of a training step."""
    import torch
    from torch.nn import functional

    sys.path.insert(0, str(ROOT / "scripts"))
    import bench_torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    build, channels, size, classes = bench_torch.INPUTS[net]
    layout = torch.channels_last
    model = build().to(device=device, memory_format=layout).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, weight_decay=0.0005, fused=device != "cpu")
    images = torch.randn(batch, channels, size, size, device=device).to(memory_format=layout)
    labels = torch.randint(classes, (batch,), device=device)

    def loss_of(images, labels):
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            return sum(weight * functional.cross_entropy(scores, labels) for scores, weight in model(images))

    if mode != "eager":
        loss_of = torch.compile(loss_of, mode="default" if mode == "compile" else mode)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_of(images, labels).backward()
        optimizer.step()

    def settle():
        if device != "cpu":
            torch.cuda.synchronize()

    for _ in range(5 if device != "cpu" else 1):
        step()
    settle()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    settle()
    return (time.perf_counter() - start) / steps * 1000


def link_rate():
    """Bytes per second from page-locked memory to the GPU."""
    import torch

    host = torch.empty(256 << 20, dtype=torch.uint8, pin_memory=True)
    there = torch.empty_like(host, device="cuda")
    there.copy_(host)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(8):
        there.copy_(host, non_blocking=True)
    torch.cuda.synchronize()
    return 8 * host.numel() / (time.perf_counter() - start)


def about():
    """What PyTorch is, and the GPU that it sees ("" for none)."""
    import torch

    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""
    cudnn = torch.backends.cudnn.version() if gpu else None
    return {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": cudnn, "gpu": gpu}


def worker(arguments):
    """The child's side: prints one line of JSON."""
    work = {"step": torch_step, "link": link_rate, "about": about}[arguments[0]]
    print(json.dumps(work(*json.loads(arguments[1]))))


def ask_torch(options, work, *arguments, limit=600):
    command = [options.python, str(pathlib.Path(__file__).resolve()), "--worker", work, json.dumps(arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"PyTorch took more than {limit} s") from error
    except OSError as error:
        raise Failure(f"{options.python} cannot be started: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise Failure(lines[-1] if lines else f"exit code {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


# --- ours -----------------------------------------------------------------------------------------------------------


def run_caffe(options, command, net, batch, *flags):
    """What the program prints."""
    model = ROOT / "models" / FOLDERS[net] / "train_val.prototxt"
    synthetic = options.folder / f"{net}.prototxt"
    # Without its data source the program feeds synthetic input, of a shape that it takes from the names.
    synthetic.write_text(re.sub(r'source: ".*"', f'source: "absent_{net}"', model.read_text()))
    where = [] if options.device == "cpu" else ["-gpu", "0"]
    line = [options.caffe, command, "-model", str(synthetic), "-batch", str(batch), *where, *flags]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise Failure(f"exit code {done.returncode}: {lines[-1] if lines else ''}")
    return done.stdout + done.stderr


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


# --- the tables -----------------------------------------------------------------------------------------------------


def compare(options, net, batch, precision):
    """One row: images per second of ours and of every mode of PyTorch."""
    steps = options.steps * (10 if net == "lenet" and options.device != "cpu" else 1)
    row = {"net": net, "batch": batch, "precision": precision, "images_per_s": {}, "failed": {}}
    contestants = [("ours", lambda: our_step(options, net, batch, steps, precision)[0])]
    for mode in options.modes if options.about else ():
        arguments = (net, batch, steps, precision, mode, options.device)
        contestants.append((mode, lambda arguments=arguments: ask_torch(options, "step", *arguments)))
    for name, measure in contestants:
        try:
            if time.monotonic() > options.deadline:
                raise Failure("left out: the time is up (--minutes)")
            row["images_per_s"][name] = batch / measure() * 1000
        except Failure as failure:
            row["failed"][name] = str(failure)
    theirs = {mode: speed for mode, speed in row["images_per_s"].items() if mode != "ours"}
    if theirs:
        row["best"] = max(theirs, key=theirs.get)
        if "ours" in row["images_per_s"]:
            row["ratio"] = row["images_per_s"]["ours"] / theirs[row["best"]]
    return row


def print_row(options, row):
    speeds = [row["images_per_s"].get(name) for name in ("ours", *options.modes)]
    line = f"{row['net']:<10}{row['batch']:>6}  {row['precision']:<6}"
    line += "".join(f"{speed:>17.1f}" if speed else f"{'-':>17}" for speed in speeds)
    print(line + (f"{row['ratio']:>8.2f}" if "ratio" in row else ""), flush=True)
    for name, why in row["failed"].items():
        print(f"    {name}: {why}")


def mebibytes(text):
    number, unit = text.split()
    return float(number) * {"B": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 1024}[unit]


def lms_case(options, net, precision, times):
    """The largest batch that fits under the cap, and so many times that batch with large model support."""
    cap = ["-gpu_memory", options.gpu_memory]
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
    return {"net": net, "precision": precision, "fits": fits, "batch": fits * times,
            "resident_images_per_s": fits / resident * 1000, "images_per_s": fits * times / moved * 1000,
            "loss": 1 - resident * times / moved, "mib_out": out, "mib_in": back,
            # Computing and copying at best go on at the same time.
            "of_bound": max(link_ms, resident * times) / moved}


def measure_lms(options):
    options.link = ask_torch(options, "link")
    print(f"\nLarge model support under -gpu_memory {options.gpu_memory}; link to the GPU {options.link / 1e9:.1f} GB/s; "
          "bound: the longer of computing and copying")
    print("net       type    fits  batch   img/s fits   img/s lms    loss    MiB out     MiB in  of bound")
    rows = []
    for net, precision, times, allowed in LMS_CASES:
        try:
            if time.monotonic() > options.deadline:
                raise Failure("left out: the time is up (--minutes)")
            row = lms_case(options, net, precision, times)
        except Failure as failure:
            print(f"{net:<10}{precision:<6}{failure}", flush=True)
            continue
        row["allowed_loss"] = allowed
        rows.append(row)
        print(f"{net:<10}{precision:<6}{row['fits']:>6}{row['batch']:>7}{row['resident_images_per_s']:>13.1f}"
              f"{row['images_per_s']:>12.1f}{row['loss']:>8.1%}{row['mib_out']:>11.0f}{row['mib_in']:>11.0f}"
              f"{row['of_bound']:>10.1%}", flush=True)
    return rows


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--caffe", default=str(ROOT / "build/tools/caffe"), help="our program")
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--nets", default=",".join(FOLDERS), help="comma list of " + ", ".join(FOLDERS))
    parser.add_argument("--batches", default="", help="comma list (default: 64,256; LeNet: 64)")
    parser.add_argument("--precisions", default=",".join(PRECISIONS), help="comma list of " + ", ".join(PRECISIONS))
    parser.add_argument("--modes", default="", help="of PyTorch, comma list of " + ", ".join(MODES))
    parser.add_argument("--steps", type=int, default=0, help="timed steps (LeNet: ten times as many)")
    parser.add_argument("--quick", action="store_true", help="for a visit of ten minutes")
    parser.add_argument("--minutes", type=float, default=0, help="begin nothing after that time (--quick: 9)")
    parser.add_argument("--lms", action="store_true", help="large model support, too")
    parser.add_argument("--gpu_memory", default="8G", help="the cap of --lms")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--json", metavar="FILE", help="write all measurements to FILE")
    options = parser.parse_args()
    on_cpu = options.device == "cpu"
    options.nets = options.nets.split(",")
    options.precisions = ["f32"] if on_cpu else options.precisions.split(",")
    default_modes = "eager" if on_cpu else "eager,reduce-overhead" if options.quick else ",".join(MODES)
    options.modes = (options.modes or default_modes).split(",")
    options.steps = options.steps or (2 if on_cpu else 20 if options.quick else 50)
    minutes = options.minutes or (9 if options.quick else float("inf"))
    options.deadline = time.monotonic() + 60 * minutes
    for given, known in ((options.nets, FOLDERS), (options.precisions, PRECISIONS), (options.modes, MODES)):
        for name in given:
            if name not in known:
                parser.error(f"{name} is none of {', '.join(known)}")
    return options


def batches_of(options, net):
    if options.batches:
        return [int(batch) for batch in options.batches.split(",")]
    if options.device == "cpu":
        return [2]
    return [64] if net == "lenet" or options.quick else [64, 256]


def skip(text):
    print(f"bench_gpu.py: skipped: {text}")
    sys.exit(0)


def look_around(options):
    """Sets options.about; leaves where nothing can be measured."""
    if not os.access(options.caffe, os.X_OK):
        skip(f"{options.caffe} is not built; name our program with --caffe")
    try:
        options.about = ask_torch(options, "about")
    except Failure as failure:
        skip(f"{options.python} has no PyTorch ({failure}); name one that has with --python")
    if options.device == "cuda" and not options.about["gpu"]:
        skip("PyTorch sees no GPU here; --device cpu tries the script without one")


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker(sys.argv[2:])
    options = parse()
    look_around(options)
    here, today = options.about, datetime.date.today().isoformat()
    print(f"{today}: {here['gpu'] or 'the CPU'}; PyTorch {here['torch']}, CUDA {here['cuda']}, cuDNN {here['cudnn']}")
    print("images per second; f32: with TF32; ratio: ours to the best of PyTorch's\n")
    print("net        batch  type  " + "".join(f"{name:>17}" for name in ("ours", *options.modes)) + "   ratio")
    rows, lms = [], []
    with tempfile.TemporaryDirectory() as folder:
        options.folder = pathlib.Path(folder)
        for net in options.nets:
            for batch in batches_of(options, net):
                for precision in options.precisions:
                    rows.append(compare(options, net, batch, precision))
                    print_row(options, rows[-1])
        if options.lms and options.device == "cuda":
            lms = measure_lms(options)
    if options.json:
        result = {"date": today, **here, "rows": rows, "lms": lms}
        pathlib.Path(options.json).write_text(json.dumps(result, indent=2) + "\n")
    return None


if __name__ == "__main__":
    main()
