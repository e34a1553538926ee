#!/usr/bin/env python3
"""Trains LeNet, or the quick network for CIFAR-10, on real digits for several seeds and prints the test accuracies.

Takes MNIST's test set as published (10,000 digits, gzipped idx), splits it by a fixed shuffle into 8,500 digits to train on
and 1,500 to test on, writes both as LMDB with convert_mnist_data, and runs `caffe train` with the usual solver of the
network.

  scripts/accuracy_lenet.py FOLDER_WITH_T10K [--caffe build/tools/caffe] [--seeds 1 2 3 4 5] [--iterations 1000 4000]
                            [--net lenet|cifar10_quick] [--batch 64] [--before "ddlrun -H a,b"]
                            [--options "-batch global -ddl '-compress int8'"]
"""
import argparse
import gzip
import pathlib
import random
import re
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile

POLICIES = {
    "lenet": 'base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005 lr_policy: "inv" gamma: 0.0001 power: 0.75',
    "cifar10_quick": 'base_lr: 0.001 momentum: 0.9 weight_decay: 0.004 lr_policy: "fixed"',
}
SOLVER = """net: "net.prototxt"
test_iter: 15
test_interval: {interval}
test_initialization: false
{policy}
display: {display} max_iter: {iterations} snapshot_after_train: false
random_seed: {seed} solver_mode: CPU
"""


def read_idx(path):
    data = gzip.open(path).read()
    axes = data[3]
    dims = struct.unpack(f">{axes}I", data[4:4 + 4 * axes])
    body = data[4 + 4 * axes:]
    size = len(body) // dims[0]
    return dims, [body[i * size:(i + 1) * size] for i in range(dims[0])]


def write_idx(path, magic, dims, items):
    path.write_bytes(struct.pack(f">I{len(dims) + 1}I", magic, len(items), *dims) + b"".join(items))


def make_data(source, work, tools):
    dims, images = read_idx(source / "t10k-images-idx3-ubyte.gz")
    _, labels = read_idx(source / "t10k-labels-idx1-ubyte.gz")
    order = list(range(len(images)))
    random.Random(0).shuffle(order)
    for name, part in (("train", order[:8500]), ("test", order[8500:])):
        write_idx(work / f"{name}.images", 2051, dims[1:], [images[i] for i in part])
        write_idx(work / f"{name}.labels", 2049, [], [labels[i] for i in part])
        subprocess.run([tools / "convert_mnist_data", work / f"{name}.images", work / f"{name}.labels",
                        work / f"{name}_lmdb", "--backend=lmdb"], check=True, stderr=subprocess.DEVNULL)


def make_net(root, work, net="lenet", batch=None):
    """With these digits for its data; `batch`: of what it is trained on."""
    text = (root / f"models/{net}/train_val.prototxt").read_text()
    text = re.sub(r'source: "[^"]*train_lmdb"', 'source: "train_lmdb"', text)
    text = re.sub(r'source: "[^"]*test_lmdb"', 'source: "test_lmdb"', text)
    text = re.sub(r'mean_file: "[^"]*"', "mean_value: 33", text)
    if batch:
        text = re.sub(r"batch_size: \d+", f"batch_size: {batch}", text, count=1)
    (work / "net.prototxt").write_text(text)


def make_solver(work, net="lenet", display=1000, **settings):
    """`settings`: seed, iterations, and interval of tests."""
    (work / "solver.prototxt").write_text(SOLVER.format(policy=POLICIES[net], display=display, **settings))


def train(command, work, net, seed, iterations):
    """Test accuracy in percent at each of the iteration counts. `command`: what trains, less the solver."""
    make_solver(work, net, seed=seed, iterations=max(iterations), interval=min(iterations))
    run = subprocess.run([*command, "-solver", "solver.prototxt"], cwd=work, capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    found = {int(n): 100 * float(a) for n, a in re.findall(
        r"Iteration (\d+), Testing net \(#0\)\n(?:.*\n)*?.*accuracy = ([0-9.]+)", run.stderr)}
    return [found[n] for n in iterations]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--caffe", type=pathlib.Path, default=root / "build/tools/caffe")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--iterations", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--net", choices=POLICIES, default="lenet")
    parser.add_argument("--batch", type=int, help="digits in an iteration (default: the network's)")
    parser.add_argument("--before", default="", help="words before the program, which start it on several ranks")
    parser.add_argument("--options", default="", help="further words for caffe train")
    args = parser.parse_args()
    caffe = args.caffe.resolve()
    command = [*shlex.split(args.before), caffe, "train", *shlex.split(args.options)]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        make_data(args.folder.resolve(), work, caffe.parent)
        make_net(root, work, args.net, args.batch)
        results = []
        for seed in args.seeds:
            results.append(train(command, work, args.net, seed, args.iterations))
            print(f"seed {seed}: " + ", ".join(f"{a:.2f} % after {n}" for n, a in zip(args.iterations, results[-1])),
                  flush=True)
        for i, n in enumerate(args.iterations):
            print(f"mean after {n} iterations: {statistics.mean(r[i] for r in results):.2f} %")


if __name__ == "__main__":
    main()
