"""As scripts classify: a deploy pair, a mean, ten crops of every image, the names of the best classes."""

import numpy as np
import pytest
from use import set_weights, write

NET = """name: "classes" layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 4 dim: 3 dim: 12 dim: 12 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 5 kernel_size: 3 } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "fc2" type: "InnerProduct" bottom: "pool1" top: "fc2" inner_product_param { num_output: 7 } }
layer { name: "prob" type: "Softmax" bottom: "fc2" top: "prob" }
"""
MEAN = np.array([104.0, 117.0, 123.0])


@pytest.fixture
def pair(running_caffe):
    net = running_caffe.Net(write("deploy.prototxt", NET), running_caffe.TEST)
    set_weights(net, scale=0.05)
    net.save("classes.caffemodel")
    return "deploy.prototxt", "classes.caffemodel"


@pytest.fixture
def images():
    return [image.astype(np.float32) for image in np.random.RandomState(2).rand(3, 18, 20, 3)]


def by_hand(caffe, pair, crops):
    """Scores of crops (H, W, 3), in batches of four, of which the last one is not full."""
    net = caffe.Net(*pair, caffe.TEST)
    rows = []
    for crop in crops:
        net.blobs["data"].data[...] = (crop.transpose(2, 0, 1)[::-1] * 255 - MEAN[:, None, None]) * 0.02
        rows.append(net.forward()["prob"][0].copy())
    return np.array(rows)


def test_crops_are_averaged(running_caffe, pair, images):
    classifier = running_caffe.Classifier(*pair, image_dims=(16, 16), mean=MEAN, raw_scale=255, channel_swap=(2, 1, 0),
                                          input_scale=0.02)
    scores = classifier.predict(images)
    crops = running_caffe.io.oversample([running_caffe.io.resize_image(image, (16, 16)) for image in images], (12, 12))
    want = by_hand(running_caffe, pair, crops).reshape(3, 10, 7).mean(1)
    assert scores.shape == (3, 7) and np.allclose(scores.sum(1), 1, atol=1e-5)
    assert np.allclose(scores, want, atol=1e-5) and np.ptp(scores, axis=1).min() > 0.01


def test_the_centre_alone(running_caffe, pair, images):
    classifier = running_caffe.Classifier(*pair, image_dims=(16, 16), mean=MEAN, raw_scale=255, channel_swap=(2, 1, 0),
                                          input_scale=0.02)
    centres = [running_caffe.io.resize_image(image, (16, 16))[2:14, 2:14] for image in images]
    assert np.allclose(classifier.predict(images, oversample=False), by_hand(running_caffe, pair, centres), atol=1e-5)


def test_the_transformer_and_one_image(running_caffe, pair, images):
    """Without the class: what most scripts have."""
    net = running_caffe.Net(*pair, running_caffe.TEST)
    transformer = running_caffe.io.Transformer({"data": net.blobs["data"].data.shape})
    transformer.set_transpose("data", (2, 0, 1))
    transformer.set_mean("data", MEAN)
    transformer.set_raw_scale("data", 255)
    transformer.set_channel_swap("data", (2, 1, 0))
    net.blobs["data"].reshape(1, 3, 12, 12)
    net.blobs["data"].data[...] = transformer.preprocess("data", images[0])
    output = net.forward()
    assert output["prob"].shape == (1, 7)
    best = output["prob"][0].argsort()[::-1]
    names = np.array([f"n{number:08d} name of {number}" for number in range(7)])
    assert [name.split(" ", 1)[1] for name in names[best[:5]]][0] == f"name of {output['prob'].argmax()}"
    shown = transformer.deprocess("data", net.blobs["data"].data[0])
    assert np.allclose(shown, running_caffe.io.resize_image(images[0], (12, 12)), atol=1e-5)
