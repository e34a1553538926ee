#!/usr/bin/env python3
"""Whether a net of more than 2 GiB of weights is trained, saved, restored and tested.

  scripts/check_large_model.py [--caffe build/tools/caffe] [--outputs 13500]

protobuf's files end at 2 GiB: snapshots as BINARYPROTO have to be refused before training, and those as HDF5 to be read
by `-snapshot` and `-weights`. A training that goes on from one has to end with the weights of one that was not
interrupted. Takes 12 GiB of memory and 10 GB of disk (TMPDIR).
"""

import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
INPUTS = 40000
TWO_GIB = 1 << 31
NET = """layer {{ name: "x" type: "DummyData" top: "x" top: "t" dummy_data_param {{ shape {{ dim: 2 dim: {inputs} }}
  shape {{ dim: 2 dim: {outputs} }} data_filler {{ type: "gaussian" std: 1 }} data_filler {{ type: "constant" }} }} }}
layer {{ name: "ip" type: "InnerProduct" bottom: "x" top: "y" inner_product_param {{ num_output: {outputs}
  weight_filler {{ type: "gaussian" std: 0.01 }} }} }}
layer {{ name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "t" top: "loss" }}
"""
SOLVER = """net: "net.prototxt" base_lr: 0.001 momentum: 0.9 lr_policy: "fixed" max_iter: 2 snapshot: 1 random_seed: 1
snapshot_prefix: "{prefix}" snapshot_format: {form}
"""


class CheckError(Exception):
    """What is not as it has to be."""


def digest(path):
    found = hashlib.sha1()
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            found.update(block)
    return found.hexdigest()


class Check:
    def __init__(self, caffe, folder, outputs):
        self.caffe, self.folder = pathlib.Path(caffe).resolve(), pathlib.Path(folder)
        (self.folder / "net.prototxt").write_text(NET.format(inputs=INPUTS, outputs=outputs))

    def run(self, *words, want=0):
        done = subprocess.run([self.caffe, *words], cwd=self.folder, stderr=subprocess.PIPE, universal_newlines=True,
                              stdout=subprocess.PIPE, check=False)
        if done.returncode != want:
            raise CheckError(f"caffe {' '.join(words)} ended with {done.returncode}, not {want}: {done.stderr[-2000:]}")
        return done.stderr

    def solver(self, prefix, form):
        (self.folder / f"{prefix}.solver").write_text(SOLVER.format(prefix=prefix, form=form))
        return f"-solver={prefix}.solver"

    def all(self):
        said = self.run("train", self.solver("proto", "BINARYPROTO"), want=7)
        if "the format ends at 2 GiB" not in said or "Iteration 0" in said:
            raise CheckError(f"BINARYPROTO was not refused before training: {said[-2000:]}")
        print("BINARYPROTO: refused before training", flush=True)

        solver = self.solver("hdf5", "HDF5")
        self.run("train", solver)
        model = self.folder / "hdf5_iter_2.caffemodel.h5"
        size, whole = model.stat().st_size, digest(model)
        if size <= TWO_GIB:
            raise CheckError(f"the model has {size} bytes: give more --outputs")
        model.unlink()
        (self.folder / "hdf5_iter_2.solverstate.h5").unlink()
        print(f"HDF5: a model of {size / 2**30:.2f} GiB was written", flush=True)

        self.run("train", solver, "-snapshot=hdf5_iter_1.solverstate.h5")
        if digest(model) != whole:
            raise CheckError("the training that went on from a snapshot ended with other weights")
        print("HDF5: a training went on and ended with the same bytes", flush=True)

        said = self.run("test", "-model=net.prototxt", f"-weights={model.name}", "-iterations=1")
        if "loss = " not in said:
            raise CheckError(f"the test shows no loss: {said[-2000:]}")
        return f"a model of {size / 2**30:.2f} GiB"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--caffe", default=str(ROOT / "build/tools/caffe"), help="our program")
    parser.add_argument("--outputs", type=int, default=13500, help=f"of a layer of {INPUTS} inputs")
    options = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        found = Check(options.caffe, folder, options.outputs).all()
    print(f"{found}: saved, restored and tested in {time.monotonic() - start:.0f} s; refused as BINARYPROTO")


if __name__ == "__main__":
    try:
        main()
    except (CheckError, OSError) as error:
        sys.exit(f"check_large_model.py: {error}")
