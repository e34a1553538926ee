#!/usr/bin/env python3
"""Operators of ONNX that become several layers, imported by `caffe import`, against onnxruntime.

Wants a Python with numpy, onnx and onnxruntime: the one that runs this, or ROBUSTA_ONNX_PYTHON. Without: skipped, 77.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
MOST = 1e-5  # of an output's largest number

try:
    import numpy
    import onnx
    import onnxruntime  # noqa: F401
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    other = os.environ.get("ROBUSTA_ONNX_PYTHON", "")
    if other and not os.environ.get("ROBUSTA_ONNX_INNER"):
        os.execve(other, [other, *sys.argv], {**os.environ, "ROBUSTA_ONNX_INNER": "1"})
    print(f"SKIPPED: {missing}; ROBUSTA_ONNX_PYTHON names a Python with numpy, onnx and onnxruntime")
    sys.exit(77)


def model_of(op, inputs, arrays, outputs, opset=17, **attributes):
    """One node. `inputs`: {name: shape}; `arrays`: {name: shape}, at random; in the order of both; "-" is an
    input that is left out."""
    rng = numpy.random.default_rng(3)
    names = ["" if name == "-" else name for name in (*inputs, *arrays)]
    node = helper.make_node(op, names, list(outputs), **attributes)
    weights = [numpy_helper.from_array(rng.normal(size=shape).astype("f4"), name) for name, shape in arrays.items()
               if shape is not None]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items() if name]
    graph = helper.make_graph([node], "one", ends, results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def lstm(directions, outputs, states=False, **attributes):
    """6 steps, 3 streams, 5 inputs, 4 units."""
    arrays = {"w": (directions, 16, 5), "r": (directions, 16, 4), "b": (directions, 32)}
    if states:
        arrays.update({"-": None, "h": (directions, 3, 4), "c": (directions, 3, 4)})
    shapes = {"y": (6, directions, 3, 4), "yh": (directions, 3, 4), "yc": (directions, 3, 4)}
    return model_of("LSTM", {"x": (6, 3, 5)}, arrays, {name: shapes[name] for name in outputs}, hidden_size=4,
                    **attributes)


CASES = {
    "instance norm": model_of("InstanceNormalization", {"x": (2, 3, 5, 4)}, {"s": (3,), "b": (3,)},
                              {"y": (2, 3, 5, 4)}, epsilon=0.1),
    "instance norm of rows": model_of("InstanceNormalization", {"x": (2, 3, 7)}, {"s": (3,), "b": (3,)},
                                      {"y": (2, 3, 7)}),
    "layer norm": model_of("LayerNormalization", {"x": (2, 3, 7)}, {"s": (7,), "b": (7,)}, {"y": (2, 3, 7)}),
    "layer norm of two axes": model_of("LayerNormalization", {"x": (2, 3, 7)}, {"s": (3, 7)}, {"y": (2, 3, 7)},
                                       axis=-2, epsilon=0.01),
    "gelu by tanh": model_of("Gelu", {"x": (2, 300)}, {}, {"y": (2, 300)}, opset=20, approximate="tanh"),
    "lstm": lstm(1, ("y",)),
    "lstm with states": lstm(1, ("y", "yh", "yc"), states=True),
    "lstm of both directions": lstm(2, ("y", "yh", "yc"), direction="bidirectional"),
    "lstm from the end": lstm(1, ("y", "yh"), states=True, direction="reverse"),
}


class Operators(unittest.TestCase):
    def test_cases(self):
        for name, model in CASES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                onnx.checker.check_model(model, full_check=True)
                path = pathlib.Path(folder) / "model.onnx"
                onnx.save(model, path)
                done = subprocess.run([TOOLS / "caffe", "import", path, "-output", path.with_suffix(""), "-check",
                                       sys.executable], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                found = [float(number) for number in
                         re.findall(r"difference to the model in .*\(([^)]*)\)", done.stdout)]
                self.assertEqual(len(found), len(model.graph.output), done.stdout + done.stderr)
                print(name, max(found))
                self.assertLessEqual(max(found), MOST)


if __name__ == "__main__":
    unittest.main()
