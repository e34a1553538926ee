"""Writes the files that the nets of the zoo read, without any library: LMDB of Datum, HDF5, PNG.

Only as much of each format as its readers look at; the files of a training are far larger, and written by the tools.
"""

import array
import struct
import zlib

PAGE = 4096
NO_PAGE = 2**64 - 1


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def datum(shape, pixels, label):
    """A serialized Datum: three extents, bytes, a class label."""
    fields = b"".join(bytes([8 * field]) + varint(extent) for field, extent in zip((1, 2, 3), shape))
    return fields + bytes([4 * 8 + 2]) + varint(len(pixels)) + pixels + bytes([5 * 8]) + varint(label)


def field(number, message):
    """A field of bytes."""
    return bytes([8 * number + 2]) + varint(len(message)) + message


def floats(number, *values):
    """A field of one float, or a repeated one."""
    return b"".join(bytes([8 * number + 5]) + struct.pack("<f", value) for value in values)


def annotated_datum(shape, pixels, boxes):
    """A serialized AnnotatedDatum: an image, and of each box its class, from 1 on, and its corners."""
    groups = b""
    for instance, (label, *corners) in enumerate(boxes):
        box = b"".join(floats(1 + i, corner) for i, corner in enumerate(corners)) + bytes([6 * 8, 0])
        annotation = bytes([8]) + varint(instance) + field(2, box)
        groups += field(3, bytes([8]) + varint(label) + field(2, annotation))
    return field(1, datum(shape, pixels, 0)) + bytes([2 * 8, 0]) + groups


def box_datum(shape, pixels, boxes):
    """A serialized Datum as BoxData reads it: of each box its class, from 0 on, difficult or not, centre and size."""
    numbers = []
    for label, left, top, right, bottom in boxes:
        numbers += [label - 1, 0, (left + right) / 2, (top + bottom) / 2, right - left, bottom - top]
    return datum(shape, pixels, 0) + floats(6, *numbers)


def list_datum(objects, rows):
    """A serialized Datum as DIGITS writes it for DetectNet: a row that says how many objects and how long their rows
    are; of each the upper left corner, width and height in pixels, an angle, the class, and what nobody reads."""
    numbers = [len(objects), 16] + [0] * 14
    for label, left, top, width, height in objects:
        numbers += [left, top, width, height, 0, label] + [0] * 10
    numbers += [0] * (16 * rows - len(numbers))
    extents = b"".join(bytes([8 * place]) + varint(extent) for place, extent in zip((1, 2, 3), (1, rows, 16)))
    return extents + floats(6, *numbers)


def write_lmdb(folder, values):
    """An LMDB of one leaf page, each value on pages of its own; keys count up. At most 100 values."""
    assert 0 < len(values) <= 100
    leaf, body, next_page = 2, b"", 3
    pointers, nodes, top = [], b"", PAGE
    for i, value in enumerate(values):
        pages = (16 + len(value) + PAGE - 1) // PAGE
        body += (struct.pack("<QHHI", next_page, 0, 4, pages) + value).ljust(pages * PAGE, b"\0")
        key = b"%08d" % i
        node = struct.pack("<HHHH", len(value) & 0xFFFF, len(value) >> 16, 1, len(key)) + key
        node += struct.pack("<Q", next_page)
        next_page += pages
        top -= len(node)
        nodes = node + nodes
        pointers.append(top)
    head = struct.pack("<QHHHH", leaf, 0, 2, 16 + 2 * len(pointers), top) + struct.pack(f"<{len(pointers)}H", *pointers)
    page = head.ljust(top, b"\0") + nodes
    free = struct.pack("<IHHQQQQQ", PAGE, 0, 0, 0, 0, 0, 0, NO_PAGE)
    main = struct.pack("<IHHQQQQQ", 0, 0, 1, 0, 1, next_page - 3, len(values), leaf)
    metas = b""
    for number in (0, 1):
        meta = struct.pack("<IIQQ", 0xBEEFC0DE, 1, 0, next_page * PAGE) + free + main
        meta += struct.pack("<QQ", next_page - 1, number + 1)
        metas += (struct.pack("<QHHI", number, 0, 8, 0) + meta).ljust(PAGE, b"\0")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.mdb").write_bytes(metas + page + body)


def hdf5_message(kind, data):
    data = data.ljust((len(data) + 7) // 8 * 8, b"\0")
    return struct.pack("<HHB3x", kind, len(data), 0) + data


def hdf5_header(messages):
    """An object header of version 1."""
    body = b"".join(messages)
    return struct.pack("<BxHII4x", 1, len(messages), 1, len(body)) + body


def write_hdf5(path, arrays):
    """Arrays of floats, name -> (shape, numbers), as contiguous datasets of the root group; at most 8 of them."""
    assert 0 < len(arrays) <= 8
    names, offsets = sorted(arrays), {}
    heap = b"\0" * 8
    for name in names:
        offsets[name] = len(heap)
        heap += name.encode() + b"\0" * (8 - len(name.encode()) % 8)
    root, tree, heap_at = 96, 96 + 16 + 24, 96 + 16 + 24 + 544
    symbols = heap_at + 32 + len(heap)
    at = symbols + 8 + 8 * 40
    headers, blocks = b"", b""
    header_size = 16 + len(b"".join(_dataset_messages((1,) * 8, 0, 0)))
    data_at = at + header_size * len(names)
    entries = b""
    for name in names:
        shape, numbers = arrays[name]
        data = array.array("f", numbers).tobytes()
        messages = _dataset_messages(shape, data_at + len(blocks), len(data))
        header = hdf5_header(messages)
        entries += struct.pack("<QQII16x", offsets[name], at + len(headers), 0, 0)
        headers += header.ljust(header_size, b"\0")
        blocks += data
    end = data_at + len(blocks)
    superblock = b"\x89HDF\r\n\x1a\n" + struct.pack("<8BHHI", 0, 0, 0, 0, 0, 8, 8, 0, 4, 16, 0)
    superblock += struct.pack("<QQQQ", 0, NO_PAGE, end, NO_PAGE)
    superblock += struct.pack("<QQIIQQ", 0, root, 1, 0, tree, heap_at)
    group = hdf5_header([hdf5_message(0x11, struct.pack("<QQ", tree, heap_at))])
    branch = b"TREE" + struct.pack("<BBHQQQQQ", 0, 0, 1, NO_PAGE, NO_PAGE, 0, symbols, offsets[names[-1]])
    local = b"HEAP" + struct.pack("<B3xQQQ", 0, len(heap), 1, heap_at + 32) + heap
    table = b"SNOD" + struct.pack("<BxH", 1, len(names)) + entries.ljust(8 * 40, b"\0")
    path.write_bytes(superblock.ljust(root, b"\0") + group.ljust(tree - root, b"\0") + branch.ljust(544,
                                                                                                    b"\0") + local +
                     table + headers + blocks)


def _dataset_messages(shape, address, size):
    space = struct.pack("<BBB5x", 1, len(shape), 0) + struct.pack(f"<{len(shape)}Q", *shape)
    floats = struct.pack("<BBBBIHHBBBBI", 0x11, 0x20, 31, 0, 4, 0, 32, 23, 8, 0, 23, 127)
    layout = struct.pack("<BBQQ", 3, 1, address, size)
    return [hdf5_message(1, space), hdf5_message(3, floats), hdf5_message(8, layout)]


def write_png(path, height, width, pixels):
    """An image in colours, three bytes for each pixel, or a grey one."""
    channels = len(pixels) // (height * width)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    line, kind = channels * width, 2 if channels == 3 else 0
    rows = b"".join(b"\0" + pixels[line * y:line * (y + 1)] for y in range(height))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))
