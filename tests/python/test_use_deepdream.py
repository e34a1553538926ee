"""As scripts let a net dream: forward to a layer, its activations as its gradient, backward from there to the image."""

import numpy as np
import pytest
from use import message_of, set_weights, write

NET = """name: "dreams" layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 10 dim: 3 dim: 16 dim: 16 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 6 kernel_size: 3 pad: 1 } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
  convolution_param { num_output: 5 kernel_size: 3 } }
layer { name: "relu2" type: "ReLU" bottom: "conv2" top: "conv2" }
layer { name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2" pooling_param { pool: AVE global_pooling: true } }
layer { name: "fc" type: "InnerProduct" bottom: "pool2" top: "fc" inner_product_param { num_output: 4 } }
layer { name: "prob" type: "Softmax" bottom: "fc" top: "prob" }
"""


@pytest.fixture
def net(running_caffe):
    model = message_of(NET)
    model.force_backward = True
    write("tmp.prototxt", model)
    plain = running_caffe.Net("tmp.prototxt", running_caffe.TEST)
    set_weights(plain)
    plain.save("dreams.caffemodel")
    return running_caffe.Classifier("tmp.prototxt", "dreams.caffemodel", mean=np.float32([104.0, 116.0, 122.0]),
                                    channel_swap=(2, 1, 0))


def preprocess(net, img):
    return np.float32(np.rollaxis(img, 2)[::-1]) - net.transformer.mean["data"]


def objective_L2(dst):
    dst.diff[:] = dst.data


def make_step(net, step_size=1.5, end="conv2", jitter=4, objective=objective_L2):
    src, dst = net.blobs["data"], net.blobs[end]
    ox, oy = np.random.randint(-jitter, jitter + 1, 2)
    src.data[0] = np.roll(np.roll(src.data[0], ox, -1), oy, -2)
    net.forward(end=end)
    objective(dst)
    net.backward(start=end)
    g = src.diff[0]
    src.data[:] += step_size / np.abs(g).mean() * g
    src.data[0] = np.roll(np.roll(src.data[0], -ox, -1), -oy, -2)
    bias = net.transformer.mean["data"]
    src.data[:] = np.clip(src.data, -bias, 255 - bias)


def test_the_image_excites_the_layer(net):
    np.random.seed(0)
    image = np.random.RandomState(1).uniform(100, 150, (20, 24, 3)).astype(np.float32)
    src = net.blobs["data"]
    octaves = [image[::2, ::2], image]
    excitement = []
    for base in octaves:
        src.reshape(1, 3, *base.shape[:2])
        src.data[0] = preprocess(net, base)
        for _ in range(10):
            make_step(net)
            net.forward(end="conv2")
            excitement.append(float((net.blobs["conv2"].data ** 2).mean()))
        assert src.data.shape == (1, 3, *base.shape[:2])
        assert excitement[-1] > 1.5 * excitement[-10]
    vis = np.dstack((src.data[0] + net.transformer.mean["data"])[::-1])
    assert vis.shape == image.shape and vis.min() > -1e-3 and vis.max() < 255 + 1e-3


def test_backward_from_a_layer_is_the_slope(net):
    """By differences: the gradient of half the square of conv2 by a pixel."""
    src = net.blobs["data"]
    src.reshape(1, 3, 8, 8)
    numbers = np.random.RandomState(3).randn(1, 3, 8, 8).astype(np.float32)

    def energy(data):
        src.data[...] = data
        net.forward(end="conv2")
        return 0.5 * float((net.blobs["conv2"].data.astype(np.float64) ** 2).sum())

    def slope(place, step=1e-2):
        change = np.zeros_like(numbers)
        change[place] = step
        return (energy(numbers + change) - energy(numbers - change)) / (2 * step)

    energy(numbers)
    objective_L2(net.blobs["conv2"])
    net.backward(start="conv2")
    gradient = src.diff.copy()
    for place in ((0, 0, 1, 1), (0, 2, 4, 3), (0, 1, 7, 7)):
        assert abs(slope(place) - gradient[place]) < 0.02 * np.abs(gradient).max()
    assert np.abs(gradient).max() > 0.1


def test_to_resemble_a_guide(net):
    """The other objective: every place goes for what of a guide is the most like it."""
    np.random.seed(1)
    numbers = np.random.RandomState(4)
    src, end = net.blobs["data"], "conv2"
    src.reshape(1, 3, 16, 16)
    src.data[0] = numbers.randn(3, 16, 16) * 30
    net.forward(end=end)
    guide_features = net.blobs[end].data[0].copy()

    def objective_guide(dst):
        x, y = dst.data[0].copy(), guide_features
        ch = x.shape[0]
        x, y = x.reshape(ch, -1), y.reshape(ch, -1)
        A = x.T.dot(y)
        dst.diff[0].reshape(ch, -1)[:] = y[:, A.argmax(1)]

    src.data[0] = numbers.randn(3, 16, 16) * 5
    net.forward(end=end)
    before = float(net.blobs[end].data.max())
    for _ in range(10):
        make_step(net, end=end, objective=objective_guide)
    net.forward(end=end)
    assert net.blobs[end].data.max() > before


def test_one_class_is_made_likelier(net):
    """Backward from the output: what adversarial examples and pictures of classes do."""
    src = net.blobs["data"]
    src.reshape(1, 3, 12, 12)
    src.data[...] = np.random.RandomState(6).randn(1, 3, 12, 12)
    before = float(net.forward()["prob"][0, 2])
    for _ in range(60):
        net.forward()
        wanted = np.zeros_like(net.blobs["prob"].data)
        wanted[0, 2] = 1
        diffs = net.backward(prob=wanted)
        assert diffs["data"].shape == src.data.shape
        src.data[...] += diffs["data"] / (np.abs(diffs["data"]).max() + 1e-12)
    assert net.forward()["prob"][0, 2] > before + 0.2
