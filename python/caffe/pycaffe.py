"""caffe.Net: what the extension `_caffe` gives, under the names and with the habits of pycaffe."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import numpy as np

with warnings.catch_warnings():
    # pybind11 before 2.12 asks for numpy.core, which has another name in numpy 2.
    warnings.simplefilter("ignore", DeprecationWarning)
    from ._caffe import Blob, Communicator, Net

from . import _by_number, io
from .nccl import NCCL, has_nccl
from .python_layer import Layer
from .solvers import (
    AdaDeltaSolver,
    AdaGradSolver,
    AdamSolver,
    NesterovSolver,
    RMSPropSolver,
    SGDSolver,
    Solver,
    get_solver,
)
from .timer import Timer


class _UnknownLayer(KeyError, ValueError):
    """A net has no layer of a name; pycaffe raises ValueError there."""

    __str__ = ValueError.__str__


def _kept(name: str, made: Any) -> Any:
    """A property of nets that is made once: names, and which blob has one, never change."""
    def get(self: Net) -> Any:
        found = self.__dict__.get(name)
        if found is None:
            found = self.__dict__[name] = made(self)
        return found
    return property(get)


def _reversed_names(self: Net) -> Any:
    return {name: number for number, name in enumerate(self._layer_names)}


def _number(self: Net, layer: str, otherwise: int) -> int:
    """The place of a layer in the net; the error names those that are there."""
    if layer is None:
        return otherwise
    found = self._layer_numbers.get(layer)
    if found is None:
        raise _UnknownLayer(f"the net has no layer {layer}; it has {', '.join(self._layer_names)}")
    return found


def _fill(self: Net, arrays: dict[str, Any], expected: Iterable[str], gradient: bool) -> None:
    """Writes a batch's arrays into blobs, all of `expected`."""
    if set(arrays) != set(expected):
        raise ValueError(f"{'Top diff' if gradient else 'Input blob'} arguments do not match net "
                         f"{'outputs' if gradient else 'inputs'}: given {', '.join(sorted(arrays))}, wanted "
                         f"{', '.join(sorted(expected))}")
    for name, values in arrays.items():
        blob = self.blobs[name]
        values = np.asarray(values)
        if values.shape[:1] != blob.shape[:1]:
            raise ValueError(f"{'Diff' if gradient else 'Input'} is not batch sized: {name} has shape {values.shape}, "
                             f"and the net's blob {blob.shape}")
        (blob.diff if gradient else blob.data)[...] = values


def forward(self: Net, blobs: Iterable[str] | None = None, start: str | None = None, end: str | None = None,
            **kwargs: Any) -> dict[str, np.ndarray]:
    """Runs layers `start` to `end` (both included; by default all). Returns {blob: its array}.

    blobs: names of blobs to return besides the outputs, or besides the tops of `end`. kwargs: an array for every input,
    or none at all. Raises caffe.Error; ValueError for arrays that are not the inputs', and for unknown
    layers, where it is a KeyError, too.
    """
    wanted = list(blobs or [])
    if kwargs:
        _fill(self, kwargs, self.inputs, False)
    if start is None and end is None:
        self._forward_all()
        names = self.outputs + wanted
    else:
        last = len(self._layer_names) - 1
        self._forward(_number(self, start, 0), _number(self, end, last))
        names = (self.outputs if end is None else self.top_names[end]) + wanted
    return {name: self.blobs[name].data for name in names}


def backward(self: Net, diffs: Iterable[str] | None = None, start: str | None = None, end: str | None = None,
             **kwargs: Any) -> dict[str, np.ndarray]:
    """Runs layers back from `start` down to `end`; gradients of parameters are added to. Returns {blob: its gradient}.

    diffs: names of blobs to return besides the inputs, or besides the bottoms of `end`. kwargs: an array for every
    output, or none at all. Raises what forward raises.
    """
    wanted = list(diffs or [])
    if kwargs:
        _fill(self, kwargs, self.outputs, True)
    if start is None and end is None:
        self._backward_all()
        names = self.inputs + wanted
    else:
        last = len(self._layer_names) - 1
        self._backward(_number(self, start, last), _number(self, end, 0))
        names = (self.inputs if end is None else self.bottom_names[end]) + wanted
    return {name: self.blobs[name].diff for name in names}


def forward_all(self: Net, blobs: Iterable[str] | None = None, **kwargs: Any) -> dict[str, np.ndarray]:
    """Runs as many batches as the arrays of the inputs have. Returns {blob: rows of all}, copies."""
    wanted = list(blobs or [])
    rows: dict[str, list[np.ndarray]] = {name: [] for name in dict.fromkeys(self.outputs + wanted)}
    for batch in self._batch(kwargs):
        for name, values in self.forward(blobs=wanted, **batch).items():
            rows[name].extend(values.copy())
    return _without_padding(rows, kwargs)


def forward_backward_all(self: Net, blobs: Iterable[str] | None = None, diffs: Iterable[str] | None = None,
                         **kwargs: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The same with backward after each batch: kwargs are arrays of inputs, and gradients of outputs.

    Returns ({blob: rows}, {blob: rows of its gradient}).
    """
    wanted, wanted_diffs = list(blobs or []), list(diffs or [])
    given = {name: values for name, values in kwargs.items() if name in self.inputs}
    tops = {name: values for name, values in kwargs.items() if name in self.outputs}
    rows: dict[str, list[np.ndarray]] = {name: [] for name in dict.fromkeys(self.outputs + wanted)}
    slopes: dict[str, list[np.ndarray]] = {name: [] for name in dict.fromkeys(self.inputs + wanted_diffs)}
    for batch, top in zip_longest(self._batch(given), self._batch(tops), fillvalue={}):
        for name, values in self.forward(blobs=wanted, **batch).items():
            rows[name].extend(values.copy())
        for name, values in self.backward(diffs=wanted_diffs, **top).items():
            slopes[name].extend(values.copy())
    return _without_padding(rows, kwargs), _without_padding(slopes, kwargs)


def _without_padding(rows: dict[str, list[np.ndarray]], given: dict[str, Any]) -> dict[str, np.ndarray]:
    count = len(next(iter(given.values()))) if given else None
    return {name: np.asarray(values[:count]) for name, values in rows.items()}


def _batches(self: Net, arrays: dict[str, Any]) -> Iterator[dict[str, np.ndarray]]:
    """Splits arrays into batches, of the size of the first one's blob, or the net's first blob where the name is none.

    The last one is filled with zeros.
    """
    if not arrays:
        return
    first = next(iter(arrays))
    size = (self.blobs[first] if first in self.blobs else self._blobs[0]).shape[0]
    count = len(next(iter(arrays.values())))
    if any(len(values) != count for values in arrays.values()):
        raise ValueError("the arrays have different numbers of rows")
    for begin in range(0, count, size):
        batch = {}
        for name, values in arrays.items():
            part = np.asarray(values[begin:begin + size])
            missing = size - len(part)
            batch[name] = np.concatenate([part, np.zeros((missing, *part.shape[1:]))]) if missing else part
        yield batch


def set_input_arrays(self: Net, data: np.ndarray, labels: np.ndarray) -> None:
    """The samples of a MemoryData layer: (N, channels, height, width) and N labels. They are copied.

    Raises ValueError for other shapes, and caffe.Error where the net has no such layer.
    """
    data, labels = np.ascontiguousarray(data, np.float32), np.ascontiguousarray(labels, np.float32)
    if labels.ndim == 1:
        labels = labels[:, np.newaxis, np.newaxis, np.newaxis]
    if data.ndim != 4 or labels.size != len(labels) or len(labels) != len(data):
        raise ValueError(f"data of shape {data.shape} and labels of shape {labels.shape}; give (N, channels, height, "
                         "width) and N labels")
    layer = next((name for name, one in zip(self._layer_names, self.layers) if one.type == "MemoryData"), None)
    if layer is not None:
        want = self.blobs[self.top_names[layer][0]].shape
        if data.shape[1:] != want[1:]:
            raise ValueError(f"data of shape {data.shape}; the layer {layer} has images of {want[1:]}")
        if len(data) % want[0]:
            raise ValueError(f"{len(data)} images are no whole number of batches of {want[0]}")
    self._set_input_arrays(data, labels)


def save_hdf5(self: Net, filename: Any, write_diff: bool = False) -> None:
    """Writes the parameters to an HDF5 file, whatever its name ends with. Raises caffe.Error, OSError."""
    path = os.fsdecode(filename)
    if path.endswith(".h5"):
        self.save(path, write_diff)
        return
    # The library goes by the name's end. Beside the file, so that the whole one takes its place at once.
    with tempfile.TemporaryDirectory(prefix="save_hdf5_", dir=os.path.dirname(path) or ".") as folder:
        aside = os.path.join(folder, "net.h5")
        self.save(aside, write_diff)
        os.replace(aside, path)


def after_backward(self: Net, callback: Any) -> None:
    """For caffe.NCCL alone, whose sums every step makes anyhow. Raises NotImplementedError for other callbacks."""
    if not isinstance(callback, NCCL):
        raise NotImplementedError("nets call nobody between their layers: caffe time tells what each layer takes, and "
                                  "net.forward(start=..., end=...) and net.backward run layers one by one")


def _summary(self: Net) -> str:
    from . import show
    return show.summary(self)


def _html(self: Net) -> str:
    from . import show
    return show.to_html(self)


# torch.from_dlpack(blob) and numpy.from_dlpack(blob) take the values without a copy where blob.data has none.
Blob.__dlpack__ = lambda self, **settings: self.data.__dlpack__(**settings)
Blob.__dlpack_device__ = lambda self: self.data.__dlpack_device__()
Net.blobs = _kept("_blobs_dict", lambda self: OrderedDict(self._blobs_by_name()))
Net.params = _kept("_params", lambda self: OrderedDict(self._params_by_layer()))
Net.bottom_names = _kept("_bottoms", lambda self: OrderedDict(self._names_by_layer(False)))
Net.top_names = _kept("_tops", lambda self: OrderedDict(self._names_by_layer(True)))
Net.layer_dict = _kept("_layer_dict", lambda self: OrderedDict(zip(self._layer_names, self.layers)))
Net.blob_loss_weights = _kept("_weights", lambda self: OrderedDict(self._loss_weights()))
Net._layer_numbers = _kept("_numbers", _reversed_names)
Net._blob_names = property(lambda self: list(self.blobs))
Net._blobs = property(lambda self: list(self.blobs.values()))
Net._blob_loss_weights = property(lambda self: list(self.blob_loss_weights.values()))
Net._bottom_ids, Net._top_ids = _by_number.bottom_ids, _by_number.top_ids
Net._inputs, Net._outputs = property(_by_number.inputs), property(_by_number.outputs)
Net.forward, Net.backward = forward, backward
Net.forward_all, Net.forward_backward_all = forward_all, forward_backward_all
Net.set_input_arrays, Net.save_hdf5 = set_input_arrays, save_hdf5
Net._batch, Net.after_backward = _batches, after_backward
Net.summary, Net._repr_html_ = _summary, _html
Net.__enter__ = lambda self: self
Net.__exit__ = lambda self, *_: self.close()
Net.__repr__ = lambda self: "<caffe.Net closed>" if self.closed else f"<caffe.Net {self.name!r}, {len(self.blobs)} blobs>"


__all__ = ["AdaDeltaSolver", "AdaGradSolver", "AdamSolver", "Communicator", "Layer", "NCCL", "Net", "NesterovSolver",
           "RMSPropSolver", "SGDSolver", "Solver", "Timer", "get_solver", "has_nccl", "io"]
