"""As scripts use recurrent nets: the layer's weights by hand, and texts that are written step by step."""

import numpy as np
import pytest
from use import set_weights, write, write_solver

from caffe import layers as L

STEPS, BATCH, INPUTS, HIDDEN = 5, 2, 3, 4


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_hand(x, cont, weights, bias, recurrent, h, c):
    """Outputs (T, N, H), of gates in the order input, forget, output, candidate."""
    out = []
    for step, go_on in zip(x, cont):
        h, c = h * go_on[:, None], c * go_on[:, None]
        i, f, o, g = np.split(step @ weights.T + bias + h @ recurrent.T, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.array(out), h, c


def recurrent_net(caffe, steps):
    """With steps of one, what is remembered goes in and out."""
    n = caffe.NetSpec()
    n.x = L.Input(shape=dict(dim=[steps, BATCH, INPUTS]))
    n.cont = L.Input(shape=dict(dim=[steps, BATCH]))
    param = dict(num_output=HIDDEN, weight_filler=dict(type="uniform", min=-0.5, max=0.5))
    if steps > 1:
        n.lstm = L.LSTM(n.x, n.cont, recurrent_param=param)
    else:
        n.h0, n.c0 = (L.Input(shape=dict(dim=[1, BATCH, HIDDEN])) for _ in range(2))
        n.lstm, n.hT, n.cT = L.LSTM(n.x, n.cont, n.h0, n.c0, recurrent_param=dict(expose_hidden=True, **param), ntop=3)
    return caffe.Net(write(f"lstm_{steps}.prototxt", n.to_proto()), caffe.TEST)


@pytest.fixture
def sequence():
    numbers = np.random.RandomState(8)
    cont = np.ones((STEPS, BATCH), np.float32)
    cont[0] = 0
    cont[3, 1] = 0  # the second sequence begins anew
    return numbers.randn(STEPS, BATCH, INPUTS).astype(np.float32), cont


def test_weights_by_hand(running_caffe, sequence):
    net = recurrent_net(running_caffe, STEPS)
    set_weights(net, scale=0.5)
    shapes = [blob.data.shape for blob in net.params["lstm"]]
    assert shapes == [(4 * HIDDEN, INPUTS), (4 * HIDDEN,), (4 * HIDDEN, HIDDEN)]
    out = net.forward(x=sequence[0], cont=sequence[1])["lstm"]
    zero = np.zeros((BATCH, HIDDEN))
    want, _, _ = by_hand(*sequence, *(blob.data for blob in net.params["lstm"]), zero, zero)
    assert np.allclose(out, want, atol=1e-5)


def test_step_by_step(running_caffe, sequence):
    """A net of one step, which is given what it remembered: as captions are written."""
    whole, single = recurrent_net(running_caffe, STEPS), recurrent_net(running_caffe, 1)
    set_weights(whole, scale=0.5)
    for to, of in zip(single.params["lstm"], whole.params["lstm"]):
        to.data[...] = of.data
    want = whole.forward(x=sequence[0], cont=sequence[1])["lstm"].copy()
    h, c = np.zeros((1, BATCH, HIDDEN)), np.zeros((1, BATCH, HIDDEN))
    for step in range(STEPS):
        out = single.forward(x=sequence[0][step:step + 1], cont=sequence[1][step:step + 1], h0=h, c0=c)
        assert np.allclose(out["lstm"][0], want[step], atol=1e-5)
        h, c = out["hT"].copy(), out["cT"].copy()


def test_it_learns_to_remember(running_caffe):
    """What was seen first has to be said at the end: whether the gradients go all the way back."""
    n = running_caffe.NetSpec()
    n.x = L.Input(shape=dict(dim=[STEPS, 16, 1]))
    n.cont = L.Input(shape=dict(dim=[STEPS, 16]))
    n.target = L.Input(shape=dict(dim=[1, 16, 1]))
    fillers = dict(weight_filler=dict(type="uniform", min=-0.3, max=0.3), bias_filler=dict(type="constant", value=0))
    n.lstm = L.LSTM(n.x, n.cont, recurrent_param=dict(num_output=8, **fillers))
    n.earlier, n.last = L.Slice(n.lstm, axis=0, slice_point=[STEPS - 1], ntop=2)
    n.said = L.InnerProduct(n.last, num_output=1, axis=2, weight_filler=dict(type="gaussian", std=0.3))
    n.loss = L.EuclideanLoss(n.said, n.target)
    n.quiet = L.Silence(n.earlier, ntop=0)
    net = write("train.prototxt", n.to_proto())
    solver = running_caffe.get_solver(write_solver("solver.prototxt", net, type="Adam", base_lr=0.02))
    numbers, losses = np.random.RandomState(9), []
    solver.net.blobs["cont"].data[...] = 1
    solver.net.blobs["cont"].data[0] = 0
    for _ in range(150):
        x = numbers.choice([-1.0, 1.0], (STEPS, 16, 1))
        solver.net.blobs["x"].data[...], solver.net.blobs["target"].data[...] = x, x[:1]
        solver.step(1)
        losses.append(float(solver.net.blobs["loss"].data))
    assert losses[0] > 0.4 and np.mean(losses[-10:]) < 0.1
