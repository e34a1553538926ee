"""As notebooks train: a step at a time, with looks at blobs and gradients, and tests that the loop itself makes."""

import gc

import numpy as np
import pytest
from use import IS_BVLC, message_of, stripes, write

from caffe.proto import caffe_pb2

NET = """name: "steps"
layer { name: "data" type: "MemoryData" top: "data" top: "label"
  memory_data_param { batch_size: 10 channels: 1 height: 12 width: 12 } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1" param { lr_mult: 1 } param { lr_mult: 2 }
  convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "score" type: "InnerProduct" bottom: "pool1" top: "score"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label" top: "loss" }
"""
SOLVER = """train_net: "net.prototxt" test_net: "net.prototxt" test_iter: 3 test_interval: 1000
base_lr: 0.05 momentum: 0.9 weight_decay: 0.0005 lr_policy: "inv" gamma: 0.0001 power: 0.75 display: 0 max_iter: 100
snapshot_prefix: "steps" snapshot: 0 solver_mode: CPU random_seed: 3
"""

# The real net reads them where they are, and does not keep them.
TRAINING, TESTING = stripes(100, seed=1), stripes(30, seed=2)


@pytest.fixture
def solver(running_caffe):
    write("net.prototxt", NET)
    made = running_caffe.SGDSolver(write("solver.prototxt", SOLVER))
    made.net.set_input_arrays(*TRAINING)
    made.test_nets[0].set_input_arrays(*TESTING)
    return made


def test_a_loop_of_steps(solver):
    assert {name: blob.data.shape for name, blob in solver.net.blobs.items()}["conv1"] == (10, 6, 10, 10)
    solver.net.forward()
    first = solver.test_nets[0].forward()
    assert first["loss"].shape == () and first["loss"] > 0.5
    iterations, test_interval = 60, 20
    train_loss, test_accuracy, output = np.zeros(iterations), [], np.zeros((iterations, 8, 3))
    for it in range(iterations):
        solver.step(1)
        train_loss[it] = solver.net.blobs["loss"].data
        solver.test_nets[0].forward(start="conv1")  # the same images as before
        output[it] = solver.test_nets[0].blobs["score"].data[:8]
        if it % test_interval == test_interval - 1:
            correct = 0
            for _ in range(3):
                solver.test_nets[0].forward()
                correct += sum(solver.test_nets[0].blobs["score"].data.argmax(1) ==
                               solver.test_nets[0].blobs["label"].data.ravel())
            test_accuracy.append(correct / 30)
    assert solver.iter == 60 and train_loss[-10:].mean() < train_loss[:10].mean() / 2
    assert test_accuracy[-1] > 0.8
    assert np.abs(output[1] - output[0]).max() > 1e-4


@pytest.mark.skipif(IS_BVLC, reason="the real one reads memory that is no longer there")
def test_inputs_that_nobody_else_keeps(solver):
    solver.net.set_input_arrays(*stripes(100, seed=5))
    want = stripes(100, seed=5)
    gc.collect()
    noise = [np.full((100, 1, 12, 12), np.nan, np.float32) for _ in range(20)]
    for begin in (0, 10, 20):
        solver.net.forward()
        assert np.array_equal(solver.net.blobs["data"].data, want[0][begin:begin + 10])
    assert len(noise) == 20


def test_gradients_of_the_first_layer(solver):
    solver.step(1)
    gradients = solver.net.params["conv1"][0].diff[:, 0]
    pictures = gradients.reshape(2, 3, 3, 3).transpose(0, 2, 1, 3).reshape(2 * 3, 3 * 3)
    assert np.isfinite(pictures).all() and np.abs(pictures).max() > 0
    assert solver.net.params["conv1"][0].data.shape == (6, 1, 3, 3)
    assert solver.net.blobs["data"].data[:8, 0].transpose(1, 0, 2).reshape(12, 8 * 12).shape == (12, 96)


def test_training_goes_on_from_a_snapshot(running_caffe, solver):
    solver.step(7)
    solver.snapshot()
    kept = [blob.data.copy() for blob in solver.net.params["conv1"]]
    again = running_caffe.get_solver("solver.prototxt")
    again.net.set_input_arrays(*TRAINING)
    again.restore("steps_iter_7.solverstate")
    assert again.iter == 7
    assert all(np.array_equal(blob.data, old) for blob, old in zip(again.net.params["conv1"], kept))
    state = caffe_pb2.SolverState()
    with open("steps_iter_7.solverstate", "rb") as file:
        state.ParseFromString(file.read())
    assert state.iter == 7 and len(state.history) == 4


def test_solving_to_the_end(running_caffe):
    write("net.prototxt", NET)
    param = message_of(SOLVER, caffe_pb2.SolverParameter)
    param.max_iter, param.base_lr = 30, 0.02
    with open("end.prototxt", "w", encoding="utf-8") as file:
        file.write(str(param))
    solver = running_caffe.get_solver("end.prototxt")
    solver.net.set_input_arrays(*TRAINING)
    solver.test_nets[0].set_input_arrays(*TESTING)
    heard = []
    solver.add_callback(lambda: heard.append("start"), lambda: heard.append("gradients"))
    solver.solve()
    assert solver.iter == 30 and heard == ["start", "gradients"] * 30
