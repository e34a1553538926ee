"""As scripts fine-tune: layers of the same name get the weights of a file, a renamed one begins anew."""

import numpy as np
import pytest
from use import IS_BVLC, stripes, write, write_solver

from caffe import layers as L
from caffe import params as P

LEARNED = dict(lr_mult=1, decay_mult=1), dict(lr_mult=2, decay_mult=0)
FROZEN = dict(lr_mult=0), dict(lr_mult=0)


def net_with(caffe, classifier_name, num_output, learn_all=True):
    n = caffe.NetSpec()
    n.data = L.Input(input_param=dict(shape=dict(dim=[12, 1, 12, 12])))
    n.label = L.Input(input_param=dict(shape=dict(dim=[12])))
    param = list(LEARNED if learn_all else FROZEN)
    n.conv1 = L.Convolution(n.data, kernel_size=3, num_output=8, param=param, weight_filler=dict(type="xavier"))
    n.relu1 = L.ReLU(n.conv1, in_place=True)
    n.pool1 = L.Pooling(n.relu1, pool=P.Pooling.MAX, kernel_size=2, stride=2)
    score = L.InnerProduct(n.pool1, name=classifier_name, num_output=num_output, param=list(LEARNED),
                           weight_filler=dict(type="xavier"))
    n.score = score
    n.loss = L.SoftmaxWithLoss(score, n.label)
    n.acc = L.Accuracy(score, n.label)
    return write(f"{classifier_name}.prototxt", n.to_proto())


def run(solver, steps, labels_of):
    """Losses and accuracies of every step."""
    loss, accuracy = np.zeros(steps), np.zeros(steps)
    for step in range(steps):
        data, labels = stripes(12, seed=step)
        solver.net.blobs["data"].data[...] = data
        solver.net.blobs["label"].data[...] = labels_of(labels)
        solver.step(1)
        loss[step], accuracy[step] = (solver.net.blobs[name].data.copy() for name in ("loss", "acc"))
    return loss, accuracy


def test_learned_layers_are_taken_over(running_caffe):
    caffe = running_caffe
    first = caffe.SGDSolver(write_solver("first.prototxt", net_with(caffe, "fc_three", 3)))
    loss, accuracy = run(first, 40, lambda labels: labels)
    assert loss[-5:].mean() < loss[:5].mean() / 2 and accuracy[-5:].mean() > 0.8
    first.net.save("three.caffemodel")

    net = net_with(caffe, "fc_two", 2, learn_all=False)
    tuned, scratch = (caffe.get_solver(write_solver("second.prototxt", net)) for _ in range(2))
    tuned.net.copy_from("three.caffemodel")
    for index in (0, 1):
        assert np.array_equal(tuned.net.params["conv1"][index].data, first.net.params["conv1"][index].data)
    assert tuned.net.params["fc_two"][0].data.shape == (2, 200)
    before = [blob.data.copy() for blob in tuned.net.params["conv1"]]
    run(scratch, 15, lambda labels: labels == 2)
    loss, accuracy = run(tuned, 40, lambda labels: labels == 2)
    assert loss[-5:].mean() < loss[:5].mean() / 2 and accuracy[-5:].mean() > 0.8
    # Rates of zero keep what was taken over.
    assert all(np.array_equal(blob.data, old) for blob, old in zip(tuned.net.params["conv1"], before))
    assert not np.array_equal(scratch.net.params["conv1"][0].data, before[0])


@pytest.mark.skipif(IS_BVLC, reason="the real one ends the process")
def test_weights_of_another_shape_are_refused_by_name(running_caffe):
    """The mistake that everybody makes once: the classifier was not renamed."""
    caffe = running_caffe
    net = caffe.Net(net_with(caffe, "fc", 3), caffe.TRAIN)
    net.save("three.caffemodel")
    other = caffe.Net(net_with(caffe, "fc", 2), caffe.TRAIN)
    with pytest.raises(Exception, match="fc"):
        other.copy_from("three.caffemodel")
