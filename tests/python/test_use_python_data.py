"""As scripts feed nets: a data layer in Python, whose thread makes batches while the net runs."""

import json
import threading

import numpy as np
import pytest
from use import stripes, write, write_solver

from caffe import layers as L


def net_with(caffe, batch, seed, ahead=2):
    n = caffe.NetSpec()
    n.data, n.label = L.Python(module="use_layers", layer="PrefetchingData", ntop=2,
                               param_str=json.dumps(dict(batch=batch, seed=seed, ahead=ahead)))
    n.conv1 = L.Convolution(n.data, kernel_size=3, num_output=6, weight_filler=dict(type="xavier"))
    n.relu1 = L.ReLU(n.conv1, in_place=True)
    n.score = L.InnerProduct(n.relu1, num_output=3, weight_filler=dict(type="xavier"))
    n.loss = L.SoftmaxWithLoss(n.score, n.label)
    n.accuracy = L.Accuracy(n.score, n.label)
    return write(f"net_{seed}.prototxt", n.to_proto())


def test_batches_come_in_order(running_caffe):
    net = running_caffe.Net(net_with(running_caffe, 6, seed=40), running_caffe.TRAIN)
    layer = net.layers[0]
    try:
        for number in range(12):
            net.forward()
            data, labels = stripes(6, 40 + number)
            assert np.array_equal(net.blobs["data"].data, data)
            assert np.array_equal(net.blobs["label"].data, labels)
        assert set(layer.made) == {layer.thread.ident} and layer.thread.ident != threading.get_ident()
        assert layer.ready.qsize() <= 2
    finally:
        layer.close()
    assert not layer.thread.is_alive()


def test_training_from_a_thread(running_caffe):
    solver = running_caffe.SGDSolver(write_solver("solver.prototxt", net_with(running_caffe, 12, seed=100)))
    try:
        losses = []
        for _ in range(40):
            solver.step(1)
            losses.append(float(solver.net.blobs["loss"].data))
        assert np.mean(losses[-5:]) < np.mean(losses[:3]) / 2
        solver.step(20)  # many at once: the lock has to be free for the thread meanwhile
        assert solver.iter == 60
    finally:
        solver.net.layers[0].close()


def test_a_net_in_a_thread_of_its_own(running_caffe):
    """Two nets at a time: each has its layer, its thread and its numbers."""
    caffe, results, errors = running_caffe, {}, []
    nets = {seed: caffe.Net(net_with(caffe, 6, seed=seed), caffe.TRAIN) for seed in (200, 300)}

    def run(seed):
        try:
            caffe.set_mode_cpu()
            for _ in range(10):
                nets[seed].forward()
            results[seed] = nets[seed].blobs["data"].data.copy()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in nets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for net in nets.values():
        net.layers[0].close()
    assert not errors
    assert all(np.array_equal(results[seed], stripes(6, seed + 9)[0]) for seed in nets)


def test_layers_that_fail_say_so(running_caffe):
    """What a layer raises reaches the script."""
    n = running_caffe.NetSpec()
    n.x = L.Input(shape=dict(dim=[2, 3]))
    n.loss = L.Python(n.x, n.x, module="use_layers", layer="SmoothL1", loss_weight=1)
    with pytest.raises(Exception, match="Need a prediction, a target and a weight"):
        running_caffe.Net(write("net.prototxt", n.to_proto()), running_caffe.TRAIN)


def test_gradients_of_a_loss_in_python(running_caffe):
    n = running_caffe.NetSpec()
    n.x, n.target, n.weight = (L.Input(shape=dict(dim=[2, 3])) for _ in range(3))
    n.loss = L.Python(n.x, n.target, n.weight, module="use_layers", layer="SmoothL1", loss_weight=3,
                      propagate_down=[True, False, False])
    proto = n.to_proto()
    proto.force_backward = True
    net = running_caffe.Net(write("net.prototxt", proto), running_caffe.TRAIN)
    net.blobs["x"].data[...] = [[0.5, 3, -2], [0, 1, 4]]
    net.blobs["target"].data[...] = 0
    net.blobs["weight"].data[...] = [[1, 1, 1], [1, 1, 0]]
    net.forward()
    assert np.allclose(net.blobs["loss"].data, (0.125 + 2.5 + 1.5 + 0.5) / 2)
    net.backward()
    assert np.allclose(net.blobs["x"].diff, np.array([[0.5, 1, -1], [0, 1, 0]]) * 3 / 2)
