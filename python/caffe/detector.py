"""caffe.Detector: a net that classifies windows of images (R-CNN: Girshick et al. 2014, "Rich feature hierarchies for
accurate object detection and semantic segmentation")."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from . import io
from .classifier import configured_transformer
from .proto.caffe_pb2 import TEST
from .pycaffe import Net

Window = Sequence[float]


class Detector(Net):
    """A net in phase TEST whose first input takes a window of an image, resized to the input.

    A window is (ymin, xmin, ymax, xmax) in pixels. With context_pad a window is cut out with so much around it that
    context_pad pixels of the input show what lies around; what lies beyond the image is the mean.
    """

    def __init__(self, model_file: str, pretrained_file: str, mean: np.ndarray | None = None,
                 input_scale: float | None = None, raw_scale: float | None = None,
                 channel_swap: Sequence[int] | None = None, context_pad: int | None = None) -> None:
        """mean to channel_swap: settings of io.Transformer. context_pad: pixels of the input, at each side."""
        super().__init__(model_file, TEST, weights=pretrained_file)
        self.transformer = configured_transformer(self, mean, input_scale, raw_scale, channel_swap)
        self.configure_crop(context_pad)

    def detect_windows(self, images_windows: Iterable[tuple[str, Sequence[Window]]]) -> list[dict[str, Any]]:
        """Scores of windows.

        images_windows: pairs of an image's file and its windows. Returns a dict for each window, in order: "window",
        "prediction" (the scores, an array without axes of length 1, or of one score) and "filename".
        """
        places: list[tuple[str, Window]] = []
        rows: list[np.ndarray] = []
        name = self.inputs[0]
        for filename, windows in images_windows:
            image = io.load_image(filename)
            for window in windows:
                places.append((filename, window))
                rows.append(self.transformer.preprocess(name, self.crop(image, window)))
        if not rows:
            return []
        scores = self.forward_all(**{name: np.stack(rows)})[self.outputs[0]]
        return [{"window": window, "prediction": np.atleast_1d(score.squeeze()), "filename": filename}
                for (filename, window), score in zip(places, scores)]

    def detect_selective_search(self, image_fnames: Sequence[str]) -> list[dict[str, Any]]:
        """Scores of the windows that selective search proposes. Needs the module selective_search_ijcv_with_python,
        which wants Matlab; raises ImportError without."""
        try:
            import selective_search_ijcv_with_python as selective_search
        except ImportError as error:
            raise ImportError("the module selective_search_ijcv_with_python is not installed; get windows elsewhere, "
                              "and give them to detect_windows") from error
        paths = [os.path.abspath(name) for name in image_fnames]
        return self.detect_windows(zip(paths, selective_search.get_windows(paths, cmd="selective_search_rcnn")))

    def configure_crop(self, context_pad: int | None) -> None:
        """Sets context_pad, and `crop_mean`: the mean as an image (H, W, C) before preprocessing.

        Raises ValueError where the input has no room for it.
        """
        name = self.inputs[0]
        shape = self.blobs[name].data.shape[1:]
        if context_pad and not 0 < 2 * context_pad < min(shape[1:]):
            raise ValueError(f"context_pad is {context_pad}, and the input {name} has {shape[1:]} pixels; give less "
                             "than half of that")
        # Of (C, H, W), whichever way images go there.
        back = np.argsort(self.transformer.transpose[name])
        self.crop_dims = np.array(shape)[back]
        self.context_pad = context_pad
        mean = self.transformer.mean.get(name)
        if not context_pad or mean is None:
            self.crop_mean = np.zeros(self.crop_dims, dtype=np.float32)
            return
        swap = self.transformer.channel_swap.get(name)
        planes = np.broadcast_to(mean, shape)
        image = (planes if swap is None else planes[np.argsort(swap)]).transpose(back)
        self.crop_mean = image / (self.transformer.raw_scale.get(name) or 1.0)

    def crop(self, im: np.ndarray, window: Window) -> np.ndarray:
        """A window of an image (H, W, C): its pixels, or with context_pad the input's size, float32.

        Raises ValueError for a window that is empty or lies beside the image.
        """
        top, left, bottom, right = (int(round(edge)) for edge in window)
        if not (max(0, top) < min(bottom, im.shape[0]) and max(0, left) < min(right, im.shape[1])):
            raise ValueError(f"the window {tuple(window)} holds nothing of an image of {im.shape[:2]}; give (ymin, "
                             "xmin, ymax, xmax) in pixels")
        if not self.context_pad:
            return im[max(0, top):bottom, max(0, left):right]
        rows = _with_context(top, bottom, im.shape[0], int(self.crop_dims[0]), self.context_pad)
        columns = _with_context(left, right, im.shape[1], int(self.crop_dims[1]), self.context_pad)
        inner = io.resize_image(im[rows.source, columns.source], (rows.length, columns.length))
        crop = np.array(self.crop_mean, dtype=np.float32)
        crop[rows.target, columns.target] = inner
        return crop


class _Part:
    """Along one axis: `source` of an image, resized to `length` pixels, is `target` of a crop."""

    def __init__(self, source: slice, start: int, length: int) -> None:
        self.source, self.target, self.length = source, slice(start, start + length), length


def _with_context(begin: int, end: int, size: int, crop: int, pad: int) -> _Part:
    """What lies between `begin` and `end` goes into the middle of `crop` pixels, with what is around it at both sides.

    The last pixel of a window counts twice, as Caffe has it: begin ... end has end - begin + 1 pixels.
    """
    half = (end - begin + 1) / 2
    reach = half * crop / (crop - 2 * pad)
    low, high = np.round(begin + half - reach), np.round(begin + half + reach)
    scale = crop / (high - low + 1)
    start = min(int(round(max(0, -low) * scale)), crop - 1)
    low, high = np.clip((low, high), 0, size).astype(int)
    length = min(max(1, int(round((high - low + 1) * scale))), crop - start)
    return _Part(slice(low, max(high, low + 1)), start, length)
