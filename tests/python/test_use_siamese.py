"""As scripts train Siamese nets: two branches with the same parameters, and a loss of their distance."""

import numpy as np
from use import stripes, write, write_solver

from caffe import layers as L


def branch(n, suffix, bottom):
    """Layers of one branch: parameters have names, so both branches learn the same."""
    n[f"conv1{suffix}"] = L.Convolution(bottom, kernel_size=3, num_output=6, weight_filler=dict(type="xavier"),
                                        param=[dict(name="conv1_w", lr_mult=1), dict(name="conv1_b", lr_mult=2)])
    n[f"relu1{suffix}"] = L.ReLU(n[f"conv1{suffix}"], in_place=True)
    n[f"feat{suffix}"] = L.InnerProduct(n[f"relu1{suffix}"], num_output=2, weight_filler=dict(type="xavier"),
                                        param=[dict(name="feat_w", lr_mult=1), dict(name="feat_b", lr_mult=2)])
    return n[f"feat{suffix}"]


def siamese(caffe, batch):
    n = caffe.NetSpec()
    n.pair_data = L.Input(shape=dict(dim=[batch, 2, 12, 12]))
    n.sim = L.Input(shape=dict(dim=[batch]))
    n.data, n.data_p = L.Slice(n.pair_data, slice_param=dict(slice_dim=1, slice_point=1), ntop=2, name="slice_pair")
    n.loss = L.ContrastiveLoss(branch(n, "", n.data), branch(n, "_p", n.data_p), n.sim,
                               contrastive_loss_param=dict(margin=1))
    return write("siamese.prototxt", n.to_proto())


def pairs(count, seed):
    data, labels = stripes(2 * count, seed)
    return np.concatenate([data[:count], data[count:]], 1), (labels[:count] == labels[count:]).astype(np.float32)


def test_like_pictures_come_close(running_caffe):
    solver = running_caffe.SGDSolver(write_solver("solver.prototxt", siamese(running_caffe, 16), base_lr=0.02))
    net = solver.net
    losses = []
    for step in range(120):
        net.blobs["pair_data"].data[...], net.blobs["sim"].data[...] = pairs(16, seed=step)
        solver.step(1)
        losses.append(float(net.blobs["loss"].data))
    assert np.mean(losses[-10:]) < np.mean(losses[:3]) / 2
    # Both branches have one array, in every respect.
    for name in ("conv1", "feat"):
        for one, other in zip(net.params[name], net.params[f"{name}_p"]):
            assert one.data.ctypes.data == other.data.ctypes.data and np.array_equal(one.diff, other.diff)
    net.blobs["pair_data"].data[...], alike = pairs(16, seed=1000)
    net.forward(end="feat_p")
    distance = np.sqrt(((net.blobs["feat"].data - net.blobs["feat_p"].data) ** 2).sum(1))
    assert distance[alike == 1].mean() < distance[alike == 0].mean() / 2
