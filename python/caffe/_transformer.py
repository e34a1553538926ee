"""What lies between pictures and a net's inputs: caffe.io.Transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ._resize import resize_image


class Transformer:
    """Turns images (H, W, C) into what a net's input takes, (C, H, W), and back.

    The steps of `preprocess`, each taken only where it is set: resizing to the input's height and width, transposing,
    swapping channels, multiplying by raw_scale, subtracting the mean, multiplying by input_scale. `deprocess` goes the
    same way backwards, without resizing.

    Attributes of which each maps an input's name to its setting: inputs, transpose, channel_swap, raw_scale, mean,
    input_scale.
    """

    def __init__(self, inputs: Mapping[str, Sequence[int]]) -> None:
        """inputs: name of an input -> its shape (N, C, H, W), as in {"data": net.blobs["data"].data.shape}."""
        self.inputs: dict[str, tuple[int, ...]] = {name: tuple(shape) for name, shape in inputs.items()}
        self.transpose: dict[str, Sequence[int]] = {}
        self.channel_swap: dict[str, Sequence[int]] = {}
        self.raw_scale: dict[str, float] = {}
        self.mean: dict[str, np.ndarray] = {}
        self.input_scale: dict[str, float] = {}

    def _shape(self, in_: str) -> tuple[int, ...]:
        if in_ not in self.inputs:
            raise ValueError(f"{in_} is not one of the net inputs: {', '.join(self.inputs) or 'there are none'}; name "
                             "an input that the Transformer was made with")
        return self.inputs[in_]

    def preprocess(self, in_: str, data: np.ndarray) -> np.ndarray:
        """One image (H, W, C) as the input `in_` takes it: float32, (C, H, W) where transposing is set.

        `data` itself is left as it is. Raises ValueError for another input, or an image that does not fit.
        """
        size = self._shape(in_)[2:]
        image = np.asarray(data).astype(np.float32, copy=False)
        if size and image.shape[:len(size)] != size:
            image = resize_image(image, size)
        if self.transpose.get(in_) is not None:
            image = image.transpose(self.transpose[in_])
        if self.channel_swap.get(in_) is not None:
            image = image[list(self.channel_swap[in_])]
        if self.raw_scale.get(in_) is not None:
            image = image * np.float32(self.raw_scale[in_])
        if self.mean.get(in_) is not None:
            image = image - self.mean[in_]
        if self.input_scale.get(in_) is not None:
            image = image * np.float32(self.input_scale[in_])
        return image.astype(np.float32, copy=False)

    def deprocess(self, in_: str, data: np.ndarray) -> np.ndarray:
        """The image (H, W, C) that `preprocess` made `data` of: axes of length 1 fall away, the size stays."""
        self._shape(in_)
        image = np.asarray(data).copy().squeeze()
        if self.input_scale.get(in_) is not None:
            image = image / self.input_scale[in_]
        if self.mean.get(in_) is not None:
            image = image + self.mean[in_]
        if self.raw_scale.get(in_) is not None:
            image = image / self.raw_scale[in_]
        if self.channel_swap.get(in_) is not None:
            image = image[np.argsort(self.channel_swap[in_])]
        if self.transpose.get(in_) is not None:
            image = image.transpose(np.argsort(self.transpose[in_]))
        return image.astype(np.asarray(data).dtype, copy=False) if np.asarray(data).dtype.kind == "f" else image

    def set_transpose(self, in_: str, order: Sequence[int]) -> None:
        """Order of an image's axes in the input: (2, 0, 1) makes (C, H, W) of (H, W, C)."""
        axes = len(self._shape(in_)) - 1
        from_first = tuple(axis + axes if axis < 0 else axis for axis in order)
        if sorted(from_first) != list(range(axes)):
            raise ValueError(f"Transpose order {tuple(order)} needs to have the same number of dimensions as the input "
                             f"{in_}: give each of 0 ... {axes - 1} once")
        self.transpose[in_] = from_first

    def set_channel_swap(self, in_: str, order: Sequence[int]) -> None:
        """Order of the channels in the input: (2, 1, 0) makes BGR of RGB. Channels have to be the first axis then."""
        channels = self._shape(in_)[1]
        if len(order) != channels:
            raise ValueError(f"Channel swap {tuple(order)} needs to have the same number of dimensions as the input "
                             f"channels: {in_} has {channels} of them")
        if any(not -channels <= channel < channels for channel in order):
            raise ValueError(f"Channel swap {tuple(order)} names a channel that {in_} does not have; give numbers of "
                             f"0 ... {channels - 1}")
        # As deprocess sorts them to find the way back.
        self.channel_swap[in_] = tuple(channel % channels for channel in order)

    def set_raw_scale(self, in_: str, scale: float) -> None:
        """Factor before the mean is subtracted: 255 for means that were taken of images in 0 ... 255."""
        self._shape(in_)
        self.raw_scale[in_] = scale

    def set_input_scale(self, in_: str, scale: float) -> None:
        """Factor after the mean is subtracted."""
        self._shape(in_)
        self.input_scale[in_] = scale

    def set_mean(self, in_: str, mean: np.ndarray) -> None:
        """What is subtracted: (C,) is a value of each channel, (C, H, W) or (H, W) a value of each pixel.

        A mean image of another size is resized. Raises ValueError where channels or axes do not fit.
        """
        shape, mean = self._shape(in_), np.asarray(mean)
        if mean.ndim == 1:
            if len(mean) != shape[1]:
                raise ValueError(f"Mean channels incompatible with input: the mean has {len(mean)}, {in_} has "
                                 f"{shape[1]}; give one value for each channel")
            self.mean[in_] = mean[:, np.newaxis, np.newaxis]
            return
        planes = mean[np.newaxis] if mean.ndim == 2 else mean
        if planes.ndim != 3 or planes.shape[0] not in (1, shape[1]):
            raise ValueError(f"Mean shape invalid: {mean.shape} beside an input {in_} of {shape}; give (C,), (H, W) or "
                             "(C, H, W), and of a mean of several images mean[0]")
        self.mean[in_] = _resized_mean(planes, shape[2:]) if planes.shape[1:] != shape[2:] else mean


def _resized_mean(mean: np.ndarray, size: Sequence[int]) -> np.ndarray:
    """A mean image (C, H, W) in another size."""
    return resize_image(mean.transpose(1, 2, 0), size).transpose(2, 0, 1)
