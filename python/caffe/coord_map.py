"""Where a pixel of one top lies in another, for nets of convolutions: what fully convolutional nets crop by.

A map is (axis, scale, shift): the coordinate x of a top lies at scale * x + shift of the other, along each spatial axis
from `axis` on; None for `axis` is a map that leaves everything where it is. Tops are those of caffe.net_spec.
(Long et al. 2015, "Fully convolutional networks for semantic segmentation".)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Optional

import numpy as np

from .net_spec import Function, Top
from .net_spec import layers as L

Map = tuple[Optional[int], Any, Any]

PASS_THROUGH_LAYERS = ["AbsVal", "BatchNorm", "Bias", "BNLL", "Clip", "Dropout", "Eltwise", "ELU", "Log", "LRN", "Exp",
                       "MVN", "Power", "ReLU", "PReLU", "Scale", "Sigmoid", "Split", "Swish", "TanH", "Threshold"]
_BY_AXIS = {"pad_h", "pad_w", "kernel_h", "kernel_w", "stride_h", "stride_w"}
_UNMOVED: Map = (None, 1, 0)


class UndefinedMapException(Exception):
    """A layer whose type says nothing of where pixels lie."""


class AxisMismatchException(Exception):
    """Maps whose spatial axes begin at different ones."""


def conv_params(fn: Function) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """(axis, stride, extent of the dilated kernel, pad) of a convolution or pooling, arrays of one or two elements."""
    params = fn.params.get("convolution_param", fn.params.get("pooling_param", fn.params))
    given = sorted(_BY_AXIS & (set(fn.params) | set(params)))
    if given:
        raise AssertionError(f"cropping does not support legacy _h/_w params: {fn.type_name} has {', '.join(given)}; "
                             "give kernel_size, stride and pad as lists")
    if "kernel_size" not in params:
        raise UndefinedMapException(f"{fn.type_name} has no kernel_size")
    kernel, stride, pad, dilation = (np.array(params.get(name, default), ndmin=1) for name, default in
                                     (("kernel_size", 1), ("stride", 1), ("pad", 0), ("dilation", 1)))
    return params.get("axis", 1), stride, (kernel - 1) * dilation + 1, pad


def crop_params(fn: Function) -> tuple[int, np.ndarray]:
    """(axis, offset) of a Crop."""
    params = fn.params.get("crop_param", fn.params)
    return params.get("axis", 2), np.array(params.get("offset", 0), ndmin=1)


def coord_map(fn: Function) -> Map:
    """The map of a layer, from its first bottom to its top. Raises UndefinedMapException for other types."""
    if fn.type_name in ("Convolution", "Pooling", "Im2col"):
        axis, stride, kernel, pad = conv_params(fn)
        return axis, 1 / stride, (pad - (kernel - 1) / 2) / stride
    if fn.type_name == "Deconvolution":
        axis, stride, kernel, pad = conv_params(fn)
        return axis, stride, (kernel - 1) / 2 - pad
    if fn.type_name in PASS_THROUGH_LAYERS:
        return _UNMOVED
    if fn.type_name == "Crop":
        axis, offset = crop_params(fn)
        return axis - 1, 1, -offset  # a convolution names the axis of channels, which comes before
    raise UndefinedMapException(f"nothing is known of where {fn.type_name} puts pixels")


def compose(base_map: Map, next_map: Map) -> Map:
    """The map that does next_map first. Raises AxisMismatchException where both have axes that differ."""
    (axis, scale, shift), (next_axis, next_scale, next_shift) = base_map, next_map
    if axis is not None and next_axis is not None and axis != next_axis:
        raise AxisMismatchException(f"one map begins at axis {axis}, the other at {next_axis}")
    return next_axis if axis is None else axis, scale * next_scale, scale * next_shift + shift


def inverse(coord_map: Map) -> Map:  # pylint: disable=redefined-outer-name
    """The way back."""
    axis, scale, shift = coord_map
    return axis, 1 / scale, -shift / scale


def _bottoms_that_count(top: Top) -> Sequence[Top]:
    """A Crop moves its first bottom; of the second it takes the size alone."""
    return top.fn.inputs[:1] if top.fn.type_name == "Crop" else top.fn.inputs


def _maps_to(end: Top, is_found: Callable[[Top, Map], bool]) -> dict[Top, Map]:
    """Maps from every top before `end` to it, the nearest first, until one is found."""
    maps, waiting = {end: _UNMOVED}, deque([end])
    while waiting:
        top = waiting.popleft()
        if is_found(top, maps[top]):
            break
        try:
            step = coord_map(top.fn)
        except UndefinedMapException:
            continue
        for bottom in _bottoms_that_count(top):
            if bottom not in maps:
                maps[bottom] = compose(maps[top], step)
                waiting.append(bottom)
    return maps


def coord_map_from_to(top_from: Top, top_to: Top) -> Map:
    """The map from one top to another, by way of a top from which both come.

    Raises RuntimeError where there is none, AxisMismatchException where axes differ on the way.
    """
    from_maps = _maps_to(top_from, lambda top, so_far: False)
    found = []

    def is_common(top: Top, so_far: Map) -> bool:
        if top in from_maps:
            found.append(compose(so_far, inverse(from_maps[top])))
        return bool(found)

    _maps_to(top_to, is_common)
    if not found:
        raise RuntimeError("Could not compute map between tops; are they connected by spatial layers?")
    return found[0]


def crop(top_from: Top, top_to: Top) -> Top:
    """A Crop of `top_from` that lies where `top_to` does, and has its size.

    Raises AssertionError where both have different scales, or the offset is negative or no whole number.
    """
    axis, scale, shift = coord_map_from_to(top_from, top_to)
    for holds, words in ((scale == 1, f"scale mismatch on crop (a = {scale})"),
                         (shift <= 0, f"cannot crop negative offset (b = {shift})"),
                         (np.round(shift) == shift, f"cannot crop noninteger offset (b = {shift})")):
        if not np.all(holds):
            raise AssertionError(words)
    if axis is None:
        raise AssertionError("nothing lies between both tops that says where spatial axes begin")
    offset = (-np.round(np.atleast_1d(shift))).astype(int).tolist()
    cropped: Top = L.Crop(top_from, top_to, crop_param=dict(axis=axis + 1, offset=offset))
    return cropped
