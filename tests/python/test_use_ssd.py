"""As SSD's scripts write detectors: layers by their names' patterns, and settings that are added to layers afterwards.

`keys`, `vals` and `update` of NetSpec are those of SSD's own Caffe; BVLC's has none.
"""

import numpy as np
import pytest
from use import IS_BVLC, write, write_solver

import caffe
from caffe import layers as L
from caffe import params as P

pytestmark = pytest.mark.skipif(IS_BVLC, reason="NetSpec of BVLC's has no keys, vals and update")

CLASSES, SIZE = 3, 32
# One object in the first image, two in the second: (image, class, number, xmin, ymin, xmax, ymax, difficult).
BOXES = [[0, 1, 0, 0.1, 0.1, 0.6, 0.6, 0], [1, 2, 0, 0.4, 0.3, 0.9, 0.9, 0], [1, 1, 1, 0.0, 0.5, 0.4, 1.0, 0]]


def add_convolution(n, bottom, name, num_output, kernel=3, stride=1, dilation=1, in_place=True):
    learned = [dict(lr_mult=1, decay_mult=1), dict(lr_mult=2, decay_mult=0)]
    n[name] = L.Convolution(n[bottom], num_output=num_output, kernel_size=kernel, pad=dilation * (kernel // 2),
                            stride=stride, param=learned, weight_filler=dict(type="xavier"))
    if dilation > 1:
        n.update(name, {"dilation": dilation})
    if in_place:
        n[name + "_relu"] = L.ReLU(n[name], in_place=True)


def add_body(n, freeze=()):
    """Goes on from whichever layer is the last. Layers to be frozen are told so when all are there."""
    for name, num_output, stride, dilation in (("conv1", 8, 2, 1), ("conv2", 8, 2, 1), ("conv3", 8, 1, 2)):
        add_convolution(n, n.keys()[-1], name, num_output, stride=stride, dilation=dilation)
    add_convolution(n, n.keys()[-1], "conv4", 8, stride=2)
    for name in freeze:
        n.update(name, {"param": [dict(lr_mult=0, decay_mult=0)] * 2})


def add_heads(n, sources, data="data"):
    """The three tops of all boxes: where they are, what they show, and the priors."""
    assert data in n.keys()
    tops = {"loc": [], "conf": [], "priorbox": []}
    for number, source in enumerate(sources):
        normed = source + "_norm"
        n[normed] = L.Normalize(n[source], scale_filler=dict(type="constant", value=20), across_spatial=False,
                                channel_shared=False)
        for what, outputs in (("loc", 4), ("conf", CLASSES)):
            name = f"{normed}_mbox_{what}"
            add_convolution(n, normed, name, 4 * outputs, in_place=False)
            n[name + "_perm"] = L.Permute(n[name], order=[0, 2, 3, 1])
            n[name + "_flat"] = L.Flatten(n[name + "_perm"], axis=1)
            tops[what].append(n[name + "_flat"])
        prior = f"{normed}_mbox_priorbox"
        n[prior] = L.PriorBox(n[normed], n[data], min_size=8. * (number + 1), clip=False,
                              variance=[0.1, 0.1, 0.2, 0.2], offset=0.5)
        n.update(prior, {"max_size": 16. * (number + 1)})
        n.update(prior, {"aspect_ratio": [2.], "flip": True})
        tops["priorbox"].append(n[prior])
    for what, axis in (("loc", 1), ("conf", 1), ("priorbox", 2)):
        n["mbox_" + what] = L.Concat(*tops[what], axis=axis)
    return [n["mbox_" + what] for what in tops]


def detector(phase, freeze=()):
    n = caffe.NetSpec()
    n.label = L.Input(shape=dict(dim=[1, 1, len(BOXES), 8]))
    n.data = L.Input(shape=dict(dim=[2, 3, SIZE, SIZE]))
    add_body(n, freeze)
    heads = add_heads(n, ["conv3", "conv4"])
    if phase == caffe.TRAIN:
        loss = dict(loc_loss_type=P.MultiBoxLoss.SMOOTH_L1, conf_loss_type=P.MultiBoxLoss.SOFTMAX, num_classes=CLASSES,
                    code_type=P.PriorBox.CENTER_SIZE, mining_type=P.MultiBoxLoss.MAX_NEGATIVE)
        n.mbox_loss = L.MultiBoxLoss(*heads, n.label, multibox_loss_param=loss,
                                     loss_param=dict(normalization=P.Loss.VALID),
                                     propagate_down=[True, True, False, False])
        return n.to_proto()
    n.quiet = L.Silence(n.label, ntop=0)
    n.conf_reshape = L.Reshape(heads[1], shape=dict(dim=[0, -1, CLASSES]))
    n.conf_softmax = L.Softmax(n.conf_reshape, axis=2)
    n.conf_flatten = L.Flatten(n.conf_softmax, axis=1)
    output = dict(num_classes=CLASSES, share_location=True, background_label_id=0, keep_top_k=5,
                  nms_param=dict(nms_threshold=0.45, top_k=20), code_type=P.PriorBox.CENTER_SIZE)
    n.detection_out = L.DetectionOutput(heads[0], n.conf_flatten, heads[2], detection_output_param=output)
    return n.to_proto()


def test_settings_come_afterwards():
    layers = {layer.name: layer for layer in detector(caffe.TRAIN, freeze=["conv1"]).layer}
    assert list(layers)[:4] == ["label", "data", "conv1", "conv1_relu"]
    assert [one.lr_mult for one in layers["conv1"].param] == [0, 0]
    assert [one.lr_mult for one in layers["conv2"].param] == [1, 2]
    assert list(layers["conv3"].convolution_param.dilation) == [2]
    prior = layers["conv3_norm_mbox_priorbox"].prior_box_param
    assert (list(prior.min_size), list(prior.max_size), list(prior.aspect_ratio)) == ([8], [16], [2])
    assert list(layers["mbox_priorbox"].bottom) == ["conv3_norm_mbox_priorbox", "conv4_norm_mbox_priorbox"]


def test_it_learns_and_detects(running_caffe):
    trained = write("train.prototxt", detector(running_caffe.TRAIN, freeze=["conv1"]))
    solver = running_caffe.SGDSolver(write_solver("solver.prototxt", trained, base_lr=0.001, momentum=0.9))
    images = np.random.RandomState(1).rand(2, 3, SIZE, SIZE).astype(np.float32)
    frozen = solver.net.params["conv1"][0].data.copy()
    losses = []
    for _ in range(60):
        solver.net.blobs["data"].data[...] = images
        solver.net.blobs["label"].data[0, 0] = BOXES
        solver.step(1)
        losses.append(float(solver.net.blobs["mbox_loss"].data))
    assert losses[-1] < losses[0] / 2
    assert np.array_equal(solver.net.params["conv1"][0].data, frozen)
    solver.net.save("ssd.caffemodel")
    net = running_caffe.Net(write("test.prototxt", detector(running_caffe.TEST)), "ssd.caffemodel", running_caffe.TEST)
    found = net.forward(data=images, label=np.zeros((1, 1, len(BOXES), 8)))["detection_out"]
    assert found.ndim == 4 and found.shape[3] == 7 and set(found[0, 0, :, 0]) <= {0, 1}
    best = max(found[0, 0], key=lambda row: row[2])
    assert best[1] in (1, 2) and best[2] > 0.3
