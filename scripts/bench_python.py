#!/usr/bin/env python3
"""What `net.forward()` of the module caffe costs beside the same pass without Python: LeNet at batch 1, where calls weigh
most, and ResNet-50 at batch 16.

  PYTHONPATH=build/python scripts/bench_python.py [--rounds 5]

The pass without Python is robusta_net_forward of the library's C interface, of the same net in the same process; rounds of
both take turns, and the medians of the rounds are compared. Prints a table with ratios.
"""

import argparse
import ctypes
import pathlib
import statistics
import time

import caffe

ROOT = pathlib.Path(__file__).resolve().parent.parent
NETS = {"LeNet": ("models/lenet/deploy.prototxt", 1, 2000), "ResNet-50": ("models/resnet50/deploy.prototxt", 16, 3)}


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


def net_in_c(lib, path, shape):
    net = ctypes.c_void_p()
    failed = lib.robusta_net_from_file(str(path).encode(), None, ctypes.byref(net))
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
    print("| net | batch | without Python | net.forward() | more | ratio |\n|---|---|---|---|---|---|")
    for name, (path, batch, times) in NETS.items():
        net = caffe.Net(ROOT / path, caffe.TEST)
        source = net.blobs[net.inputs[0]]
        source.reshape(batch, *source.shape[1:])
        net.reshape()
        plain = net_in_c(lib, ROOT / path, source.shape)
        in_python, in_c = [], []
        for _ in range(rounds + 1):
            in_c.append(seconds(lambda: lib.robusta_net_forward(plain, ctypes.byref(loss)), times))
            in_python.append(seconds(net.forward, times))
        a, b = statistics.median(in_c[1:]), statistics.median(in_python[1:])
        print(f"| {name} | {batch} | {a * 1e6:.0f} us | {b * 1e6:.0f} us | {(b - a) * 1e6:.0f} us | {b / a:.3f} |", flush=True)


if __name__ == "__main__":
    main()
