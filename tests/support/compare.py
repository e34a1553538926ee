#!/usr/bin/env python3
"""Compares what two trainings left behind.

  compare.py weights A.caffemodel B.caffemodel TOLERANCE   every parameter
  compare.py losses  A.log B.log TOLERANCE                 every "Iteration N ..., loss = X"

Prints the largest difference and exits with 1 when it is above TOLERANCE: of weights, relative to the largest weight of
the parameter; of losses, relative to the loss. Both files must have the same layers, shapes and iterations.
"""

import array
import re
import sys

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
NET_LAYER, LAYER_NAME, LAYER_BLOB, BLOB_DATA = 100, 1, 7, 5


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, content) of a message's fields of bytes; others are left out."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == VARINT:
            _, at = varint(data, at)
        elif kind == BYTES:
            length, at = varint(data, at)
            yield key >> 3, data[at:at + length]
            at += length
        elif kind in (FIXED32, FIXED64):
            at += 4 if kind == FIXED32 else 8
        else:
            raise ValueError(f"wire type {kind}: not a message")


def parameters(path):
    """(layer, place) -> values, of a NetParameter with packed float data."""
    found = {}
    with open(path, "rb") as file:
        net = memoryview(file.read())
    for number, layer in fields(net):
        if number != NET_LAYER:
            continue
        parts = list(fields(layer))
        name = next(bytes(content).decode() for number, content in parts if number == LAYER_NAME)
        for place, blob in enumerate(content for number, content in parts if number == LAYER_BLOB):
            packed = b"".join(bytes(content) for number, content in fields(blob) if number == BLOB_DATA)
            values = array.array("f", packed)
            if sys.byteorder == "big":
                values.byteswap()
            found[name, place] = values
    if not found:
        sys.exit(f"{path} has no parameters")
    return found


def losses(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        found = dict(re.findall(r"Iteration (\d+)[^\n]*, loss = (\S+)", file.read()))
    if not found:
        sys.exit(f"{path} shows no losses")
    return {int(iteration): array.array("d", [float(loss)]) for iteration, loss in found.items()}


def difference(a, b):
    """The largest over all keys, and its key."""
    if a.keys() != b.keys():
        sys.exit(f"only in one of them: {sorted(a.keys() ^ b.keys())}")
    worst, where = 0.0, None
    for key in a:
        if len(a[key]) != len(b[key]):
            sys.exit(f"{key}: {len(a[key])} and {len(b[key])} values")
        scale = max(map(abs, a[key])) or 1.0
        far = max(abs(x - y) for x, y in zip(a[key], b[key])) / scale
        # Not a number is not below it either.
        if not far <= worst:
            worst, where = far, key
    return worst, where


def main(what, a, b, tolerance):
    read = {"weights": parameters, "losses": losses}[what]
    worst, where = difference(read(a), read(b))
    print(f"{what} differ by {worst:.2g} at most" + (f" ({where})" if where is not None else ""))
    return 0 if worst <= float(tolerance) else 1


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in ("weights", "losses"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
