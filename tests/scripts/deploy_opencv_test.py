#!/usr/bin/env python3
"""What `caffe deploy -target opencv` writes is read by OpenCV's cv2.dnn and computes the same there.

Needs the packages opencv-python-headless==4.14.0.94 and numpy, and librobusta.so of the build; skips itself (77) without.
"""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import cv2
    import numpy
except ImportError as error:
    print(f"skipped: {error} (pip install opencv-python-headless==4.14.0.94)")
    sys.exit(77)

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
LIBRARY = TOOLS.parent / "src" / "librobusta.so"
MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
if not LIBRARY.exists():
    print(f"skipped: {LIBRARY} is not built")
    sys.exit(77)

DATA = """layer { name: "source" type: "Data" top: "data" top: "label" data_param { source: "absent" batch_size: 2 }
        transform_param { crop_size: 24 mean_value: 104 mean_value: 117 mean_value: 123 scale: 0.017 } }
"""
LOSS = """layer { name: "ip" type: "InnerProduct" bottom: "last" top: "ip"
        inner_product_param { num_output: 6 transpose: true weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
FILLER = 'weight_filler { type: "msra" }'
RESIDUAL = f"""layer {{ name: "c0" type: "Convolution" bottom: "data" top: "c0"
        convolution_param {{ num_output: 8 kernel_size: 3 bias_term: false {FILLER} }} }}
layer {{ name: "bn" type: "BatchNorm" bottom: "c0" top: "c0" }}
layer {{ name: "sc" type: "Scale" bottom: "c0" top: "c0"
        scale_param {{ bias_term: true filler {{ type: "uniform" min: 0.5 max: 2 }} }} }}
layer {{ name: "pr" type: "PReLU" bottom: "c0" top: "c0" }}
layer {{ name: "pool" type: "Pooling" bottom: "c0" top: "pool"
        pooling_param {{ kernel_size: 3 stride: 2 round_mode: FLOOR }} }}
layer {{ name: "up" type: "Deconvolution" bottom: "pool" top: "up"
        convolution_param {{ num_output: 8 kernel_size: 2 stride: 2 group: 8 {FILLER} }} }}
layer {{ name: "lrn" type: "LRN" bottom: "up" top: "lrn" lrn_param {{ local_size: 3 alpha: 0.3 k: 2 }} }}
layer {{ name: "half" type: "Convolution" bottom: "lrn" top: "half"
        convolution_param {{ num_output: 8 kernel_size: 3 pad: 1 dilation: 1 {FILLER} }} }}
layer {{ name: "sum" type: "Eltwise" bottom: "lrn" bottom: "half" top: "last" eltwise_param {{ coeff: 1 coeff: -0.5 }} }}
"""


def robusta():
    """The library, its handles as pointers."""
    library = ctypes.CDLL(str(LIBRARY))
    library.robusta_last_error.restype = ctypes.c_char_p
    return library


class Net:
    """A net of librobusta.so in phase TEST."""

    def __init__(self, path):
        self.library, self.handle = robusta(), ctypes.c_void_p()
        self.call("from_file", str(path).encode(), None, ctypes.byref(self.handle), handle=False)

    def call(self, name, *arguments, handle=True):
        function = getattr(self.library, "robusta_net_" + name)
        if function(*([self.handle] if handle else []), *arguments) != 0:
            raise RuntimeError(self.library.robusta_last_error().decode())

    def close(self):
        self.library.robusta_net_free(self.handle)

    def run(self, blob, values, output, count):
        flat = numpy.ascontiguousarray(values, dtype=numpy.float32).ravel()
        numbers = ctypes.POINTER(ctypes.c_float)
        self.call("write", blob.encode(), flat.ctypes.data_as(numbers), ctypes.c_size_t(flat.size))
        self.call("forward", None)
        result = numpy.zeros(count, dtype=numpy.float32)
        self.call("read", output.encode(), result.ctypes.data_as(numbers), ctypes.c_size_t(count))
        return result


class DeployedToOpenCv(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def deploy(self, name, *flags):
        command = [TOOLS / "caffe", "deploy", "-model", f"{name}.prototxt", "-weights", f"{name}.caffemodel"]
        command += ["-output", "out", "-target", "opencv", *flags]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def make_weights(self, name, text, inputs):
        """Weights by the fillers, of the layers of `text` behind Input layers in place of the data."""
        (self.folder / f"{name}.prototxt").write_text(text)
        body = text[text.index("layer", text.rindex("transform_param")) :]
        (self.folder / "filled.prototxt").write_text(inputs + body)
        net = Net(self.folder / "filled.prototxt")
        for index, numbers in enumerate(([0.5] * 4 + [-0.25] * 4, [3.0] * 8, [2.0])):  # mean, variance, factor
            if 'name: "bn"' in text:
                array = (ctypes.c_float * len(numbers))(*numbers)
                net.call("write_parameter", b"bn", index, array, ctypes.c_size_t(len(numbers)))
        net.call("save_weights", str(self.folder / f"{name}.caffemodel").encode())
        net.close()

    def compare(self, shape, classes):
        random = numpy.random.default_rng(1)
        values = random.uniform(-1, 1, shape).astype(numpy.float32)
        theirs = cv2.dnn.readNetFromCaffe(str(self.folder / "out.prototxt"), str(self.folder / "out.caffemodel"))
        theirs.setInput(values, "data")
        found = theirs.forward("prob").ravel()
        ours = Net(self.folder / "out.prototxt")
        self.addCleanup(ours.close)
        ours.call("load_weights", str(self.folder / "out.caffemodel").encode())
        expected = ours.run("data", values, "prob", shape[0] * classes)
        self.assertTrue(numpy.isfinite(found).all())
        self.assertGreater(expected.std(), 1e-4, "a net that sees nothing proves nothing")
        self.assertLess(numpy.abs(found - expected).max(), 1e-5)

    def inputs(self, shape):
        dims = "".join(f"dim: {extent} " for extent in shape)
        label = f'layer {{ name: "label" type: "Input" top: "label" input_param {{ shape {{ dim: {shape[0]} }} }} }}\n'
        return f'layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ {dims} }} }} }}\n' + label

    def test_lenet(self):
        text = (MODELS / "lenet" / "train_val.prototxt").read_text()
        body = text[text.index("layer {\n  name: \"conv1\"") :]
        data = 'layer { name: "d" type: "Data" top: "data" top: "label" transform_param { scale: 0.00390625 crop_size: 28 force_gray: true }\n'
        data += 'data_param { source: "absent" batch_size: 64 } }\n'
        self.make_weights("lenet", data + body, self.inputs((1, 1, 28, 28)))
        self.deploy("lenet")
        self.compare((1, 1, 28, 28), 10)

    def test_residual(self):
        for flags in ([], ["-fold"], ["-fold", "-transform", "fold"]):
            with self.subTest(flags=flags):
                self.make_weights("net", DATA + RESIDUAL + LOSS, self.inputs((2, 3, 24, 24)))
                self.deploy("net", "-batch", "2", *flags)
                self.compare((2, 3, 24, 24), 6)


if __name__ == "__main__":
    unittest.main()
