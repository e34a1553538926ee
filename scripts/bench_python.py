#!/usr/bin/env python3
"""What `net.forward()` of the module caffe costs beside the same pass without Python: LeNet at batch 1, where calls weigh
most, and ResNet-50 at batch 16.

  PYTHONPATH=build/python scripts/bench_python.py [--rounds 5]

The pass without Python is robusta_net_forward of the library's C interface, of the same net in the same process: built as
such programs build it, and with all blobs and gradients kept, as the module's nets are, so that scripts may look at every
blob. In each round another one begins; medians are shown, and the median of the rounds' ratios.
"""

import argparse
import ctypes
import pathlib
import statistics
import time

import caffe

ROOT = pathlib.Path(__file__).resolve().parent.parent
NETS = {"LeNet": ("models/lenet/deploy.prototxt", 1, 2000), "ResNet-50": ("models/resnet50/deploy.prototxt", 16, 3)}


class NetOptions(ctypes.Structure):
    """robusta_net_options."""
    _fields_ = [("size", ctypes.c_size_t), ("train", ctypes.c_bool), ("backward", ctypes.c_bool),
                ("keep_blobs", ctypes.c_bool), ("level", ctypes.c_int), ("stages", ctypes.c_char_p), ("gpu", ctypes.c_int),
                ("precision", ctypes.c_char_p), ("kernels", ctypes.c_char_p), ("seed", ctypes.c_uint64),
                ("batch", ctypes.c_int64), ("fuse", ctypes.c_bool)]


def library():
    """librobusta.so, which the module has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        path = next(line.split()[-1] for line in maps if "librobusta.so" in line)
    lib = ctypes.CDLL(path)
    lib.robusta_net_from_file.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
    lib.robusta_net_forward.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_double)]
    lib.robusta_net_reshape.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_int]
    lib.robusta_net_input.restype = ctypes.c_char_p
    lib.robusta_net_input.argtypes = [ctypes.c_void_p, ctypes.c_int]
    lib.robusta_last_error.restype = ctypes.c_char_p
    return lib


def net_in_c(lib, path, shape, kept):
    net, options = ctypes.c_void_p(), NetOptions()
    failed = lib.robusta_net_options_init_sized(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
    options.backward = options.keep_blobs = kept
    failed = failed or lib.robusta_net_from_file(str(path).encode(), ctypes.byref(options), ctypes.byref(net))
    extents = (ctypes.c_int64 * len(shape))(*shape)
    failed = failed or lib.robusta_net_reshape(net, lib.robusta_net_input(net, 0), extents, len(shape))
    if failed:
        raise SystemExit(lib.robusta_last_error().decode())
    return net


def seconds(run, times):
    begin = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - begin) / times


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rounds", type=int, default=5)
    rounds = words.parse_args().rounds
    lib, loss = library(), ctypes.c_double()
    caffe.init_log(2)
    print("| net | batch | without Python | the same with blobs kept | net.forward() | more than the second |")
    print("|---|---|---|---|---|---|")
    for name, (path, batch, times) in NETS.items():
        net = caffe.Net(ROOT / path, caffe.TEST)
        source = net.blobs[net.inputs[0]]
        source.reshape(batch, *source.shape[1:])
        net.reshape()
        plain, kept = (net_in_c(lib, ROOT / path, source.shape, keeps) for keeps in (False, True))
        ways = [lambda: lib.robusta_net_forward(plain, ctypes.byref(loss)),
                lambda: lib.robusta_net_forward(kept, ctypes.byref(loss)), net.forward]
        found = [[seconds(way, times) for way in ways]]
        for first in range(rounds):
            order = [(first + i) % len(ways) for i in range(len(ways))]
            taken = {way: seconds(ways[way], times) for way in order}
            found.append([taken[way] for way in range(len(ways))])
        a, b, c = (statistics.median(times) * 1e6 for times in zip(*found[1:]))
        ratio = statistics.median(of[2] / of[1] for of in found[1:])
        print(f"| {name} | {batch} | {a:.0f} us | {b:.0f} us | {c:.0f} us | {b * (ratio - 1):.0f} us, "
              f"{100 * (ratio - 1):.1f} % |", flush=True)


if __name__ == "__main__":
    main()
