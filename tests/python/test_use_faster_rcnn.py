"""As py-faster-rcnn trains: data, anchors, proposals and targets are Python layers whose tops change their shapes.

Images hold squares, of which dark ones are class 1 and bright ones class 2.
"""

import json

import numpy as np
import pytest
from use import IS_BVLC, write, write_solver
from use_layers import SIDE, moved, overlaps

from caffe import layers as L

CLASSES = 3
ITERATIONS = 400
FILLER = dict(type="xavier")


def picture(numbers):
    """An image (3, H, W) with one or two squares, and their boxes (x1, y1, x2, y2, class)."""
    height, width = SIDE + 4 * numbers.randint(0, 3, 2)
    image = numbers.normal(0, 0.1, (3, height, width)).astype(np.float32)
    boxes = []
    for left in (0, width // 2)[:numbers.randint(1, 3)]:
        kind, size = numbers.randint(1, CLASSES), numbers.randint(8, 13)
        x, y = left + numbers.randint(0, width // 2 - size + 1), numbers.randint(0, height - size + 1)
        image[:, y:y + size, x:x + size] += (-1, 1)[kind - 1]
        boxes.append([x, y, x + size, y + size, kind])
    return {"image": image, "gt_boxes": np.array(boxes, dtype=np.float32)}


def layers_of(name, **settings):
    return dict(module="use_layers", layer=name, param_str=json.dumps(settings))


def smooth_l1(*bottoms):
    return L.Python(*bottoms, python_param=layers_of("SmoothL1"), loss_weight=1, propagate_down=[True, False, False])


def detector(caffe, train):
    n = caffe.NetSpec()
    if train:
        n.data, n.im_info, n.gt_boxes = L.Python(python_param=layers_of("RoIData", num_classes=CLASSES), ntop=3)
    else:
        n.data, n.im_info = L.Input(shape=dict(dim=[1, 3, SIDE, SIDE])), L.Input(shape=dict(dim=[1, 3]))
    n.conv1 = L.Convolution(n.data, kernel_size=5, pad=2, stride=2, num_output=8, weight_filler=FILLER)
    n.relu1 = L.ReLU(n.conv1, in_place=True)
    n.conv2 = L.Convolution(n.relu1, kernel_size=5, pad=2, stride=2, num_output=16, weight_filler=FILLER)
    n.relu2 = L.ReLU(n.conv2, in_place=True)
    n.rpn_conv = L.Convolution(n.relu2, kernel_size=3, pad=1, num_output=16, weight_filler=FILLER)
    n.rpn_relu = L.ReLU(n.rpn_conv, in_place=True)
    n.rpn_score = L.Convolution(n.rpn_relu, kernel_size=1, num_output=2, weight_filler=FILLER)
    n.rpn_pred = L.Convolution(n.rpn_relu, kernel_size=1, num_output=4, weight_filler=dict(type="gaussian", std=0.01))
    if train:
        n.rpn_labels, n.rpn_targets, n.rpn_weights = L.Python(n.rpn_score, n.gt_boxes, ntop=3,
                                                              python_param=layers_of("AnchorTarget"))
        n.rpn_loss_cls = L.SoftmaxWithLoss(n.rpn_score, n.rpn_labels, loss_param=dict(ignore_label=-1, normalize=True),
                                           propagate_down=[True, False])
        n.rpn_loss_bbox = smooth_l1(n.rpn_pred, n.rpn_targets, n.rpn_weights)
    n.rpn_prob = L.Softmax(n.rpn_score)
    proposals = L.Python(n.rpn_prob, n.rpn_pred, n.im_info, python_param=layers_of("Proposal", count=8))
    if train:
        n.proposals = proposals
        n.rois, n.labels, n.targets, n.weights = L.Python(n.proposals, n.gt_boxes, ntop=4,
                                                          python_param=layers_of("ProposalTarget", num_classes=CLASSES))
    else:
        n.rois = proposals
    n.pool5 = L.ROIPooling(n.relu2, n.rois, roi_pooling_param=dict(pooled_h=3, pooled_w=3, spatial_scale=0.25))
    n.fc6 = L.InnerProduct(n.pool5, num_output=32, weight_filler=FILLER)
    n.relu6 = L.ReLU(n.fc6, in_place=True)
    n.cls_score = L.InnerProduct(n.relu6, num_output=CLASSES, weight_filler=FILLER)
    n.bbox_pred = L.InnerProduct(n.relu6, num_output=4 * CLASSES, weight_filler=dict(type="gaussian", std=0.001))
    if train:
        n.loss_cls = L.SoftmaxWithLoss(n.cls_score, n.labels, propagate_down=[True, False])
        n.loss_bbox = smooth_l1(n.bbox_pred, n.targets, n.weights)
        n.silence = L.Silence(n.rpn_weights, ntop=0)
    else:
        n.cls_prob = L.Softmax(n.cls_score)
    return write("train.prototxt" if train else "test.prototxt", n.to_proto())


def found(net, image):
    """The best box of an image, its class and score."""
    net.blobs["data"].reshape(1, *image.shape)
    net.blobs["im_info"].reshape(1, 3)
    net.forward(data=image[np.newaxis], im_info=np.array([[*image.shape[1:], 1]]))
    scores, rois = net.blobs["cls_prob"].data, net.blobs["rois"].data
    assert scores.shape == (len(rois), CLASSES)
    roi, kind = np.unravel_index(scores[:, 1:].argmax(), (len(rois), CLASSES - 1))
    by = net.blobs["bbox_pred"].data.reshape(len(rois), CLASSES, 4)[roi, kind + 1]
    return moved(rois[roi:roi + 1, 1:], by[None])[0], kind + 1, scores[roi, kind + 1]


@pytest.fixture
def roidb():
    numbers = np.random.RandomState(11)
    return [picture(numbers) for _ in range(60)]


@pytest.mark.skipif(IS_BVLC, reason="its ROIPooling has no backward pass on processors")
def test_it_learns_to_find(running_caffe, roidb):
    caffe = running_caffe
    settings = dict(base_lr=0.01, weight_decay=0.0005, lr_policy="step", gamma=0.1, stepsize=ITERATIONS * 3 // 4)
    solver = caffe.SGDSolver(write_solver("solver.prototxt", detector(caffe, train=True), **settings))
    solver.net.layers[0].set_roidb(roidb)
    losses = ("rpn_loss_cls", "rpn_loss_bbox", "loss_cls", "loss_bbox")
    history, sizes = [], set()
    while solver.iter < ITERATIONS:
        solver.step(1)
        history.append([float(np.sum(solver.net.blobs[name].data)) for name in losses])
        sizes.add((solver.net.blobs["data"].data.shape, len(solver.net.blobs["rois"].data)))
    assert len(sizes) > 10  # shapes did change
    begin, end = np.mean(history[:20], 0), np.mean(history[-60:], 0)
    # Boxes are moved when there are some that are no background: the last loss begins with nothing.
    assert (end[:3] < begin[:3] * 0.7).all() and end[3] < 0.05, (begin, end)
    solver.net.save("detector.caffemodel")

    net = caffe.Net(detector(caffe, train=False), caffe.TEST)
    net.copy_from("detector.caffemodel")
    numbers, right = np.random.RandomState(12), 0
    for _ in range(20):
        entry = picture(numbers)
        box, kind, _ = found(net, entry["image"])
        shared = overlaps(box[None], entry["gt_boxes"][:, :4])[0]
        right += shared.max() > 0.5 and entry["gt_boxes"][shared.argmax(), 4] == kind
    assert right >= 16
