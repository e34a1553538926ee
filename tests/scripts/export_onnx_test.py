#!/usr/bin/env python3
"""caffe export -onnx against onnxruntime: what a model computes is what the net computes.

Recordings of single layers (ROBUSTA_GOLDEN_DIR) are compared with the real Caffe's tops, the nets of models/ and some
of this file with the program's own outputs. Each is equal, or refused for a reason that stands in REFUSED below.

Wants a Python with numpy, onnx and onnxruntime: the one that runs this, or ROBUSTA_ONNX_PYTHON. Without: skipped, 77.
"""

import collections
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("ROBUSTA_SHARED_DIR", SOURCE.parent / "shared"))
GOLDEN = pathlib.Path(os.environ.get("ROBUSTA_GOLDEN_DIR", SHARED / "golden"))

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as missing:
    other = os.environ.get("ROBUSTA_ONNX_PYTHON", "")
    if other and not os.environ.get("ROBUSTA_ONNX_INNER"):
        os.execve(other, [other, *sys.argv], {**os.environ, "ROBUSTA_ONNX_INNER": "1"})
    print(f"SKIPPED: {missing}; ROBUSTA_ONNX_PYTHON names a Python with numpy, onnx and onnxruntime")
    sys.exit(77)

# What export refuses of the recordings, and says so.
REFUSED = {
    "type Filter has no equal in ONNX",
    "how large its tops are follows from values",
    "a window of its averages lies outside of the image",
    "the net makes nothing but what it compares with labels",
}
# Their recordings are losses, files or sources: there is no top to compare.
NO_TOPS = {"Accuracy", "Data", "ImageData", "HDF5Data", "HDF5Output", "MemoryData", "DummyData", "Silence", "solver",
           "net", "io", "SoftmaxWithLoss", "SigmoidCrossEntropyLoss", "InfogainLoss", "HingeLoss", "EuclideanLoss",
           "ContrastiveLoss", "MultinomialLogisticLoss"}
DIFFERS_IN_TRAIN = {"BatchNorm", "Dropout"}


def export(*words, check="off"):
    words = [str(TOOLS / "caffe"), "export", *map(str, words), "-check", check]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "GLOG_minloglevel": "1"}
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=600, check=False)


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def read_golden(path):
    """{name: array} of a CAFGOLD1 container."""
    data = path.read_bytes()
    assert data[:8] == b"CAFGOLD1", path
    (count,), at, arrays = struct.unpack_from("<I", data, 8), 12, {}
    for _ in range(count):
        (length,) = struct.unpack_from("<I", data, at)
        name = data[at + 4:at + 4 + length].decode()
        at += 4 + length
        (axes,) = struct.unpack_from("<I", data, at)
        dims = struct.unpack_from(f"<{axes}I", data, at + 4)
        at += 4 + 4 * axes
        size = int(numpy.prod(dims, dtype=numpy.int64))
        arrays[name] = numpy.frombuffer(data, "<f4", size, at).reshape(dims)
        at += 4 * size
    return arrays


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def caffemodel(layers):
    """A NetParameter of [(layer name, [array])]."""
    net = b""
    for name, arrays in layers:
        layer = field(1, name.encode())
        for array in arrays:
            shape = field(1, b"".join(varint(dim) for dim in array.shape))
            layer += field(7, field(7, shape) + field(5, array.astype("<f4").tobytes()))
        net += field(100, layer)
    return net


def share_of_largest(got, want):
    """The largest difference as a share of the largest value."""
    got, want = got.astype(numpy.float64), want.astype(numpy.float64)
    same = (got == want) | (numpy.isnan(got) & numpy.isnan(want))
    difference = numpy.where(same, 0, numpy.abs(got - want)).max(initial=0)
    return difference / max(numpy.abs(want[numpy.isfinite(want)]).max(initial=0), 1e-3)


def random_weights(path, rng):
    """Weights of a sensible size for every layer of a model: [(layer, arrays)]."""
    model, layers = onnx.load(path), collections.OrderedDict()
    shapes = {value.name: tuple(value.dims) for value in model.graph.initializer}
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            match = re.fullmatch(r"(.*)\.(\d+)", name)
            if name not in shapes or not match:
                continue
            if node.op_type == "Mul":  # of a Scale, around 1; ones are written behind its axes
                array = rng.uniform(0.5, 1.5, shapes[name]).reshape(-1)
            elif node.op_type == "Add":
                array = rng.normal(size=shapes[name], scale=0.1).reshape(-1)
            else:
                fan_in = numpy.prod(shapes[name][1:]) if place == 1 else 100
                array = rng.normal(size=shapes[name], scale=(2 / fan_in) ** 0.5)
            layers.setdefault(match[1], {})[int(match[2])] = array
        if node.op_type == "BatchNormalization":
            layer = re.fullmatch(r"(.*)\.mean", node.input[3])[1]
            channels = shapes[node.input[3]]
            moments = {0: rng.normal(size=channels, scale=0.1), 1: rng.uniform(0.5, 2, channels), 2: numpy.ones(1)}
            layers.setdefault(layer, {}).update(moments)
    return [(name, [numpy.asarray(arrays[i]) for i in sorted(arrays)]) for name, arrays in layers.items()]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def exported(self, text, *words, check=sys.executable):
        (self.folder / "net.prototxt").write_text(text)
        path = self.folder / "net.onnx"
        path.unlink(missing_ok=True)
        done = export("-onnx", path, "-model", self.folder / "net.prototxt", *words, check=check)
        return done, path

    def check_equal(self, done, most=1e-5):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = re.findall(r"output (\S+) differs by at most (\S+) \(largest value (\S+)\)", done.stdout)
        self.assertTrue(found, done.stdout + done.stderr)
        for blob, difference, largest in found:
            self.assertLessEqual(float(difference), most * max(float(largest), 1e-3), blob)
        return [blob for blob, _, _ in found]


class Recordings(Folder):
    """Single layers, against the tops that the real Caffe has made."""

    def one(self, name):
        """"equal", "other phase", or why it was refused."""
        arrays = read_golden(GOLDEN / f"{name}.bin")
        text = (GOLDEN / f"{name}.prototxt").read_text()
        if name.split("__")[0] in DIFFERS_IN_TRAIN and arrays["phase"] == 0:
            return "other phase"
        params = [arrays[key] for key in sorted(k for k in arrays if re.fullmatch(r"param_\d+", k))]
        carriers = [(layer, [numpy.zeros(())]) for layer in re.findall(r'"(pre_\d+)"', text)]
        (self.folder / "w.caffemodel").write_bytes(caffemodel([("layer", params), *carriers]))
        path = self.folder / "layer.onnx"
        done = export("-onnx", path, "-model", GOLDEN / f"{name}.prototxt", "-weights", self.folder / "w.caffemodel")
        if done.returncode == 9:
            reason = [r for r in REFUSED if r in done.stderr]
            self.assertTrue(reason, done.stderr)
            self.assertRegex(done.stderr, r"prototxt(:\d+)?: ", "a refusal says where")
            return reason[0]
        self.assertEqual(done.returncode, 0, name + done.stdout + done.stderr)
        onnx.checker.check_model(str(path), full_check=True)
        run = session(path)
        feeds = {}
        for value in run.get_inputs():
            feeds[value.name] = arrays["bottom_" + value.name.rsplit("_", 1)[1]]
        names = [value.name for value in run.get_outputs()]
        results = dict(zip(names, run.run(None, feeds)))
        tops = [key for key in arrays if re.fullmatch(r"top_\d+", key)]
        self.assertEqual(sorted(names), sorted(tops), name)
        for top in tops:
            self.assertEqual(results[top].shape, arrays[top].shape, name)
            share = share_of_largest(results[top], arrays[top])
            self.assertLessEqual(share, 1e-5, f"{name} {top}")
        return "equal"

    def test_all(self):
        if not GOLDEN.is_dir():
            self.skipTest(f"no recordings at {GOLDEN}")
        counts = collections.Counter()
        os.chdir(GOLDEN)
        for path in sorted(GOLDEN.glob("*__*.bin")):
            if path.stem.split("__")[0] in NO_TOPS:
                continue
            with self.subTest(path.stem):
                result = self.one(path.stem)
                counts[result] += 1
                if result != "equal":
                    print(f"{path.stem}: {result}")
        print("recordings:", dict(counts))
        self.assertGreater(counts["equal"], 150)


class Nets(Folder):
    """models/ with weights at random, for two batches."""

    def test_models(self):
        rng = numpy.random.default_rng(1)
        compared = 0
        for folder in sorted((SOURCE / "models").iterdir()):
            if not (folder / "deploy.prototxt").exists():
                continue
            weights = self.folder / "random.caffemodel"
            weights.unlink(missing_ok=True)
            for net in ("train_val", "deploy"):
                with self.subTest(f"{folder.name}/{net}"):
                    path = self.folder / "net.onnx"
                    words = ["-onnx", path, "-model", folder / f"{net}.prototxt", "-batch", 2]
                    if not weights.exists():
                        done = export(*words)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        weights.write_bytes(caffemodel(random_weights(path, rng)))
                    done = export(*words, "-weights", weights, check=sys.executable)
                    self.check_equal(done)
                    onnx.checker.check_model(str(path))
                    compared += 1
        print("nets of models/:", compared, "equal")

    def test_dynamic_batch(self):
        path = self.folder / "net.onnx"
        model = SOURCE / "models/cifar10_quick/train_val.prototxt"
        self.check_equal(export("-onnx", path, "-model", model, "-batch", "dynamic", check=sys.executable))
        one = session(path)
        self.assertEqual(one.get_inputs()[0].shape[0], "batch")
        images = numpy.random.default_rng(2).normal(size=(5, 3, 32, 32)).astype("f4")
        whole = one.run(None, {"data": images})[0]
        for i in range(5):
            single = one.run(None, {"data": images[i:i + 1]})[0]
            self.assertLess(share_of_largest(single, whole[i:i + 1]), 1e-5)


def net_of(layers, shapes):
    text = ""
    for i, shape in enumerate(shapes):
        dims = " ".join(f"dim: {dim}" for dim in shape)
        text += f'layer {{ name: "in{i}" type: "Input" top: "x{i}" input_param {{ shape {{ {dims} }} }} }}\n'
    return text + layers


def layer_of(kind, fields="", bottoms=1, tops=("y",)):
    names = "".join(f' bottom: "x{i}"' for i in range(bottoms)) + "".join(f' top: "{top}"' for top in tops)
    return f'layer {{ name: "l" type: "{kind}"{names} {fields} }}\n'


FILLED = 'filler { type: "gaussian" std: 1 }'
# Layers that are not recorded, or not with these fields: (text, shapes of inputs).
CASES = {
    "relu6": (layer_of("ReLU6"), [(2, 3, 4)]),
    "hard_swish": (layer_of("HardSwish"), [(2, 30)]),
    "selu": (layer_of("ELU", "elu_param { alpha: 1.6 lambda: 1.05 }"), [(2, 30)]),
    "axpy": (layer_of("Axpy", bottoms=3), [(2, 3), (2, 3, 4, 5), (2, 3, 4, 5)]),
    "channel_scale": (layer_of("ChannelScale", bottoms=2), [(2, 3, 4, 5), (2, 1, 4, 5)]),
    "mul": (layer_of("Mul", bottoms=2), [(2, 3, 4), (3, 1)]),
    "normalize": (layer_of("Normalize", "norm_param { scale_filler { type: 'uniform' min: 1 max: 2 } }"),
                  [(2, 3, 4, 5)]),
    "normalize_across": (layer_of("Normalize", "norm_param { across_spatial: true channel_shared: true eps: 0 }"),
                         [(2, 3, 4, 5)]),
    "l2_norm": (layer_of("L2Norm"), [(3, 7)]),
    "l2_norm_one_axis": (layer_of("L2Norm"), [(3,)]),
    "mvn_two_axes": (layer_of("MVN"), [(3, 7)]),
    "reorg": (layer_of("Reorg", "reorg_param { stride: 2 }"), [(2, 8, 4, 6)]),
    "reorg_by_channel": (layer_of("Reorg", "reorg_param { stride: 2 reverse: true by_channel: true }"), [(2, 8, 4, 6)]),
    "reorg_reverse": (layer_of("Reorg", "reorg_param { stride: 2 reverse: true }"), [(2, 8, 4, 6)]),
    "shuffle": (layer_of("ShuffleChannel", "shuffle_channel_param { group: 3 }"), [(2, 12, 3, 5)]),
    "upsample": (layer_of("Upsample", "upsample_param { scale: 2 }"), [(2, 3, 4, 5)]),
    "upsample_darknet": (layer_of("UpsampleDarknet", "upsample_darknet_param { stride: 3 }"), [(2, 3, 4, 5)]),
    "interp": (layer_of("Interp", "interp_param { height: 9 width: 4 }"), [(2, 3, 5, 7)]),
    "interp_to_one": (layer_of("Interp", "interp_param { height: 1 width: 4 }"), [(2, 3, 5, 7)]),
    "interp_cut": (layer_of("Interp", "interp_param { zoom_factor: 2 pad_beg: -1 pad_end: -1 }"), [(2, 3, 5, 7)]),
    "bilinear_edges": (layer_of("ResizeBilinear", "resize_bilinear_param { output_height: 9 output_width: 11 }"),
                       [(2, 3, 5, 7)]),
    "bilinear_middles": (layer_of("ResizeBilinear", "resize_bilinear_param { output_height: 9 output_width: 3 "
                                  "half_pixel_centers: true }"), [(2, 3, 5, 7)]),
    "bilinear_pytorch": (layer_of("ResizeBilinear", "resize_bilinear_param { output_height: 1 output_width: 3 "
                                  "pytorch_half_pixel: true }"), [(2, 3, 5, 7)]),
    "nearest": (layer_of("ResizeNearestNeighbor", "resize_nearest_neighbor_param { output_height: 9 output_width: 3 }"),
                [(2, 3, 5, 7)]),
    "nearest_corners": (layer_of("ResizeNearestNeighbor", "resize_nearest_neighbor_param { output_height: 9 "
                                 "output_width: 14 align_corners: true }"), [(2, 3, 5, 7)]),
    "pad": (layer_of("Pad", "pad_param { paddings: 0 paddings: 0 paddings: 1 paddings: 2 constant_values: 3 }"),
            [(2, 3)]),
    "padding": (layer_of("Padding", "padding_param { pad_beg: 1 pad_end: 2 }"), [(2, 3, 4, 5)]),
    "padding_cuts": (layer_of("Padding", "padding_param { pad_beg: -1 pad_end: -1 }"), [(2, 3, 4, 5)]),
    "squeeze": (layer_of("Squeeze"), [(2, 1, 3, 1)]),
    "permute": (layer_of("Permute", "permute_param { order: 0 order: 2 }"), [(2, 3, 4, 5)]),
    "reverse": (layer_of("Reverse", "reverse_param { axis: 1 axis: -1 }"), [(2, 3, 4)]),
    "merge_crop_stack": (layer_of("MergeCrop", bottoms=2), [(2, 3, 4, 5), (2, 2, 7, 8)]),
    "merge_crop_add": (layer_of("MergeCrop", "mergecrop_param { operation: ADD }", bottoms=2),
                       [(2, 3, 4, 5), (2, 3, 7, 8)]),
    "floor": (layer_of("Pooling", "pooling_param { pool: MAX kernel_size: 3 stride: 2 round_mode: FLOOR }"),
              [(2, 3, 8, 8)]),
    "ave_exc_pad": (layer_of("Pooling", "pooling_param { pool: AVE_EXC_PAD kernel_size: 3 stride: 2 pad: 1 }"),
                    [(2, 3, 8, 8)]),
    "ave_pad": (layer_of("Pooling", "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }"), [(2, 3, 8, 9)]),
    "max_dilated": (layer_of("Pooling", "pooling_param { pool: MAX kernel_size: 3 stride: 2 pad: 1 dilation: 2 }"),
                    [(2, 3, 9, 9)]),
    "stride_above_kernel": (layer_of("Pooling", "pooling_param { pool: MAX kernel_size: 2 stride: 3 }"),
                            [(2, 3, 9, 10)]),
    "stochastic": (layer_of("AbsVal", tops=("a",)) + 'layer { name: "p" type: "Pooling" bottom: "a" top: "y" '
                   "pooling_param { pool: STOCHASTIC kernel_size: 3 stride: 2 } }", [(2, 3, 8, 8)]),
    "mask": (layer_of("Pooling", "pooling_param { pool: MAX kernel_size: 2 stride: 2 }", tops=("a", "m")) +
             'layer { name: "u" type: "Upsample" bottom: "a" bottom: "m" top: "y" upsample_param { scale: 2 } }',
             [(2, 3, 8, 6)]),
    "spp_ave": (layer_of("SPP", "spp_param { pyramid_height: 3 pool: AVE }"), [(2, 3, 9, 11)]),
    "lrn_k": (layer_of("LRN", "lrn_param { local_size: 3 alpha: 0.5 beta: 0.6 k: 2 }"), [(2, 5, 4, 4)]),
    "lrn_within": (layer_of("LRN", "lrn_param { local_size: 3 alpha: 0.5 beta: 0.6 k: 2 norm_region: WITHIN_CHANNEL }"),
                   [(2, 5, 4, 4)]),
    "batch_norm_of_batch": (layer_of("BatchNorm", "batch_norm_param { use_global_stats: false }"), [(4, 3, 5, 5)]),
    "batch_norm_merged": (layer_of("BatchNorm", "batch_norm_param { scale_bias: true }"), [(4, 3, 5, 5)]),
    "batch_norm_one_axis": (layer_of("BatchNorm"), [(5,)]),
    "bn_learn": (layer_of("BN", "bn_param { bn_mode: LEARN }"), [(4, 3, 5, 5)]),
    "bn_inference": (layer_of("BN", "bn_param { bn_mode: INFERENCE scale_filler { type: 'gaussian' std: 1 } }"),
                     [(4, 3, 5, 5)]),
    "depthwise": (layer_of("ConvolutionDepthwise", "convolution_param { num_output: 3 kernel_size: 3 pad: 1 "
                           "weight_filler { type: 'gaussian' std: 1 } }"), [(2, 3, 5, 5)]),
    "deconvolution": (layer_of("Deconvolution", "convolution_param { num_output: 4 group: 2 kernel_h: 3 kernel_w: 2 "
                               "pad: 1 stride: 2 dilation: 2 weight_filler { type: 'gaussian' std: 1 } }"), [(2, 6, 5, 5)]),
    "normalized_product": (layer_of("InnerProduct", "inner_product_param { num_output: 4 normalize: true "
                                    "weight_filler { type: 'gaussian' std: 1 } }"), [(2, 3, 5)]),
    "inner_product_axis": (layer_of("InnerProduct", "inner_product_param { num_output: 4 axis: 2 transpose: true "
                                    "weight_filler { type: 'gaussian' std: 1 } }"), [(2, 3, 5)]),
    "prior_box": (layer_of("PriorBox", "prior_box_param { min_size: 10 max_size: 20 aspect_ratio: 2 }", bottoms=2),
                  [(1, 3, 4, 5), (1, 3, 40, 50)]),
    "roi_pooling": (layer_of("ROIPooling", "roi_pooling_param { pooled_h: 2 pooled_w: 2 spatial_scale: 0.5 }",
                             bottoms=2),
                    [(1, 3, 8, 8), (2, 5)]),
    "lstm_exposed": (layer_of("LSTM", "recurrent_param { num_output: 3 expose_hidden: true weight_filler { type: "
                              "'gaussian' std: 1 } }", bottoms=4, tops=("y", "h", "c")),
                     [(4, 2, 5), (4, 2), (1, 2, 3), (1, 2, 3)]),
    "dropout_of_segnet": (layer_of("Dropout", "dropout_param { scale_train: false dropout_ratio: 0.3 }"), [(2, 5)]),
    "in_place": (layer_of("AbsVal", tops=("y",)) + 'layer { name: "r" type: "ReLU" bottom: "y" top: "y" } '
                 'layer { name: "p" type: "Power" bottom: "y" top: "y" power_param { scale: 2 } }', [(2, 5)]),
    "input_in_place": ('layer { name: "r" type: "ReLU" bottom: "x0" top: "x0" } '
                       'layer { name: "p" type: "Power" bottom: "x0" top: "y" power_param { shift: 2 } }', [(2, 5)]),
    "shared": ("".join(f'layer {{ name: "{n}" type: "InnerProduct" bottom: "x0" top: "{n}" param {{ name: "w" }} '
                       "inner_product_param { num_output: 4 bias_term: false weight_filler { type: 'gaussian' "
                       "std: 1 } } } "
                       for n in "ab"), [(2, 5)]),
}
NOT_BY_BATCH = {"prior_box": "an extent of what it makes follows the batch", "roi_pooling": None, "mul": None,
                "lstm_exposed": None, "batch_norm_one_axis": None, "l2_norm_one_axis": None}


class Layers(Folder):
    """Layers of forks, and settings that are not recorded, against the program itself."""

    def test_cases(self):
        for name, (layers, shapes) in CASES.items():
            with self.subTest(name):
                done, path = self.exported(net_of(layers, shapes))
                self.check_equal(done)
                onnx.checker.check_model(str(path), full_check=True)

    def test_cases_with_dynamic_batch(self):
        for name, (layers, shapes) in CASES.items():
            if name in NOT_BY_BATCH:
                continue
            with self.subTest(name):
                done, path = self.exported(net_of(layers, shapes), "-batch", "dynamic")
                self.check_equal(done)
                onnx.checker.check_model(str(path), full_check=True)

    def test_all_refusals_at_once(self):
        done, path = self.exported(net_of(
            layer_of("Filter", bottoms=2, tops=("f",)) +
            'layer { name: "d" type: "PSROIPooling" bottom: "x2" bottom: "x3" top: "z"\n'
            "psroi_pooling_param { spatial_scale: 1 output_dim: 1 group_size: 2 } }",
            [(2, 3), (2, 1), (1, 4, 8, 8), (2, 5)]))
        self.assertEqual(done.returncode, 9)
        self.assertIn('layer "l"', done.stderr)
        self.assertIn('layer "d": type PSROIPooling has no equal in ONNX', done.stderr)
        self.assertRegex(done.stderr, r"net.prototxt:5: layer \"l\"")
        self.assertFalse(path.exists())

    def test_train_val_becomes_what_deploy_is(self):
        text = net_of(
            'layer { name: "ip" type: "InnerProduct" bottom: "x0" top: "ip" inner_product_param { num_output: 3 '
            "weight_filler { type: 'gaussian' std: 1 } } } "
            'layer { name: "flat" type: "Flatten" bottom: "x1" top: "labels" } '
            'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "labels" top: "loss" } '
            'layer { name: "acc" type: "Accuracy" bottom: "ip" bottom: "labels" top: "acc" }', [(2, 5), (2, 1)])
        done, path = self.exported(text)
        self.assertEqual(self.check_equal(done), ["prob"])
        run = session(path)
        self.assertEqual([value.name for value in run.get_inputs()], ["x0"])

    def test_version_and_weights(self):
        done, path = self.exported(net_of(*CASES["depthwise"]), check="off")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = onnx.load(path)
        self.assertEqual((model.ir_version, model.opset_import[0].version, model.producer_name), (8, 13, "robusta"))
        weights = [value for value in model.graph.initializer if value.name == "l.0"]
        self.assertEqual(len(weights), 1)
        self.assertTrue(weights[0].HasField("raw_data"))

    def test_missing_weights(self):
        (self.folder / "w.caffemodel").write_bytes(caffemodel([("other", [numpy.ones(3)])]))
        done, path = self.exported(net_of(*CASES["depthwise"]), "-weights", self.folder / "w.caffemodel")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("there are no weights for l", done.stderr)
        self.assertFalse(path.exists())

    def test_python_without_onnxruntime(self):
        done, path = self.exported(net_of(*CASES["relu6"]), check="/bin/false")
        self.assertEqual(done.returncode, 70 if "refuses" in done.stderr else 1, done.stderr)
        done, path = self.exported(net_of(*CASES["relu6"]), check="/no/such/python")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(path.exists())

    def test_detections(self):
        for name, fields in DETECTORS.items():
            for batch, sizes in (("2", 1), ("dynamic", 2)):  # what is dynamic is compared with two sizes
                with self.subTest(f"{name}, batch {batch}"):
                    done, path = self.exported(detector(fields), "-batch", batch, "-nms")
                    self.assertEqual(self.check_equal(done), ["found"] * sizes)
                    onnx.checker.check_model(str(path), full_check=True)

    def test_detections_that_differ_in_onnx(self):
        for fields, why in (("code_type: CORNER", "code_type"), ("nms_param { eta: 0.9 }", "does not move"),
                            ("nms_param { nms_threshold: 1.5 }", "0 to 1"), ("keep_top_k: 0", "nothing is kept"),
                            ("share_location: false", "boxes of its own")):
            with self.subTest(fields):
                code = "" if "code_type" in fields else "code_type: CENTER_SIZE"
                codes = 48 * 4 * (4 if "share_location" in fields else 1)
                done, _ = self.exported(detector(f"{code} {fields}", codes), "-nms")
                self.assertEqual(done.returncode, 9, done.stdout + done.stderr)
                self.assertIn(why, done.stderr)


def detector(fields, codes=48 * 4):
    """Heads of SSD: 48 prior boxes, 4 classes."""
    return net_of('''
layer { name: "p" type: "PriorBox" bottom: "x2" bottom: "x3" top: "prior" prior_box_param { min_size: 15
  aspect_ratio: 2 variance: 0.5 variance: 0.5 variance: 0.8 variance: 0.8 } }
layer { name: "s" type: "Softmax" bottom: "x1" top: "conf" softmax_param { axis: 2 } }
layer { name: "c" type: "Flatten" bottom: "conf" top: "flat" }
layer { name: "d" type: "DetectionOutput" bottom: "x0" bottom: "flat" bottom: "prior" top: "found"
  detection_output_param { num_classes: 4 %s } }
''' % fields, [(2, codes), (2, 48, 4), (2, 1, 4, 4), (2, 1, 40, 40)])


CENTER = "code_type: CENTER_SIZE "
DETECTORS = {
    "as SSD has it": CENTER + "confidence_threshold: 0.2 keep_top_k: 20 nms_param { nms_threshold: 0.45 top_k: 30 }",
    "without limits": CENTER + "nms_param { nms_threshold: 0.3 }",
    "few of a class": CENTER + "background_label_id: 2 keep_top_k: 5 nms_param { nms_threshold: 0.45 top_k: 3 }",
    "no background": CENTER + "background_label_id: -1 keep_top_k: 40 nms_param { nms_threshold: 0 }",
    "codes without variances": CENTER + "variance_encoded_in_target: true nms_param { nms_threshold: 0.9 }",
    "nothing": CENTER + "confidence_threshold: 2 nms_param { nms_threshold: 0.45 }",
}


if __name__ == "__main__":
    unittest.main()
