"""Messages of protobuf as lists of (number, value), taken apart and put together again without any schema.

A value is a number (varint) or bytes; four and eight bytes of fixed width, which Caffe's model files do not have outside
of packed arrays and fields of layers' settings, are kept as they are.
"""

import array


def varint_at(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def fields(data):
    """The fields of a message in their order. Raises ValueError at what is no field."""
    found, at = [], 0
    while at < len(data):
        key, at = varint_at(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint_at(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = (kind, data[at:at + size]), at + size
        elif kind == 2:
            size, at = varint_at(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {kind}")
        found.append((number, value))
    return found


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def message(of_fields):
    """The bytes of a message."""
    parts = []
    for number, value in of_fields:
        if isinstance(value, int):
            parts += [varint(number << 3), varint(value)]
        elif isinstance(value, tuple):
            parts += [varint(number << 3 | value[0]), value[1]]
        else:
            parts += [varint(number << 3 | 2), varint(len(value)), value]
    return b"".join(parts)


def floats(packed):
    return array.array("f", packed)


def extents(shape):
    """The dims of a BlobShape, which are packed."""
    data, found, at = dict(fields(shape)).get(1, b""), [], 0
    while at < len(data):
        number, at = varint_at(data, at)
        found.append(number)
    return found
