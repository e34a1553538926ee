"""Runs inside of the real pycaffe: does one task that comes as JSON on stdin, and prints the outcome as JSON."""

import json
import os
import sys

import caffe
import h5py
import numpy
from caffe.proto import caffe_pb2


def fill(task):
    """Weights with numbers of a seed in every parameter: samples and labels in layers `data` and `label`."""
    net = caffe.Net(task["net"], caffe.TRAIN)
    numbers = numpy.random.RandomState(task["seed"])
    for name, blobs in net.params.items():
        for blob in blobs:
            if name == "label":
                blob.data[...] = numbers.randint(0, task["classes"], blob.data.shape)
            elif name == "data":
                blob.data[...] = numbers.randn(*blob.data.shape)
    net.save(task["weights"])


def train(task):
    """The losses of `steps` iterations, each before its update."""
    solver = caffe.get_solver(task["solver"])
    if "weights" in task:
        solver.net.copy_from(task["weights"])
    if "state" in task:
        solver.restore(task["state"])
    losses = []
    for _ in range(task["steps"]):
        solver.step(1)
        losses.append(float(solver.net.blobs["loss"].data))
    if task.get("snapshot"):
        solver.snapshot()
    return {"losses": losses, "iteration": solver.iter}


def array(blob):
    shape = list(blob.shape.dim) if blob.HasField("shape") else [blob.num, blob.channels, blob.height, blob.width]
    return numpy.array(blob.data, dtype=numpy.float32).reshape(shape)


def read(path, message):
    with open(path, "rb") as file:
        message.ParseFromString(file.read())
    return message


def owned(net):
    """Layers and their arrays as protobuf has them. (The nets of these tests share none.)"""
    return [(layer.name, [array(blob) for blob in layer.blobs]) for layer in net.layer]


def to_hdf5(task):
    """Writes what the two binary files say in the layout that Caffe gives HDF5 files (its own build lacks them)."""
    net, state = read(task["weights"], caffe_pb2.NetParameter()), read(task["state"], caffe_pb2.SolverState())
    with h5py.File(task["weights"] + ".h5", "w") as file:
        data = file.create_group("data")
        for name, arrays in owned(net):
            group = data.create_group(name)
            for index, numbers in enumerate(arrays):
                group.create_dataset(str(index), data=numbers)
    with h5py.File(task["state"] + ".h5", "w") as file:
        file.create_dataset("iter", data=numpy.array([state.iter], dtype=numpy.int32))
        file.create_dataset("current_step", data=numpy.array([state.current_step], dtype=numpy.int32))
        file.create_dataset("learned_net", data=numpy.bytes_(task["weights"] + ".h5"))
        history = file.create_group("history")
        for index, blob in enumerate(state.history):
            history.create_dataset(str(index), data=array(blob))


def from_hdf5(task):
    """What h5py finds in our files, as Caffe's own binary files; refuses what Caffe's reader would not find."""
    net, state = caffe_pb2.NetParameter(), caffe_pb2.SolverState()
    with h5py.File(task["weights"], "r") as file:
        for name, group in file["data"].items():
            layer = net.layer.add(name=name)
            for index in range(len(group)):
                put(group[str(index)], layer.blobs.add())
    with h5py.File(task["state"], "r") as file:
        assert file["iter"].shape == file["current_step"].shape == (1,), "iter and current_step have one element"
        state.iter, state.current_step = int(file["iter"][0]), int(file["current_step"][0])
        named = file["learned_net"][()].decode()
        assert named == task["weights"], f"learned_net is {named}"
        state.learned_net = task["weights_to"]
        for index in range(len(file["history"])):
            put(file["history"][str(index)], state.history.add())
    for path, message in ((task["weights_to"], net), (task["state_to"], state)):
        with open(path, "wb") as file:
            file.write(message.SerializeToString())


def put(dataset, blob):
    assert dataset.dtype == numpy.float32, dataset.dtype
    blob.shape.dim.extend(dataset.shape)
    blob.data.extend(numpy.asarray(dataset).ravel().tolist())


def compare(task):
    """The largest difference of two model files, array by array, by the largest element of each."""
    nets = [dict(owned(read(path, caffe_pb2.NetParameter()))) for path in task["files"]]
    worst = 0.0
    for name in sorted(set(nets[0]) | set(nets[1])):
        one, other = (net.get(name, []) for net in nets)
        if len(one) != len(other):
            return {"worst": float("inf"), "layer": name}
        for a, b in zip(one, other):
            if a.shape != b.shape:
                return {"worst": float("inf"), "layer": name}
            worst = max(worst, float(numpy.abs(a - b).max() / max(1e-6, numpy.abs(b).max())))
    return {"worst": worst}


def forward(task):
    """Outputs of a deploy pair for inputs in .npy files, left as .npy files."""
    net = caffe.Net(task["net"], task["weights"], caffe.TEST)
    for name, path in task["inputs"].items():
        numbers = numpy.load(path)
        net.blobs[name].reshape(*numbers.shape)
        net.blobs[name].data[...] = numbers
    outputs = net.forward()
    for name, path in task["outputs"].items():
        numpy.save(path, outputs[name])


if __name__ == "__main__":
    caffe.set_mode_cpu()
    # Caffe's own messages go where errors go: stdout is for the outcome.
    outcome, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    os.dup2(2, 1)
    asked = json.load(sys.stdin)
    json.dump(globals()[asked["do"]](asked) or {}, outcome)
