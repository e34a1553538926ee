"""librobusta.so's C API (include/robusta.h) by ctypes: enough to fill a net, save its weights and run it."""

import array
import ctypes
import math
import pathlib


class Failure(Exception):
    """What the library says of a call that failed."""


class Options(ctypes.Structure):
    """robusta_net_options, all of it."""

    _fields_ = [("size", ctypes.c_size_t), ("train", ctypes.c_bool), ("backward", ctypes.c_bool),
                ("keep_blobs", ctypes.c_bool), ("level", ctypes.c_int), ("stages", ctypes.c_char_p),
                ("gpu", ctypes.c_int), ("precision", ctypes.c_char_p), ("kernels", ctypes.c_char_p), ("seed", ctypes.c_uint64),
                ("batch", ctypes.c_int64), ("fuse", ctypes.c_bool)]


class Net:
    """A net for inference. Arrays are flat array.array of floats."""

    def __init__(self, library: pathlib.Path, prototxt: pathlib.Path, seed=1, batch=0):
        self.api = ctypes.CDLL(str(library))
        self.api.robusta_last_error.restype = ctypes.c_char_p
        for names in ("input", "output", "layer"):
            getattr(self.api, f"robusta_net_{names}").restype = ctypes.c_char_p
        options, self.net = Options(), ctypes.c_void_p()
        self.call("options_init_sized", ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        options.seed, options.batch = seed, batch
        self.call("from_file", str(prototxt).encode(), ctypes.byref(options), ctypes.byref(self.net))

    def __del__(self):
        if getattr(self, "net", None):
            self.api.robusta_net_free(self.net)

    def call(self, name, *arguments):
        if getattr(self.api, f"robusta_net_{name}")(*arguments) != 0:
            raise Failure(" ".join(self.api.robusta_last_error().decode().split()))

    def names(self, what):
        found = []
        while (name := getattr(self.api, f"robusta_net_{what}")(self.net, len(found))) is not None:
            found.append(name.decode())
        return found

    def shape(self, blob):
        extents, axes = (ctypes.c_int64 * 32)(), ctypes.c_int()
        self.call("shape", self.net, blob.encode(), extents, 32, ctypes.byref(axes))
        return list(extents[:axes.value])

    def reshape(self, blob, shape):
        self.call("reshape", self.net, blob.encode(), (ctypes.c_int64 * len(shape))(*shape), len(shape))

    def write(self, blob, numbers):
        self.call("write", self.net, blob.encode(), floats(numbers), ctypes.c_size_t(len(numbers)))

    def read(self, blob):
        numbers = array.array("f", bytes(4 * math.prod(self.shape(blob))))
        self.call("read", self.net, blob.encode(), floats(numbers), ctypes.c_size_t(len(numbers)))
        return numbers

    def forward(self):
        self.call("forward", self.net, None)

    def parameter(self, layer, index):
        """The numbers of a parameter; None where there is none of this index."""
        count = ctypes.c_size_t()
        arguments = (self.net, layer.encode(), index)
        if self.api.robusta_net_parameter_count(*arguments, ctypes.byref(count)) != 0:
            return None
        numbers = array.array("f", bytes(4 * count.value))
        self.call("read_parameter", *arguments, floats(numbers), count)
        return numbers

    def write_parameter(self, layer, index, numbers):
        self.call("write_parameter", self.net, layer.encode(), index, floats(numbers), ctypes.c_size_t(len(numbers)))

    def save(self, path):
        self.call("save_weights", self.net, str(path).encode())

    def load(self, path):
        self.call("load_weights", self.net, str(path).encode())


def floats(numbers):
    return (ctypes.c_float * len(numbers)).from_buffer(numbers)
