"""As scripts extract features: a forward pass that ends early, or answers with more blobs than the outputs."""

import numpy as np
import pytest
from use import set_weights, stripes, write

NET = """name: "features" layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 4 dim: 1 dim: 12 dim: 12 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 5 kernel_size: 3 } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
layer { name: "fc7" type: "InnerProduct" bottom: "pool1" top: "fc7" inner_product_param { num_output: 6 } }
layer { name: "relu7" type: "ReLU" bottom: "fc7" top: "fc7" }
layer { name: "fc8" type: "InnerProduct" bottom: "fc7" top: "fc8" inner_product_param { num_output: 3 } }
layer { name: "prob" type: "Softmax" bottom: "fc8" top: "prob" }
"""


@pytest.fixture
def net(running_caffe):
    made = running_caffe.Net(write("net.prototxt", NET), running_caffe.TEST)
    set_weights(made)
    return made


def test_a_pass_that_ends_early(net):
    data = stripes(4, seed=1)[0]
    net.blobs["data"].data[...] = data
    answer = net.forward(end="relu7")
    features = net.blobs["fc7"].data.copy()
    assert list(answer) == ["fc7"] and np.array_equal(answer["fc7"], features) and (features >= 0).all()
    hidden = np.maximum(net.blobs["pool1"].data.reshape(4, -1) @ net.params["fc7"][0].data.T +
                        net.params["fc7"][1].data, 0)
    assert np.allclose(features, hidden, atol=1e-5) and features.max() > 0
    # The rest is computed of what is there.
    net.blobs["fc7"].data[...] = 0
    out = net.forward(start="fc8")
    bias = np.exp(net.params["fc8"][1].data)
    assert np.allclose(out["prob"], bias / bias.sum(), atol=1e-6)


def test_more_blobs_than_the_outputs(net):
    data = stripes(4, seed=2)[0]
    out = net.forward(data=data, blobs=["conv1", "fc7"])
    assert sorted(out) == ["conv1", "fc7", "prob"] and out["conv1"].shape == (4, 5, 10, 10)


def test_all_images_of_a_set(net, tmp_path):
    """Ten images in batches of four: the answer has ten rows of each blob."""
    data = stripes(10, seed=3)[0]
    features = net.forward_all(blobs=["fc7"], data=data)
    assert features["fc7"].shape == (10, 6) and features["prob"].shape == (10, 3)
    np.save(tmp_path / "features.npy", features["fc7"])
    for begin in (0, 4, 6):
        net.blobs["data"].data[...] = data[begin:begin + 4]
        net.forward()
        assert np.allclose(net.blobs["fc7"].data, np.load(tmp_path / "features.npy")[begin:begin + 4], atol=1e-6)


def test_gradients_of_all_images(net):
    """Of every image, the gradient of one score."""
    data = stripes(10, seed=3)[0]
    scores = np.zeros((10, 3), np.float32)
    scores[:, 1] = 1
    blobs, diffs = net.forward_backward_all(blobs=["fc8"], diffs=["pool1"], data=data, prob=scores)
    assert blobs["fc8"].shape == (10, 3) and diffs["data"].shape == data.shape
    assert diffs["pool1"].shape == (10, 5, 5, 5)
    net.blobs["data"].data[...] = data[4:8]
    net.forward()
    net.blobs["prob"].diff[...] = scores[4:8]
    assert np.allclose(net.backward(diffs=["pool1"])["pool1"], diffs["pool1"][4:8], atol=1e-6)


def test_looking_at_a_net(net):
    assert net.inputs == ["data"] and net.outputs == ["prob"]
    assert list(net._layer_names) == ["data", "conv1", "relu1", "pool1", "fc7", "relu7", "fc8", "prob"]
    assert [layer.type for layer in net.layers][:3] == ["Input", "Convolution", "ReLU"]
    assert net.layer_dict["conv1"].blobs[0].data.shape == (5, 1, 3, 3)
    assert list(net.blobs) == ["data", "conv1", "pool1", "fc7", "fc8", "prob"]
    assert net.top_names["relu1"] == ["conv1"] and net.bottom_names["fc7"] == ["pool1"]
    assert [(name, len(blobs)) for name, blobs in net.params.items()] == [("conv1", 2), ("fc7", 2), ("fc8", 2)]
    blob = net.blobs["conv1"]
    assert (blob.num, blob.channels, blob.height, blob.width, blob.count) == (4, 5, 10, 10, 2000)
