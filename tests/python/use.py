"""What the tests of ways of use (test_use_*.py) share: files of nets and solvers, and pictures that can be learned.

These tests call nothing that BVLC's pycaffe does not have, and pass on it, too:

  PYTHONPATH=FOLDER_OF_THE_REAL_CAFFE python -m pytest tests/python -k use
"""

import importlib.util

import numpy as np
from google.protobuf import text_format

import caffe
from caffe.proto import caffe_pb2

# The real one ends the process where ours raises.
IS_BVLC = importlib.util.find_spec("caffe.show") is None


def write(path, message):
    """A message, or its text, as a file; returns the path as pycaffe wants it."""
    text = message if isinstance(message, str) else str(message)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return str(path)


def message_of(text, kind=caffe_pb2.NetParameter):
    return text_format.Parse(text, kind())


def write_solver(path, net, **settings):
    """A solver that says and writes nothing of itself; settings are fields of SolverParameter."""
    solver = caffe_pb2.SolverParameter(train_net=net, lr_policy="fixed", display=0, snapshot=0, max_iter=1000,
                                       solver_mode=caffe_pb2.SolverParameter.CPU, random_seed=7)
    for name, value in {"base_lr": 0.05, "momentum": 0.9, "snapshot_prefix": "snapshot", **settings}.items():
        if isinstance(value, list):
            getattr(solver, name).extend(value)
        else:
            setattr(solver, name, value)
    return write(path, solver)


def stripes(count, seed, size=12):
    """Pictures (count, 1, size, size) of float32 with labels 0 ... 2: level, upright or slanting stripes in noise."""
    numbers = np.random.RandomState(seed)
    labels = np.arange(count) % 3
    numbers.shuffle(labels)
    rows, columns = np.mgrid[:size, :size]
    along = np.stack([rows, columns, rows + columns])
    shifts = numbers.randint(0, 4, count)
    pictures = (np.stack([(along[label] + shift) // 2 % 2 for label, shift in zip(labels, shifts)]) - 0.5).astype("f4")
    pictures += numbers.normal(0, 0.3, pictures.shape)
    return pictures[:, np.newaxis].astype(np.float32), labels.astype(np.float32)


def set_weights(net, seed=1, scale=0.3):
    """Numbers of a seed in every parameter: for nets whose numbers have to differ from zero, and need mean nothing."""
    numbers = np.random.RandomState(seed)
    for blobs in net.params.values():
        for blob in blobs:
            blob.data[...] = numbers.normal(0, scale, blob.data.shape)


__all__ = ["IS_BVLC", "caffe", "message_of", "set_weights", "stripes", "write", "write_solver"]
