#!/usr/bin/env python3
"""The time of a forward pass of an ONNX model in another program. Called by bench_inference.py.

  scripts/bench_onnx.py onnxruntime|openvino MODEL BATCH STEPS THREADS f32|bf16

Prints the milliseconds of a pass: the median of STEPS after two that are not counted. The model has one input, whose
first axis is that of the batch.
"""

import statistics
import sys
import time


def onnxruntime_pass(model, batch, threads, precision):
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    assert precision == "f32"
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0]
    data = numpy.random.default_rng(1).random([batch, *entry.shape[1:]], dtype=numpy.float32)
    return lambda: session.run(None, {entry.name: data})


def openvino_pass(model, batch, threads, precision):
    import numpy
    import openvino
    core = openvino.Core()
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                              "INFERENCE_PRECISION_HINT": precision})
    network = core.read_model(model)
    shape = [batch, *(axis.get_length() for axis in list(network.input(0).partial_shape)[1:])]
    network.reshape(shape)
    request = core.compile_model(network, "CPU").create_infer_request()
    data = numpy.random.default_rng(1).random(shape, dtype=numpy.float32)
    return lambda: request.infer({0: data})


def main():
    program, model, batch, steps, threads, precision = sys.argv[1:]
    one = {"onnxruntime": onnxruntime_pass, "openvino": openvino_pass}[program](model, int(batch), int(threads), precision)
    seconds = []
    for _ in range(int(steps) + 2):
        start = time.perf_counter()
        one()
        seconds.append(time.perf_counter() - start)
    print(1e3 * statistics.median(seconds[2:]))


if __name__ == "__main__":
    main()
