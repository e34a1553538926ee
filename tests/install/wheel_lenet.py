#!/usr/bin/env python3
"""Trains LeNet by an installed module caffe, and uses what else of a wheel could be missing on a bare machine.

  wheel_lenet.py [ITERATIONS]

The working directory has models/ and data/digits/ (data/digits/create.sh). Prints the accuracy, and fails below 0.95.
"""

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import caffe
import numpy as np

LEAST = 0.95  # after 300 iterations of models/lenet; 0.97 is usual


class Doubles(caffe.Layer):
    """A layer of this script, for a net that is made here."""

    def setup(self, bottom, top):
        pass

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        top[0].data[...] = 2 * bottom[0].data


def learn(iterations):
    solver = caffe.get_solver("models/lenet/solver.prototxt")
    solver.step(iterations)
    test = solver.test_nets[0]
    test.share_with(solver.net)
    return float(np.mean([test.forward()["accuracy"] for _ in range(20)]))


def use_layer_in_python(folder):
    spec = caffe.NetSpec()
    spec.x = caffe.layers.Input(shape=dict(dim=[2, 3]))
    spec.y = caffe.layers.Python(spec.x, module=pathlib.Path(__file__).stem, layer="Doubles")
    (folder / "doubles.prototxt").write_text(str(spec.to_proto()))
    net = caffe.Net(str(folder / "doubles.prototxt"), caffe.TEST)
    net.blobs["x"].data[...] = 4
    assert (net.forward()["y"] == 8).all()


def refuse_what_is_absent():
    """Errors cross the border to Python with cause and fix."""
    try:
        caffe.Net("no_such.prototxt", caffe.TEST)
    except caffe.Error as error:
        assert "no_such.prototxt" in str(error), error
        return
    raise AssertionError("a file that is not there was read")


def refuse_gpu():
    caffe.set_mode_gpu()
    try:
        caffe.Net("models/lenet/deploy.prototxt", caffe.TEST)
    except caffe.Error as error:
        return str(error)
    finally:
        caffe.set_mode_cpu()
    return "there is a GPU"


def refuse_ranks_without_mpi():
    """As one of two processes that an mpirun started; for machines without MPI."""
    done = subprocess.run([sys.executable, "-c", "import caffe; caffe.Communicator.world()"], text=True,
                          capture_output=True,
                          env={**os.environ, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"})
    assert done.returncode != 0 and "libmpi.so.40" in done.stderr and "LD_LIBRARY_PATH" in done.stderr, done.stderr
    return done.stderr.strip().splitlines()[-1]


def program():
    """The program `caffe` that pip has put beside the interpreter."""
    return os.path.join(os.path.dirname(sys.executable), "caffe")


def main():
    print(f"caffe {caffe.__version__} of robusta-caffe {importlib.metadata.version('robusta-caffe')} in "
          f"{caffe.__file__}")
    accuracy = learn(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
    assert accuracy >= LEAST, f"accuracy {accuracy}"
    with tempfile.TemporaryDirectory() as folder:
        use_layer_in_python(pathlib.Path(folder))
        refuse_what_is_absent()
    print("GPU:", refuse_gpu())
    if not shutil.which("mpirun"):
        print("ranks:", refuse_ranks_without_mpi())
    subprocess.run([program(), "time", "-model", "models/lenet/train_val.prototxt", "-iterations", "2"], check=True)
    print(f"accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
