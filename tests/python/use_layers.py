"""Python layers of the tests test_use_*.py, written as scripts write theirs: they call nothing but what BVLC has."""

import json
import queue
import threading

import numpy as np
from use import stripes

import caffe


class PrefetchingData(caffe.Layer):
    """Batches that a thread makes beforehand. param_str: {"batch": N, "seed": S, "ahead": batches in the queue}."""

    def setup(self, bottom, top):
        if bottom:
            raise Exception("a data layer has no bottoms")
        self.settings = json.loads(self.param_str)
        self.ready = queue.Queue(self.settings.get("ahead", 2))
        self.stopping = threading.Event()
        self.made = []
        self.thread = threading.Thread(target=self.produce, daemon=True)
        self.thread.start()

    def produce(self):
        number = 0
        while not self.stopping.is_set():
            batch = stripes(self.settings["batch"], self.settings["seed"] + number)
            self.made.append(threading.get_ident())
            number += 1
            while not self.stopping.is_set():
                try:
                    self.ready.put(batch, timeout=0.05)
                    break
                except queue.Full:
                    continue

    def close(self):
        self.stopping.set()
        self.thread.join(5)

    def reshape(self, bottom, top):
        top[0].reshape(self.settings["batch"], 1, 12, 12)
        top[1].reshape(self.settings["batch"])

    def forward(self, bottom, top):
        top[0].data[...], top[1].data[...] = self.ready.get(timeout=10)

    def backward(self, top, propagate_down, bottom):
        pass


class SmoothL1(caffe.Layer):
    """Loss of (prediction, target, weight), all of one shape: 0.5 d^2 for |d| < 1, |d| - 0.5 beyond; mean of rows."""

    def setup(self, bottom, top):
        if len(bottom) != 3:
            raise Exception("Need a prediction, a target and a weight.")

    def reshape(self, bottom, top):
        if bottom[0].count != bottom[1].count:
            raise Exception("Inputs must have the same dimension.")
        self.diff = np.zeros_like(bottom[0].data, dtype=np.float32)
        top[0].reshape(1)

    def forward(self, bottom, top):
        self.diff[...] = (bottom[0].data - bottom[1].data) * bottom[2].data
        size = np.abs(self.diff)
        top[0].data[...] = np.where(size < 1, 0.5 * size ** 2, size - 0.5).sum() / bottom[0].num

    def backward(self, top, propagate_down, bottom):
        if propagate_down[0]:
            slope = np.clip(self.diff, -1, 1) * bottom[2].data
            bottom[0].diff[...] = slope * top[0].diff / bottom[0].num


# ---- A detector of squares, as Faster R-CNN has its layers -----------------------------------------------------------

STRIDE, ANCHOR, SIDE = 4, 10, 32


def anchors(height, width):
    """Boxes (height * width, 4) around the places of a map: (x1, y1, x2, y2)."""
    y, x = np.mgrid[:height, :width].reshape(2, -1) * STRIDE + STRIDE / 2
    return np.stack([x - ANCHOR / 2, y - ANCHOR / 2, x + ANCHOR / 2, y + ANCHOR / 2], 1)


def overlaps(boxes, others):
    """Intersection over union, (boxes, others)."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    common = np.prod(np.maximum(high - low, 0), 2)
    sizes, others_sizes = (np.prod(each[:, 2:] - each[:, :2], 1) for each in (boxes, others))
    return common / (sizes[:, None] + others_sizes[None, :] - common)


def offsets(boxes, targets):
    """What moves boxes onto targets: shifts by their size, logarithms of scales."""
    size, wanted = boxes[:, 2:] - boxes[:, :2], targets[:, 2:] - targets[:, :2]
    shift = (targets[:, :2] + targets[:, 2:] - boxes[:, :2] - boxes[:, 2:]) / 2
    return np.hstack([shift / size, np.log(wanted / size)]).astype(np.float32)


def moved(boxes, by):
    """Boxes moved by what `offsets` gives."""
    size = boxes[:, 2:] - boxes[:, :2]
    centre, half = (boxes[:, :2] + boxes[:, 2:]) / 2 + by[:, :2] * size, np.exp(np.clip(by[:, 2:], -2, 2)) * size / 2
    return np.hstack([centre - half, centre + half])


class RoIData(caffe.Layer):
    """One image a time, as its roidb says, which is set from outside: tops data, im_info, gt_boxes."""

    def setup(self, bottom, top):
        self._num_classes = int(json.loads(self.param_str)["num_classes"])
        self._roidb = None
        self._cursor = 0
        self._names = {"data": 0, "im_info": 1, "gt_boxes": 2}
        top[0].reshape(1, 3, SIDE, SIDE)
        top[1].reshape(1, 3)
        top[2].reshape(1, 5)

    def set_roidb(self, roidb):
        self._roidb = roidb

    def reshape(self, bottom, top):
        """Tops get their shapes in forward, where the image is known."""

    def forward(self, bottom, top):
        entry = self._roidb[self._cursor % len(self._roidb)]
        self._cursor += 1
        blobs = {"data": entry["image"][np.newaxis], "im_info": np.array([[*entry["image"].shape[1:], 1]]),
                 "gt_boxes": entry["gt_boxes"]}
        for name, blob in blobs.items():
            top[self._names[name]].reshape(*blob.shape)
            top[self._names[name]].data[...] = blob.astype(np.float32, copy=False)

    def backward(self, top, propagate_down, bottom):
        """Data do not learn."""


class AnchorTarget(caffe.Layer):
    """Labels (-1: does not count) and offsets of all anchors; bottoms: scores (for their shape), gt_boxes."""

    def setup(self, bottom, top):
        self.reshape(bottom, top)

    def reshape(self, bottom, top):
        height, width = bottom[0].data.shape[-2:]
        top[0].reshape(1, 1, height, width)
        for index in (1, 2):
            top[index].reshape(1, 4, height, width)

    def forward(self, bottom, top):
        height, width = bottom[0].data.shape[-2:]
        gt_boxes, boxes = bottom[1].data[:, :4], anchors(height, width)
        shared = overlaps(boxes, gt_boxes)
        best, nearest = shared.max(1), shared.argmax(1)
        labels = np.where(best > 0.5, 1, np.where(best < 0.25, 0, -1))
        labels[shared.argmax(0)] = 1
        top[0].reshape(1, 1, height, width)
        top[0].data[...] = labels.reshape(1, 1, height, width)
        targets = offsets(boxes, gt_boxes[nearest]).T.reshape(1, 4, height, width)
        for index, values in ((1, targets), (2, np.broadcast_to(labels.reshape(height, width) == 1, targets.shape))):
            top[index].reshape(*targets.shape)
            top[index].data[...] = values

    def backward(self, top, propagate_down, bottom):
        """Targets do not learn."""


class Proposal(caffe.Layer):
    """The best boxes, (N, 5) with the image's number before; bottoms: probabilities, offsets, im_info."""

    def setup(self, bottom, top):
        self.count = json.loads(self.param_str)["count"]
        top[0].reshape(1, 5)

    def reshape(self, bottom, top):
        """How many there are is known in forward alone."""

    def forward(self, bottom, top):
        height, width = bottom[0].data.shape[-2:]
        scores = bottom[0].data[0, 1].ravel()
        by = bottom[1].data[0].reshape(4, -1).T
        boxes = np.clip(moved(anchors(height, width), by), 0, bottom[2].data[0, [1, 0, 1, 0]] - 1)
        boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
        kept, order = [], scores.argsort()[::-1]
        while order.size and len(kept) < self.count:
            kept.append(order[0])
            order = order[1:][overlaps(boxes[order[:1]], boxes[order[1:]])[0] < 0.7]
        top[0].reshape(len(kept), 5)
        top[0].data[...] = np.hstack([np.zeros((len(kept), 1)), boxes[kept]])

    def backward(self, top, propagate_down, bottom):
        """Boxes are taken as they are."""


class ProposalTarget(caffe.Layer):
    """Boxes with those of the image behind them, their classes, offsets and weights by class."""

    def setup(self, bottom, top):
        self.classes = json.loads(self.param_str)["num_classes"]
        top[0].reshape(1, 5)
        top[1].reshape(1)
        for index in (2, 3):
            top[index].reshape(1, self.classes * 4)

    def reshape(self, bottom, top):
        """As many as there are proposals."""

    def forward(self, bottom, top):
        gt_boxes = bottom[1].data
        rois = np.vstack([bottom[0].data, np.hstack([np.zeros((len(gt_boxes), 1)), gt_boxes[:, :4]])])
        shared = overlaps(rois[:, 1:], gt_boxes[:, :4])
        nearest, labels = shared.argmax(1), np.where(shared.max(1) > 0.5, gt_boxes[shared.argmax(1), 4], 0).astype(int)
        targets, weights = (np.zeros((len(rois), self.classes, 4)) for _ in range(2))
        targets[range(len(rois)), labels] = offsets(rois[:, 1:], gt_boxes[nearest, :4])
        weights[labels > 0, labels[labels > 0]] = 1
        values = rois, labels, targets.reshape(len(rois), -1), weights.reshape(len(rois), -1)
        for index in range(4):
            top[index].reshape(*values[index].shape)
            top[index].data[...] = values[index]

    def backward(self, top, propagate_down, bottom):
        """Targets do not learn."""
