"""caffe.Classifier: a net that says which class images show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import io
from .proto.caffe_pb2 import TEST
from .pycaffe import Net


def configured_transformer(net: Net, mean: np.ndarray | None, input_scale: float | None,
                           raw_scale: float | None, channel_swap: Sequence[int] | None) -> io.Transformer:
    """What turns images (H, W, C) into a net's first input; what is None is left out."""
    name = net.inputs[0]
    shape = net.blobs[name].data.shape
    if len(shape) != 4:
        raise ValueError(f"the input {name} has shape {shape}; images need (N, C, H, W)")
    transformer = io.Transformer({name: shape})
    transformer.set_transpose(name, (2, 0, 1))
    settings: list[tuple[Any, Any]] = [(transformer.set_mean, mean), (transformer.set_input_scale, input_scale),
                                       (transformer.set_raw_scale, raw_scale),
                                       (transformer.set_channel_swap, channel_swap)]
    for put, value in settings:
        if value is not None:
            put(name, value)
    return transformer


class Classifier(Net):
    """A net in phase TEST whose first input takes images and whose first output is a row of scores.

    transformer: what is done with images (io.Transformer). image_dims: (height, width) images are resized to.
    crop_dims: (height, width) of the input.
    """

    def __init__(self, model_file: str, pretrained_file: str, image_dims: Sequence[int] | None = None,
                 mean: np.ndarray | None = None, input_scale: float | None = None,
                 raw_scale: float | None = None, channel_swap: Sequence[int] | None = None) -> None:
        """image_dims: (height, width) before crops are taken, by default the input's own. The others are settings of
        io.Transformer. Raises ValueError where the input takes no images."""
        super().__init__(model_file, TEST, weights=pretrained_file)
        self.transformer = configured_transformer(self, mean, input_scale, raw_scale, channel_swap)
        self.crop_dims = np.array(self.blobs[self.inputs[0]].data.shape[2:])
        # Its truth is asked only where it is no array, which has none.
        given = image_dims is not None and len(image_dims) > 0
        self.image_dims = np.array(image_dims if given else self.crop_dims, dtype=int)

    def predict(self, inputs: Sequence[np.ndarray], oversample: bool = True) -> np.ndarray:
        """Scores of images, (N, classes).

        inputs: N arrays (H, W, C), as io.load_image gives them. oversample: the mean over ten crops, which are the
        corners, the centre and their mirror images; without, the centre alone. Raises ValueError where image_dims have
        no room for the input's size.
        """
        if np.any(self.image_dims < self.crop_dims):
            raise ValueError(f"image_dims {tuple(map(int, self.image_dims))} are smaller than the input "
                             f"{self.inputs[0]}, {tuple(map(int, self.crop_dims))}; give at least that")
        if len(inputs) == 0:
            raise ValueError("there are no images to classify; give at least one array (height, width, channels)")
        images = np.stack([io.resize_image(image, self.image_dims) for image in inputs])
        crops = io.oversample(images, self.crop_dims) if oversample else self._centres(images)
        name = self.inputs[0]
        rows = np.stack([self.transformer.preprocess(name, crop) for crop in crops])
        scores: np.ndarray = self.forward_all(**{name: rows})[self.outputs[0]]
        if oversample:
            scores = scores.reshape(len(scores) // 10, 10, -1).mean(1)
        return scores

    def _centres(self, images: np.ndarray) -> np.ndarray:
        top, left = (int(size / 2 - crop / 2) for size, crop in zip(self.image_dims, self.crop_dims))
        return images[:, top:top + self.crop_dims[0], left:left + self.crop_dims[1]]
