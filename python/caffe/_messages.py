"""Arrays in and out of Caffe's messages: Datum, a record of a database, and BlobProto, a stored array."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .proto import caffe_pb2

_LEGACY_AXES = ("num", "channels", "height", "width")


def _shape_of(blob: Any) -> tuple[int, ...]:
    """The shape a BlobProto states, in the form of today or as four axes."""
    if any(blob.HasField(axis) for axis in _LEGACY_AXES):
        return tuple(getattr(blob, axis) for axis in _LEGACY_AXES)
    return tuple(blob.shape.dim)


def _numbers_of(blob: Any, which: str) -> np.ndarray:
    """The elements of `data` or `diff`, flat, from whichever field holds them."""
    raw = getattr(blob, f"raw_{which}")
    if raw:
        kind = getattr(blob, f"raw_{which}_type")
        types = {caffe_pb2.DOUBLE: "<f8", caffe_pb2.FLOAT: "<f4", caffe_pb2.FLOAT16: "<f2"}
        if kind not in types:
            raise ValueError(f"the array holds elements of type {caffe_pb2.Type.Name(kind)}, which is not read; save "
                             "the model as FLOAT")
        return np.frombuffer(raw, dtype=types[kind]).astype(np.float64)
    double = getattr(blob, f"double_{which}")
    return np.array(double if double else getattr(blob, which), dtype=np.float64)


def blobproto_to_array(blob: Any, return_diff: bool = False) -> np.ndarray:
    """The data of a BlobProto, or with return_diff its gradient: float64, in the shape that the message states.

    Raises ValueError where the number of elements is not the product of the shape.
    """
    numbers, shape = _numbers_of(blob, "diff" if return_diff else "data"), _shape_of(blob)
    if numbers.size != int(np.prod(shape, dtype=np.int64)):
        raise ValueError(f"a BlobProto of shape {shape} holds {numbers.size} elements of "
                         f"{'diff' if return_diff else 'data'}; it is cut short, or has none of these")
    return numbers.reshape(shape)


def array_to_blobproto(arr: np.ndarray, diff: np.ndarray | None = None) -> Any:
    """A BlobProto of an array of any shape, stored as float32; `diff` is a gradient of the same shape."""
    arr, blob = np.asarray(arr), caffe_pb2.BlobProto()
    blob.shape.dim.extend(arr.shape)
    blob.data.extend(arr.astype(np.float32).ravel().tolist())
    if diff is not None:
        if np.shape(diff) != arr.shape:
            raise ValueError(f"diff has shape {np.shape(diff)} beside data of {arr.shape}; give both in one shape")
        blob.diff.extend(np.asarray(diff, dtype=np.float32).ravel().tolist())
    return blob


def arraylist_to_blobprotovector_str(arraylist: Iterable[np.ndarray]) -> bytes:
    """Several arrays as one serialised BlobProtoVector."""
    vector: bytes = caffe_pb2.BlobProtoVector(blobs=map(array_to_blobproto, arraylist)).SerializeToString()
    return vector


def blobprotovector_str_to_arraylist(string: bytes) -> list[np.ndarray]:
    """The arrays of a serialised BlobProtoVector."""
    return [blobproto_to_array(blob) for blob in caffe_pb2.BlobProtoVector.FromString(string).blobs]


def _whole(label: Any) -> int:
    """A label of any type of numbers as the integer that a Datum keeps."""
    if not float(label).is_integer():
        raise ValueError(f"label is {label}; a Datum holds a whole number: keep others in arrays of their own, as "
                         "HDF5Data reads them")
    return int(label)


def array_to_datum(arr: np.ndarray, label: int | None = None) -> Any:
    """A Datum of an array (channels, height, width): uint8 is stored as bytes, every other type as float32.

    Raises ValueError unless there are three axes, and for a label that is no whole number.
    """
    arr = np.asarray(arr)
    if arr.ndim != 3:
        raise ValueError(f"Incorrect array shape: {arr.shape} is not (channels, height, width); "
                         "arr[numpy.newaxis] adds an axis")
    datum = caffe_pb2.Datum()
    datum.channels, datum.height, datum.width = arr.shape
    if arr.dtype == np.uint8:
        datum.data = arr.tobytes()
    else:
        datum.float_data.extend(arr.astype(np.float32).ravel().tolist())
    if label is not None:
        datum.label = _whole(label)
    return datum


def datum_to_array(datum: Any) -> np.ndarray:
    """The array (channels, height, width) of a Datum: uint8 of bytes, float64 of floats; its label is `datum.label`.

    Raises ValueError for a JPEG or PNG, and where elements are missing.
    """
    shape = (datum.channels, datum.height, datum.width)
    if datum.encoded:
        raise ValueError("the Datum holds an encoded picture: read it by "
                         "caffe.io.load_image(io.BytesIO(datum.data)), which gives RGB in 0 ... 1")
    # A copy: the message's own bytes cannot be changed.
    numbers = (np.frombuffer(datum.data, dtype=np.uint8).copy() if datum.data else
               np.array(datum.float_data, dtype=np.float64))
    if numbers.size != int(np.prod(shape, dtype=np.int64)):
        raise ValueError(f"a Datum of shape {shape} holds {numbers.size} elements; it is cut short")
    return numbers.reshape(shape)
