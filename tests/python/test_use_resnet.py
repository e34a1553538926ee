"""As scripts generate ResNets: functions that return a few layers each, called in loops."""

import numpy as np
import pytest
from use import message_of, stripes, write, write_solver

from caffe import layers as L
from caffe import params as P


def conv_bn_scale(bottom, kernel, outputs, stride=1, pad=0):
    conv = L.Convolution(bottom, kernel_size=kernel, stride=stride, num_output=outputs, pad=pad, bias_term=False,
                         weight_filler=dict(type="msra"))
    bn = L.BatchNorm(conv, in_place=True)
    scale = L.Scale(bn, scale_param=dict(bias_term=True), in_place=True)
    return conv, bn, scale


def conv_bn_scale_relu(*args, **kwargs):
    conv, bn, scale = conv_bn_scale(*args, **kwargs)
    return conv, bn, scale, L.ReLU(scale, in_place=True)


def block(n, name, bottom, outputs, stride, project):
    """Two convolutions and the way round them, named as the published nets name them."""
    shortcut = bottom
    if project:
        (n[f"res{name}_branch1"], n[f"bn{name}_branch1"],
         n[f"scale{name}_branch1"]) = conv_bn_scale(bottom, 1, outputs, stride)
        shortcut = n[f"scale{name}_branch1"]
    (n[f"res{name}_branch2a"], n[f"bn{name}_branch2a"], n[f"scale{name}_branch2a"],
     n[f"res{name}_branch2a_relu"]) = conv_bn_scale_relu(bottom, 3, outputs, stride, 1)
    (n[f"res{name}_branch2b"], n[f"bn{name}_branch2b"],
     n[f"scale{name}_branch2b"]) = conv_bn_scale(n[f"res{name}_branch2a_relu"], 3, outputs, 1, 1)
    n[f"res{name}"] = L.Eltwise(shortcut, n[f"scale{name}_branch2b"], operation=P.Eltwise.SUM)
    n[f"res{name}_relu"] = L.ReLU(n[f"res{name}"], in_place=True)
    return n[f"res{name}_relu"]


def resnet(caffe, blocks, batch, deploy=False):
    n = caffe.NetSpec()
    n.data = L.Input(shape=dict(dim=[batch, 1, 12, 12]))
    if not deploy:
        n.label = L.Input(shape=dict(dim=[batch]))
    n.conv1, n.bn1, n.scale1, n.relu1 = conv_bn_scale_relu(n.data, 3, 8, 1, 1)
    top = n.relu1
    for stage, count in enumerate(blocks):
        for index in range(count):
            top = block(n, f"{stage + 2}{chr(ord('a') + index)}", top, 8 * 2 ** stage, 2 if stage and not index else 1,
                        project=stage > 0 and index == 0)
    n.pool = L.Pooling(top, pool=P.Pooling.AVE, global_pooling=True)
    n.score = L.InnerProduct(n.pool, num_output=3, weight_filler=dict(type="gaussian", std=0.01))
    if deploy:
        n.prob = L.Softmax(n.score)
    else:
        n.loss = L.SoftmaxWithLoss(n.score, n.label)
        n.acc_top1 = L.Accuracy(n.score, n.label, include=dict(phase=1))
    return n.to_proto()


@pytest.mark.parametrize("blocks, layers", [((1, 1), 2 + 4 + 9 + 12 + 4), ((2, 2), 2 + 4 + 18 + 21 + 4)])
def test_what_the_text_says(running_caffe, blocks, layers):
    net = resnet(running_caffe, blocks, 4)
    # conv1: 4; a block without projection: 4 + 3 + 2; with: 3 more.
    assert len(net.layer) == layers
    assert message_of(str(net)) == net
    names = [layer.name for layer in net.layer]
    assert len(set(names)) == len(names) and "res3a_branch1" in names and "res2a_branch1" not in names
    eltwise = [layer for layer in net.layer if layer.type == "Eltwise"]
    assert [list(layer.bottom) for layer in eltwise][0] == ["conv1", "res2a_branch2b"]


def test_it_learns_and_is_deployed(running_caffe):
    caffe = running_caffe
    solver = caffe.get_solver(write_solver("solver.prototxt", write("train.prototxt", resnet(caffe, (1, 1), 12)),
                                           base_lr=0.1))
    losses = []
    for step in range(25):
        solver.net.blobs["data"].data[...], solver.net.blobs["label"].data[...] = stripes(12, seed=step)
        solver.step(1)
        losses.append(float(solver.net.blobs["loss"].data))
    assert np.mean(losses[-5:]) < losses[0] / 2
    solver.net.save("resnet.caffemodel")
    deploy = caffe.Net(write("deploy.prototxt", resnet(caffe, (1, 1), 30, deploy=True)), "resnet.caffemodel",
                       caffe.TEST)
    data, labels = stripes(30, seed=99)
    right = deploy.forward_all(data=data)["prob"].argmax(1) == labels
    assert right.mean() > 0.8
    assert [blob.data.shape for blob in deploy.params["bn1"]] == [(8,), (8,), (1,)]
