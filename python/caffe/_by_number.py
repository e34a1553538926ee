"""Blobs and layers of a net by their numbers, as BVLC's extension has them below pycaffe's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def _numbers(net: Any, names: Iterable[str]) -> list[int]:
    """The places of blobs among those of the net."""
    places = {name: number for number, name in enumerate(net.blobs)}
    return [places[name] for name in names]


def _layer(net: Any, number: int) -> str:
    names: list[str] = net._layer_names
    if not 0 <= number < len(names):
        raise IndexError(f"there is no layer {number}; the net has {len(names)}")
    return names[number]


def bottom_ids(net: Any, layer: int) -> list[int]:
    """The numbers of the blobs that a layer reads. Raises IndexError for a layer that there is not."""
    return _numbers(net, net.bottom_names[_layer(net, layer)])


def top_ids(net: Any, layer: int) -> list[int]:
    """The numbers of the blobs that a layer makes. Raises IndexError for a layer that there is not."""
    return _numbers(net, net.top_names[_layer(net, layer)])


def inputs(net: Any) -> list[int]:
    return _numbers(net, net.inputs)


def outputs(net: Any) -> list[int]:
    return _numbers(net, net.outputs)
