#!/usr/bin/env python3
"""Whether trainings go on in the real Caffe where ours stop, and in ours where the real one stops.

The real one is the pycaffe 1.0.0 of tpu_mlir's wheel (scripts/robusta_readers/environments.py). For every update rule
both programs read weights of one file, train 5 iterations and write weights and state; then each goes on from its own
files and from the other's for 10 iterations more. Losses have to be equal to 1e-4 of their size, the weights in the end
to 1e-3 of the largest of their array. HDF5 files, which that pycaffe cannot read, are read and written by h5py in the
layout that Caffe gives them. Samples and labels are parameters that do not learn, so that both have the same.

  scripts/check_oracle.py [--tools FOLDER] [--keep FOLDER] [RULE...]

The exit code is 0 when all agree, 1 when not, 77 when there is no oracle here.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from robusta_readers import environments  # noqa: E402 (needs the path)

LOSS_LIMIT, WEIGHT_LIMIT = 1e-4, 1e-3
STOP, END = 5, 15
# The real SGD, Nesterov and so on; rates at which losses fall.
RULES = {
    "SGD": "base_lr: 0.05 momentum: 0.9",
    "Nesterov": "base_lr: 0.05 momentum: 0.9",
    "AdaGrad": "base_lr: 0.02 delta: 1e-6",
    "RMSProp": "base_lr: 0.005 rms_decay: 0.95 delta: 1e-6",
    "AdaDelta": "base_lr: 1 momentum: 0.95 delta: 1e-6",
    "Adam": "base_lr: 0.005 momentum: 0.9 momentum2: 0.999",
}
# No bias before BatchNorm: its gradient is what rounding leaves, which AdaGrad and Adam make as large as any other.
NET = """name: "oracle"
layer { name: "data" type: "Parameter" top: "data" param { lr_mult: 0 decay_mult: 0 }
  parameter_param { shape { dim: 8 dim: 3 dim: 12 dim: 12 } } }
layer { name: "label" type: "Parameter" top: "label" param { lr_mult: 0 decay_mult: 0 }
  parameter_param { shape { dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 6 kernel_size: 3 pad: 1 bias_term: false weight_filler { type: "xavier" } } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "norm" }
layer { name: "scale" type: "Scale" bottom: "norm" top: "norm" scale_param { bias_term: true } }
layer { name: "relu" type: "ReLU" bottom: "norm" top: "norm" }
layer { name: "pool" type: "Pooling" bottom: "norm" top: "pool" pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
layer { name: "up" type: "Deconvolution" bottom: "pool" top: "up"
  convolution_param { num_output: 6 group: 3 kernel_size: 2 stride: 2 weight_filler { type: "msra" } } }
layer { name: "prelu" type: "PReLU" bottom: "up" top: "up" }
layer { name: "ip" type: "InnerProduct" bottom: "up" top: "ip" param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
  inner_product_param { num_output: 5 weight_filler { type: "gaussian" std: 0.05 } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
# current_step of the state is 1 where the training stops, and 2 is reached after it.
SOLVER = """net: "net.prototxt" type: "{rule}" {settings}
lr_policy: "multistep" gamma: 0.5 stepvalue: 3 stepvalue: 9 weight_decay: 0.002 clip_gradients: 5
max_iter: {last} display: 1 random_seed: 7 snapshot_prefix: "{prefix}" snapshot_format: {format}
"""


class Failure(Exception):
    pass


class Oracle:
    """Both programs, in one folder."""

    def __init__(self, caffe, folder):
        self.caffe, self.folder = caffe, folder
        self.python, self.variables = environments.environment("pycaffe")

    def real(self, do, **task):
        """One task of scripts/robusta_readers/pycaffe_worker.py."""
        worker = ROOT / "scripts/robusta_readers/pycaffe_worker.py"
        done = subprocess.run([self.python, worker], cwd=self.folder, input=json.dumps({"do": do, **task}), text=True,
                              capture_output=True, env={**os.environ, **self.variables}, check=False)
        if done.returncode != 0:
            raise Failure(f"the real one, {do}: {(done.stderr.strip().splitlines() or [done.returncode])[-1]}")
        return json.loads(done.stdout)

    def real_losses(self, solver, steps, **start):
        return self.real("train", solver=solver, steps=steps, snapshot=True, **start)["losses"]

    def our_losses(self, solver, *start):
        """Losses of each iteration, as the log has them."""
        done = subprocess.run([self.caffe, "train", "-solver", solver, *start], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.folder)})
        if done.returncode != 0:
            error = re.findall(r"error: (.*)", done.stdout)
            raise Failure(f"caffe train {' '.join(start)}: {error[-1] if error else done.returncode}")
        found = dict(re.findall(r"Iteration (\d+) \(.*, loss = (\S+)", done.stdout))
        return [float(found[iteration]) for iteration in sorted(found, key=int)]

    def solver(self, name, rule, last, prefix, form="BINARYPROTO"):
        text = SOLVER.format(rule=rule, settings=RULES[rule], last=last, prefix=prefix, format=form)
        (self.folder / name).write_text(text)
        return name


def difference(losses, others):
    """The largest one by the size of the loss."""
    if len(losses) != len(others) or not losses:
        raise Failure(f"{len(losses)} losses beside {len(others)}")
    return max(abs(a - b) / abs(b) for a, b in zip(losses, others))


def check(oracle, rule):
    """Rows (what was done, difference of losses, difference of weights in the end)."""
    real_first = oracle.solver("real_first.prototxt", rule, STOP, "real")
    real_on = oracle.solver("real_on.prototxt", rule, END, "real_on")
    ours_first = oracle.solver("ours_first.prototxt", rule, STOP, "ours")
    ours_on = oracle.solver("ours_on.prototxt", rule, END, "ours_on")
    start, steps = "start.caffemodel", END - STOP
    model, state = f"_iter_{STOP}.caffemodel", f"_iter_{STOP}.solverstate"

    def weights(*files):
        return oracle.real("compare", files=list(files))["worst"]

    def ours_from(which):
        # Resumes write the end under this rule's name: the next one replaces it.
        return difference_of(oracle.our_losses(ours_on, "-snapshot", which)[:steps])

    real = oracle.real_losses(real_first, STOP, weights=start)
    yield ("from one file of weights", difference(oracle.our_losses(ours_first, "-weights", start)[:STOP], real),
           weights("ours" + model, "real" + model))
    going_on = oracle.real_losses(real_on, steps, state="real" + state)
    end = f"_iter_{END}.caffemodel"
    os.replace(oracle.folder / f"real_on{end}", oracle.folder / "real_end.caffemodel")
    if going_on[-1] >= real[0]:
        raise Failure(f"the loss does not fall: {real[0]} to {going_on[-1]}")

    def difference_of(losses):
        return difference(losses, going_on)

    yield "ours go on from the real one's", ours_from("real" + state), weights(f"ours_on{end}", "real_end.caffemodel")
    yield ("the real one goes on from ours", difference_of(oracle.real_losses(real_on, steps, state="ours" + state)),
           weights(f"real_on{end}", "real_end.caffemodel"))
    yield "ours go on from ours", ours_from("ours" + state), weights(f"ours_on{end}", "real_end.caffemodel")

    oracle.real("to_hdf5", weights="real" + model, state="real" + state)
    yield ("ours go on from HDF5 of h5py", ours_from("real" + state + ".h5"),
           weights(f"ours_on{end}", "real_end.caffemodel"))
    oracle.our_losses(oracle.solver("ours_h5.prototxt", rule, STOP, "ours_h5", "HDF5"), "-weights", start)
    oracle.real("from_hdf5", weights=f"ours_h5{model}.h5", state=f"ours_h5{state}.h5", weights_to="h5.caffemodel",
                state_to="h5.solverstate")
    yield ("the real one goes on from our HDF5, by h5py",
           difference_of(oracle.real_losses(real_on, steps, state="h5.solverstate")),
           weights(f"real_on{end}", "real_end.caffemodel"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/tools", help="folder of the programs")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the files in FOLDER/oracle")
    parser.add_argument("rules", nargs="*", metavar="RULE", help=f"of these: {', '.join(RULES)}")
    options = parser.parse_args()
    unknown = [name for name in options.rules if name not in RULES]
    if unknown:
        sys.exit(f"unknown rule {unknown[0]}; known: {', '.join(RULES)}")
    agree, lines = True, 0
    with tempfile.TemporaryDirectory(prefix="oracle-") as own:
        base = (options.keep or pathlib.Path(own)).resolve() / "oracle"
        print("| rule | what | losses differ by | weights differ by |\n| --- | --- | --- | --- |")
        for rule in options.rules or RULES:
            folder = base / rule
            folder.mkdir(parents=True, exist_ok=True)
            try:
                oracle = Oracle((options.tools / "caffe").resolve(), folder)
                (folder / "net.prototxt").write_text(NET)
                oracle.real("fill", net="net.prototxt", seed=3, classes=5, weights="start.caffemodel")
                for what, losses, weights in check(oracle, rule):
                    holds = losses <= LOSS_LIMIT and weights <= WEIGHT_LIMIT
                    agree, lines = agree and holds, lines + 1
                    print(f"| {rule} | {what} | {losses:.1e} | {weights:.1e} |{'' if holds else ' DIFFER'}", flush=True)
            except environments.Unavailable as why:
                print(f"SKIPPED: there is no oracle: {why}")
                return 77
            except Failure as failure:
                agree = False
                print(f"| {rule} | FAILED: {failure} | | |", flush=True)
    print(f"{lines} trainings, {'all agree' if agree else 'NOT all agree'}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
