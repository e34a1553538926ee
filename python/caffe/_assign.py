"""Python's values into fields of Caffe's messages."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .proto import caffe_pb2

# Types that have no message of their name, and whose settings Caffe keeps in another's.
_BORROWED = {"Deconvolution": "convolution", "DepthwiseConvolution": "convolution", "LSTM": "recurrent",
             "RNN": "recurrent", "SoftmaxWithLoss": "softmax"}


def _layer_messages() -> dict[str, str]:
    """Fields of LayerParameter with a layer's settings, `convolution_param`, and their messages' names."""
    return {field.name: field.message_type.name for field in caffe_pb2.LayerParameter.DESCRIPTOR.fields
            if field.name.endswith("_param") and field.message_type is not None}


def param_name_dict() -> dict[str, str]:
    """Layer types and the fields of their settings: {"InnerProduct": "inner_product", ...}, without `_param`."""
    names: dict[str, str] = {}
    for field, message in _layer_messages().items():
        if message.endswith("Parameter"):
            names.setdefault(message[:-len("Parameter")], field[:-len("_param")])
    return names


@functools.lru_cache(maxsize=None)
def _field_of_type(type_name: str) -> str:
    """The field with the settings of a layer type, "" where it has none."""
    field = param_name_dict().get(type_name) or _BORROWED.get(type_name)
    if field:
        return f"{field}_param"
    plain = {name[:-len("_param")].replace("_", ""): name for name in _layer_messages()}
    return plain.get(type_name.lower(), "")


def field_of_layer(layer: Any, type_name: str, name: str) -> tuple[Any, str]:
    """The message of a layer that has a field `name`, and the field.

    That of the type's own settings comes first, then the layer's; names ending in "param" are the layer's in any case.
    Raises AttributeError where neither has it.
    """
    own = _field_of_type(type_name)
    kind = layer.DESCRIPTOR.fields_by_name[own].message_type if own else None
    if kind is not None and not name.endswith("param") and name in kind.fields_by_name:
        return getattr(layer, own), name
    if name in layer.DESCRIPTOR.fields_by_name:
        return layer, name
    known = [*(kind.fields_by_name if kind is not None else ()), *layer.DESCRIPTOR.fields_by_name]
    raise AttributeError(f"type {type_name} has no setting {name}{_nearest(name, known)}")


def _nearest(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; is {near[0]} meant?" if near else "; a setting of another message goes into a dict(...) of that name"


def assign_proto(proto: Any, name: str, val: Any) -> None:
    """Sets the field `name` of a message.

    Lists, tuples and arrays fill a repeated field, and what is no list is its one element; dictionaries are messages;
    an enum takes its number or its word. Raises AttributeError for an unknown field, TypeError or ValueError for a
    value that the field does not take.
    """
    field = proto.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        raise AttributeError(f"{proto.DESCRIPTOR.name} has no field {name}"
                             f"{_nearest(name, proto.DESCRIPTOR.fields_by_name)}")
    held = getattr(proto, name)
    if not hasattr(held, "extend"):
        if field.message_type is not None:
            _merge(held, val)
        else:
            _put(field, val, functools.partial(setattr, proto, name))
        return
    for value in list(val) if isinstance(val, (list, tuple, np.ndarray)) else [val]:
        if field.message_type is not None:
            _merge(held.add(), value)
        else:
            _put(field, value, held.append)


def _merge(message: Any, val: Any) -> None:
    if isinstance(val, Mapping):
        for name, value in val.items():
            assign_proto(message, name, value)
    elif isinstance(val, type(message)):
        message.MergeFrom(val)
    else:
        raise TypeError(f"{val!r} is no {message.DESCRIPTOR.name}; give dict(...)")


def _put(field: Any, val: Any, put: Callable[[Any], None]) -> None:
    try:
        put(_scalar(field, val))
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{field.containing_type.name} does not take {field.name}={val!r}: {error}") from error


def _scalar(field: Any, val: Any) -> Any:
    """What protobuf takes for a value: numpy's numbers as Python's, words of an enum as their numbers."""
    if isinstance(val, (np.generic, np.ndarray)) and np.ndim(val) == 0:
        val = val.item()
    if field.enum_type is not None and isinstance(val, str):
        if val not in field.enum_type.values_by_name:
            raise ValueError(f"{val} is none of {', '.join(field.enum_type.values_by_name)}")
        return field.enum_type.values_by_name[val].number
    return val
