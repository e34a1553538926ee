"""As scripts segment: the net takes the size of every image, and its scores come out in that size."""

import numpy as np
import pytest
from use import set_weights, write

from caffe import layers as L
from caffe import params as P
from caffe.coord_map import crop


def fcn(caffe):
    n = caffe.NetSpec()
    n.data = L.Input(shape=dict(dim=[1, 3, 16, 16]))
    n.conv1 = L.Convolution(n.data, kernel_size=3, num_output=6, pad=10)
    n.relu1 = L.ReLU(n.conv1, in_place=True)
    n.pool1 = L.Pooling(n.relu1, kernel_size=2, stride=2, pool=P.Pooling.MAX)
    n.conv2 = L.Convolution(n.pool1, kernel_size=3, num_output=6, pad=1)
    n.pool2 = L.Pooling(n.conv2, kernel_size=2, stride=2, pool=P.Pooling.MAX)
    n.score_fr = L.Convolution(n.pool2, num_output=4, kernel_size=1, pad=0)
    n.upscore = L.Deconvolution(n.score_fr, convolution_param=dict(num_output=4, kernel_size=8, stride=4,
                                                                   bias_term=False), param=[dict(lr_mult=0)])
    n.score = crop(n.upscore, n.data)
    return write("fcn.prototxt", n.to_proto())


def upsample_filt(size):
    """A kernel that interpolates between two pixels."""
    factor = (size + 1) // 2
    center = factor - 1 if size % 2 == 1 else factor - 0.5
    og = np.ogrid[:size, :size]
    return (1 - abs(og[0] - center) / factor) * (1 - abs(og[1] - center) / factor)


def interp(net, layers):
    for name in layers:
        m, k, h, w = net.params[name][0].data.shape
        assert h == w and (m == k or k == 1)
        net.params[name][0].data[...] = 0
        net.params[name][0].data[range(m), range(k), :, :] = upsample_filt(h)


@pytest.fixture
def net(running_caffe):
    made = running_caffe.Net(fcn(running_caffe), running_caffe.TEST)
    set_weights(made)
    interp(made, [name for name in made.params if "up" in name])
    return made


def test_every_image_in_its_size(net):
    numbers = np.random.RandomState(5)
    sizes = [(16, 16), (33, 20), (21, 40), (16, 16)]
    results = []
    for height, width in sizes:
        in_ = numbers.randint(0, 256, (height, width, 3)).astype(np.float32)[:, :, ::-1]
        in_ -= np.array((104.00698793, 116.66876762, 122.67891434))
        in_ = in_.transpose((2, 0, 1)) / 50
        net.blobs["data"].reshape(1, *in_.shape)
        net.blobs["data"].data[...] = in_
        net.forward()
        assert net.blobs["score"].data.shape == (1, 4, height, width)
        out = net.blobs["score"].data[0].argmax(axis=0)
        assert out.shape == (height, width)
        results.append((in_, net.blobs["score"].data.copy()))
    # What was computed in between has left nothing behind.
    assert len({results[0][1].shape, results[3][1].shape}) == 1
    net.blobs["data"].reshape(1, 3, 16, 16)
    net.reshape()
    assert net.blobs["score"].data.shape == (1, 4, 16, 16)
    net.blobs["data"].data[...] = results[0][0]
    assert np.array_equal(net.forward()["score"], results[0][1])


def test_a_batch_is_two_images(net):
    images = np.random.RandomState(6).randn(2, 3, 20, 24).astype(np.float32)
    net.blobs["data"].reshape(*images.shape)
    both = net.forward(data=images)["score"].copy()
    net.blobs["data"].reshape(1, *images.shape[1:])
    for index in (0, 1):
        net.blobs["data"].data[0] = images[index]
        assert np.allclose(net.forward()["score"][0], both[index], atol=1e-4)
