"""As scripts make a net fully convolutional: the weights of inner products become kernels."""

import numpy as np
from use import set_weights, write

HEAD = """layer {{ name: "data" type: "Input" top: "data"
  input_param {{ shape {{ dim: 1 dim: 2 dim: {0} dim: {0} }} }} }}
layer {{ name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param {{ num_output: 4 kernel_size: 3 }} }}
layer {{ name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param {{ pool: MAX kernel_size: 2 stride: 2 }} }}
"""
CLASSES = HEAD.format(10) + """
layer { name: "fc6" type: "InnerProduct" bottom: "pool1" top: "fc6" inner_product_param { num_output: 6 } }
layer { name: "relu6" type: "ReLU" bottom: "fc6" top: "fc6" }
layer { name: "fc7" type: "InnerProduct" bottom: "fc6" top: "fc7" inner_product_param { num_output: 3 } }
layer { name: "prob" type: "Softmax" bottom: "fc7" top: "prob" }
"""
FULL = HEAD.format(18) + """
layer { name: "fc6-conv" type: "Convolution" bottom: "pool1" top: "fc6-conv"
  convolution_param { num_output: 6 kernel_size: 4 } }
layer { name: "relu6" type: "ReLU" bottom: "fc6-conv" top: "fc6-conv" }
layer { name: "fc7-conv" type: "Convolution" bottom: "fc6-conv" top: "fc7-conv"
  convolution_param { num_output: 3 kernel_size: 1 } }
layer { name: "prob" type: "Softmax" bottom: "fc7-conv" top: "prob" }
"""


def test_a_map_of_scores(running_caffe):
    caffe = running_caffe
    net = caffe.Net(write("classes.prototxt", CLASSES), caffe.TEST)
    set_weights(net)
    net.save("classes.caffemodel")
    net = caffe.Net("classes.prototxt", "classes.caffemodel", caffe.TEST)
    fc_params = {name: (net.params[name][0].data, net.params[name][1].data) for name in ("fc6", "fc7")}
    # The same file gives conv1 its weights: what has no layer of its name is left out.
    full = caffe.Net(write("full.prototxt", FULL), "classes.caffemodel", caffe.TEST)
    assert np.array_equal(full.params["conv1"][0].data, net.params["conv1"][0].data)
    for name, (weights, bias) in fc_params.items():
        kernels = full.params[f"{name}-conv"]
        assert kernels[0].data.size == weights.size
        kernels[0].data.flat = weights.flat
        kernels[1].data[...] = bias
    full.save("full.caffemodel")

    image = np.random.RandomState(4).randn(2, 18, 18).astype(np.float32)
    again = caffe.Net("full.prototxt", "full.caffemodel", caffe.TEST)
    scores = again.forward_all(data=np.asarray([image]))["prob"][0]
    assert scores.shape == (3, 5, 5)
    for row in range(5):
        for column in range(5):
            part = image[:, 2 * row:2 * row + 10, 2 * column:2 * column + 10]
            net.blobs["data"].data[...] = part
            assert np.allclose(net.forward()["prob"][0], scores[:, row, column], atol=1e-5)
    assert np.ptp(scores[0]) > 0.01


def test_filters_are_edited(running_caffe):
    """The first part of that notebook: blobs and parameters are looked at, scaled, and put back."""
    caffe = running_caffe
    net = caffe.Net(write("classes.prototxt", CLASSES), caffe.TEST)
    set_weights(net)
    shapes = {name: [blob.data.shape for blob in blobs] for name, blobs in net.params.items()}
    assert shapes == {"conv1": [(4, 2, 3, 3), (4,)], "fc6": [(6, 64), (6,)], "fc7": [(3, 6), (3,)]}
    assert [(name, blob.data.shape) for name, blob in net.blobs.items()][0] == ("data", (1, 2, 10, 10))
    net.blobs["data"].data[...] = np.random.RandomState(4).randn(1, 2, 10, 10)
    net.forward()
    before = net.blobs["conv1"].data.copy()
    bias = net.params["conv1"][1].data.copy()
    net.params["conv1"][1].data[0] += 10
    net.forward()
    after = net.blobs["conv1"].data
    assert np.allclose(after[0, 0], before[0, 0] + 10, atol=1e-4) and np.array_equal(after[0, 1:], before[0, 1:])
    net.params["conv1"][1].data[:] = bias
    net.forward()
    assert np.array_equal(net.blobs["conv1"].data, before)
