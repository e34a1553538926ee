"""The rules of `caffe deploy -lint`, one by one: a net that breaks a rule is given to a reader as it is, and as deploy
has rewritten it (scripts/check_readers.py --rules).

Each row holds one net, the form in which its pair is written before deploy sees it, and the readers for which the rule
was measured to hold. A reader breaks when it refuses the pair, ends without an outcome, or computes something else.
"""

import array
import collections
import re
import subprocess

from robusta_readers import library, wire
from robusta_readers.nets import entry

# rule: of `caffe deploy -rules`. breaks: the readers that take the pair wrongly as it is, as measured with the versions
# of environments.py. mended: whether what deploy writes is to pass; rules that only warn leave the pair as it is. form:
# what is done to the files (FORMS). known: readers that do not pass with what deploy wrote either, by what their failure
# says.
Row = collections.namedtuple("Row", "rule net breaks mended form known", defaults=(True, "", {}))

IMAGE = 'name: "rule"\n' + entry(1, 4, 9, 8)


def layer(kind, fields="", bottoms=("data",), tops=("it",), name="it"):
    ends = "".join(f' bottom: "{each}"' for each in bottoms) + "".join(f' top: "{each}"' for each in tops)
    return f'layer {{ name: "{name}" type: "{kind}"{ends} {fields} }}\n'


FILLER = 'weight_filler { type: "msra" }'
PRODUCT = f"inner_product_param {{ num_output: 6 {FILLER} "


def convolution(fields="kernel_size: 3", bottom="data", name="it", more=""):
    fields = f"convolution_param {{ num_output: 4 {FILLER} {fields} }} {more}"
    return layer("Convolution", fields, (bottom,), (name,), name)


def pool(fields):
    return IMAGE + layer("Pooling", f"pooling_param {{ {fields} }}")


# Readers that lack the layer altogether: deploy says so.
REFUSED = dict.fromkeys(("pycaffe", "tpu-mlir", "opencv", "ncnn", "mnn", "openvino", "rknn"),
                        "end the net before this layer")

ONLY_NCNN = {"ncnn": REFUSED["ncnn"]}

RULES = [
    Row("new-layers", IMAGE + convolution(), ("ncnn", "mnn", "rknn"), form="v1"),
    Row("float-arrays", IMAGE + convolution(), ("opencv", "ncnn", "mnn", "openvino", "rknn"), form="doubles"),
    # RKNN takes a Convolution's arrays without a shape.
    Row("array-shapes", IMAGE + layer("Scale", "scale_param { bias_term: true }"), ("rknn",), form="legacy"),
    Row("three-arrays", IMAGE + layer("BatchNorm", "batch_norm_param { use_global_stats: true }"),
        ("pycaffe", "tpu-mlir", "rknn"),
        form="bare_factor"),
    # OpenCV calls the second act_1, and gives the first's output to who asks for act. With weights, the file does not
    # say which layer has which: MNN, OpenVINO, RKNN, Caffe and deploy refuse that.
    Row("one-name", IMAGE + convolution() + layer("TanH", "", ("it",), ("a",), "act") +
        layer("Sigmoid", "", ("a",), ("end",), "act"), ("opencv",)),
    Row("floor-pooling", pool("kernel_size: 3 stride: 2 round_mode: FLOOR"), ("opencv", "ncnn", "mnn", "openvino")),
    Row("floor-pooling", pool("kernel_size: 3 stride: 2 ceil_mode: false"), ("ncnn", "mnn")),
    Row("equal-dilations", IMAGE + convolution("kernel_size: 3 dilation: 1 dilation: 2"),
        ("tpu-mlir", "ncnn", "mnn", "openvino")),
    Row("kernel-h-w", IMAGE + convolution("kernel_size: 3 kernel_size: 5"), ("tpu-mlir", "ncnn", "mnn", "openvino")),
    # Intel's field is one that RKNN knows; NVIDIA's, which it does not, OpenCV passes over.
    Row("known-fields", IMAGE + convolution('kernel_size: 3 conv_algorithm: "x"', more="cudnn_math_override: 1"),
        ("pycaffe", "tpu-mlir", "opencv", "ncnn", "mnn", "openvino", "rknn")),
    Row("global-stats", IMAGE + layer("BatchNorm"), ()),
    Row("not-transposed", IMAGE + layer("InnerProduct", PRODUCT + "transpose: true }"), ("opencv", "ncnn", "rknn")),
    Row("inner-axis", IMAGE + layer("InnerProduct", PRODUCT + "axis: 2 }"), ("tpu-mlir", "ncnn", "openvino"),
        known=ONLY_NCNN),
    Row("lrn-k", IMAGE + layer("LRN", "lrn_param { local_size: 3 alpha: 0.5 k: 2 }"),
        ("opencv", "ncnn", "mnn", "rknn")),
    Row("no-coeff", IMAGE + layer("TanH", tops=("other",), name="other") +
        layer("Eltwise", "eltwise_param { coeff: 1 coeff: -0.5 }", ("data", "other")), ("tpu-mlir", "mnn", "rknn")),
    Row("no-coeff", IMAGE + layer("TanH", tops=("b",), name="b") + layer("Sigmoid", tops=("c",), name="c") +
        layer("Eltwise", "eltwise_param { coeff: 1 coeff: -0.5 coeff: 2 }", ("data", "b", "c")),
        ("tpu-mlir", "mnn", "openvino", "rknn")),
    # The layer behind it tells what shape the reader made: the numbers alone are the same.
    Row("whole-reshape", IMAGE + layer("Reshape", "reshape_param { shape { dim: 6 dim: 6 } axis: 1 num_axes: 2 }") +
        convolution(bottom="it", name="end"), ("ncnn", "mnn", "openvino", "rknn")),
    Row("whole-reshape", IMAGE + layer("Reshape", "reshape_param { shape { dim: -1 } axis: -2 }") +
        layer("Softmax", "softmax_param { axis: 2 }", ("it",), ("end",), "end"),
        ("opencv", "ncnn", "mnn", "openvino", "rknn")),
    Row("slice-points", IMAGE + layer("Slice", tops=("a", "b")) + layer("TanH", "", ("a",), ("left",), "left") +
        layer("Sigmoid", "", ("b",), ("right",), "right"), ("mnn",)),
    Row("slice-points", IMAGE + layer("Slice", "slice_param { slice_dim: 2 slice_point: 3 }", tops=("a", "b")) +
        layer("TanH", "", ("a",), ("left",), "left") + layer("Sigmoid", "", ("b",), ("right",), "right"),
        ("tpu-mlir", "opencv", "mnn", "rknn")),
    # Where no window reaches beyond the padding, the others compute the same.
    Row("average-padding", pool("pool: AVE kernel_size: 3 stride: 1 pad: 1"), ("ncnn",)),
    Row("two-bottoms", IMAGE + layer("TanH", tops=("b",), name="b") + layer("Sigmoid", tops=("c",), name="c") +
        layer("Eltwise", "", ("data", "b", "c")), ("rknn",)),
    Row("two-bottoms", IMAGE + layer("TanH", tops=("b",), name="b") + layer("Sigmoid", tops=("c",), name="c") +
        layer("Eltwise", "eltwise_param { operation: MAX }", ("data", "b", "c")), ("tpu-mlir",)),
    Row("rknn-types", IMAGE + layer("MVN"), ("tpu-mlir", "mnn", "rknn"), False),
    # TPU-MLIR takes a window as large as the image for global pooling, and its size for that of the padded image.
    Row("padded-image", 'name: "rule"\n' + entry(1, 4, 7, 7) +
        layer("Pooling", "pooling_param { pool: AVE kernel_size: 7 stride: 2 pad: 1 }"), ("tpu-mlir", "ncnn")),
    Row("average-both", pool("pool: AVE kernel_size: 3 stride: 2 pad: 1"),
        ("pycaffe", "tpu-mlir", "ncnn", "openvino", "rknn"),
        False),
    Row("average-cut", pool("pool: AVE kernel_size: 3 stride: 2"), ("pycaffe", "tpu-mlir", "rknn"), False),
    Row("known-types", IMAGE + layer("ShuffleChannel", "shuffle_channel_param { group: 2 }"), ("rknn",), False),
    Row("counted-axes", IMAGE + layer("Scale", "scale_param { axis: -3 }"), ("opencv",)),
    Row("counted-axes", IMAGE + layer("Softmax", "softmax_param { axis: -1 }"), ("ncnn",)),
    Row("counted-axes", IMAGE + layer("InnerProduct", PRODUCT + "axis: -3 }"), ("mnn",)),
    Row("kernel-axes", 'name: "rule"\n' + entry(1, 2, 5, 6, 7) + convolution(),
        ("tpu-mlir", "opencv", "ncnn", "mnn", "openvino", "rknn"),
        known=REFUSED),
    Row("bias-scale", IMAGE + layer("Bias", 'bias_param { filler { type: "uniform" min: -1 } }'),
        ("tpu-mlir", "opencv", "ncnn", "rknn")),
    Row("bias-scale", IMAGE + layer("TanH", tops=("other",), name="other") +
        layer("Bias", "bias_param { axis: 0 }", ("data", "other")),
        ("tpu-mlir", "opencv", "ncnn", "mnn", "openvino", "rknn")),
    Row("scale-alone", IMAGE + layer("TanH", tops=("other",), name="other") +
        layer("Scale", "scale_param { axis: 0 bias_term: true }", ("data", "other")),
        ("tpu-mlir", "opencv", "ncnn", "mnn", "openvino", "rknn"),
        known=REFUSED),
    Row("channel-scale", IMAGE + layer("Scale", "scale_param { num_axes: 0 filler { value: 2 } }"),
        ("tpu-mlir", "opencv", "ncnn", "mnn", "rknn")),
    Row("channel-slopes", IMAGE + layer("PReLU", "prelu_param { channel_shared: true }"), ("tpu-mlir", "opencv")),
    Row("plain-log", IMAGE +
        layer("Power", "power_param { scale: 0.5 shift: 2 }", tops=("positive",), name="positive") +
        layer("Log", "log_param { base: 10 }", ("positive",)), ("tpu-mlir", "opencv", "ncnn", "openvino", "rknn"),
        known=REFUSED),
    Row("plain-exp", IMAGE + layer("Exp", "exp_param { base: 3 scale: 0.5 shift: 0.25 }"),
        ("tpu-mlir", "ncnn", "openvino", "rknn"),
        known=REFUSED),
    Row("no-clip", IMAGE + layer("Clip", "clip_param { min: -0.25 max: 0.5 }"),
        ("tpu-mlir", "opencv", "ncnn", "mnn", "openvino", "rknn")),
    Row("no-clip", IMAGE + layer("Power", "power_param { scale: 9 }", tops=("wide",), name="wide") +
        layer("Clip", "clip_param { min: 0 max: 6 }",
        ("wide",)), ("tpu-mlir", "opencv", "ncnn", "mnn", "openvino", "rknn")),
    Row("gate-product", IMAGE + layer("Pooling", "pooling_param { pool: AVE global_pooling: true }", tops=("mean",),
        name="mean") + layer("Flatten", "", ("mean",), ("gates",), "gates") +
        layer("Scale", "scale_param { axis: 0 }", ("data", "gates")), ("mnn",)),
    Row("whole-flatten", IMAGE + layer("Flatten", "flatten_param { end_axis: 2 }") +
        layer("Softmax", "softmax_param { axis: 2 }", ("it",), ("end",), "end"), ("tpu-mlir", "mnn", "ncnn", "rknn")),
    Row("said-reshape", IMAGE + layer("Reshape", "reshape_param { shape { dim: 0 dim: 0 dim: -1 } }") +
        layer("Softmax", "softmax_param { axis: 2 }", ("it",), ("end",), "end"), ("ncnn",)),
    Row("swish-beta", IMAGE + layer("Swish", "swish_param { beta: 2 }"),
        ("tpu-mlir", "opencv", "ncnn", "mnn", "openvino", "rknn")),
    Row("no-swish", IMAGE + layer("Swish"), ("tpu-mlir", "mnn", "rknn")),
    Row("no-split", IMAGE + layer("Split", tops=("left", "right")), ("tpu-mlir", "opencv", "mnn", "openvino"),
        known=REFUSED),
    Row("tile-concat", IMAGE + layer("Tile", "tile_param { axis: 2 tiles: 3 }"), ("tpu-mlir", "opencv", "ncnn", "mnn")),
    Row("crop-offset", 'name: "rule"\n' + entry(1, 4, 9, 8) + layer("Pooling", "pooling_param { kernel_size: 3 }",
        tops=("small",), name="small") + layer("Crop", "", ("data", "small")), ("mnn", "rknn"),
        known={"rknn": "2e+00"}),
    Row("crop-input", 'name: "rule"\n' + entry(1, 4, 9, 8) + layer("Pooling", "pooling_param { kernel_size: 3 }",
        tops=("small",), name="small") + layer("Crop", "crop_param { offset: 0 }", ("data", "small")), ("rknn",), False),
    Row("crop-slices", 'name: "rule"\n' + entry(1, 4, 9, 8) + layer("Convolution", "convolution_param { num_output: 2 "
        'kernel_size: 3 weight_filler { type: "msra" } }', tops=("small",), name="small") + layer("Crop",
        "crop_param { axis: 2 offset: 1 offset: 2 }", ("data", "small")), ("ncnn", "rknn"),
        known={"rknn": "it has 84 numbers"}),
    Row("lrn-fields", IMAGE + layer("LRN", "lrn_param { local_size: 3 }"), ("opencv",)),
    Row("opencv-types", IMAGE + layer("Reduction", "reduction_param { axis: 2 }"),
        ("tpu-mlir", "opencv", "ncnn", "openvino", "rknn"), False),
    Row("mnn-types", IMAGE + layer("ArgMax", "argmax_param { axis: 1 }"), ("opencv", "mnn", "ncnn"), False),
    Row("ncnn-types", IMAGE + layer("Scale", "scale_param { axis: 2 }"),
        ("tpu-mlir", "ncnn", "mnn", "openvino", "rknn"), False),
    Row("ncnn-fields", IMAGE + layer("Swish", "swish_param { beta: 1 }"),
        ("tpu-mlir", "ncnn", "mnn", "openvino", "rknn")),
    Row("openvino-types", IMAGE + layer("AbsVal"), ("openvino", "rknn"), False),
    Row("one-group", IMAGE + layer("Deconvolution", f"convolution_param {{ num_output: 4 group: 2 kernel_size: 2 "
        f"stride: 2 {FILLER} }}"), ("tpu-mlir",)),
    Row("no-power", IMAGE + layer("Power", "power_param { scale: 0.5 shift: 2 }"), ("tpu-mlir",)),
    Row("tpu-mlir-types", IMAGE + layer("Reduction", "reduction_param { axis: 3 }"),
        ("tpu-mlir", "opencv", "ncnn", "openvino", "rknn"), False),
    Row("last-layer", IMAGE + convolution() + layer("ReLU", "", ("it",), name="relu"), ("tpu-mlir", "ncnn", "mnn")),
    Row("last-layer", IMAGE + convolution() + layer("Dropout", "", ("it",), ("end",), "drop"), ("tpu-mlir", "mnn")),
    Row("last-layer", IMAGE + layer("ReLU", tops=("data",), name="relu"), ("tpu-mlir", "ncnn", "mnn", "rknn")),
    Row("last-layer", IMAGE + layer("Power", "power_param { scale: 0.5 }", tops=("end",)), ("tpu-mlir", "mnn")),
]
# Rules without a row, and why.
WITHOUT = {"inference-layers": "what a source reads, or a loss compares, is not in the net; the recordings have them"}

# Targets of deploy that are not asked, and why.
ELSEWHERE = {
    "ascend": "its converter comes with Huawei's CANN alone",
    "nnie": "its converter comes with HiSilicon's SDK alone",
    "horizon": "its toolchain comes in the maker's container alone",
    "acuity": "its converter wants a licence",
    "netron": "it shows nets, and computes nothing",
}


def doubles(blob):
    return [(8, array.array("d", wire.floats(value)).tobytes()) if number == 5 else (number, value)
            for number, value in blob]


def legacy(blob):
    """Four extents, ones in front, in place of a shape."""
    extents = [wire.extents(value) for number, value in blob if number == 7][0]
    extents = [1] * (4 - len(extents)) + extents
    return [(at + 1, extent) for at, extent in enumerate(extents)] + [each for each in blob if each[0] != 7]


def of_blobs(change):
    """A change of all arrays, as one of layers."""
    return lambda fields: [(number, wire.message(change(wire.fields(value))) if number == 7 else value)
                           for number, value in fields]


def bare_factor(fields):
    """The third array, where there is one, without its shape."""
    arrays = [value for number, value in fields if number == 7]
    if len(arrays) < 3:
        return fields
    arrays[2] = wire.message([each for each in wire.fields(arrays[2]) if each[0] != 7])
    return [each for each in fields if each[0] != 7] + [(7, value) for value in arrays]


def old_layer(fields):
    """V1LayerParameter of a layer: other numbers, and an enum for the type."""
    numbers, types = {1: 4, 3: 2, 4: 3, 7: 6}, {b"Input": 0, b"Convolution": 4}
    return ([(numbers[number], value) for number, value in fields if number in numbers] +
            [(5, types[value]) for number, value in fields if number == 2])


def old_text(text, shape):
    """A net of one Convolution in the form of before Caffe had `layer`."""
    body = text[text.index("layer", text.index("input_param")):]
    sizes = "".join(f"input_dim: {extent} " for extent in shape)
    body = body.replace("layer {", "layers {").replace('type: "Convolution"', "type: CONVOLUTION")
    return f'input: "data" {sizes}\n{body}'


FORMS = {"doubles": of_blobs(doubles), "legacy": of_blobs(legacy), "bare_factor": bare_factor, "v1": old_layer}


def write_form(case, form):
    """Writes the pair of a case anew."""
    if not form:
        return
    changed = []
    for number, value in wire.fields(case.weights.read_bytes()):
        if number == 100:
            value = wire.message(FORMS[form](wire.fields(value)))
        changed.append((2 if number == 100 and form == "v1" else number, value))
    case.weights.write_bytes(wire.message(changed))
    if form == "v1":
        case.net.write_text(old_text(case.text, case.inputs["data"]["shape"]))


def outcome(run, limit):
    """How a reader took a pair: whether it computes the same, and what to print of it."""
    try:
        worst = run()
    except library.Failure as failure:
        return False, str(failure)
    return worst <= limit, f"{worst:.0e}"


def reported(row, case, caffe):
    """Whether -lint tells of the rule."""
    done = subprocess.run([str(caffe), "deploy", "-lint", str(case.net), str(case.weights)], capture_output=True,
                          text=True, check=False)
    return f"[{row.rule}; " in done.stdout


def judge(row, case, reader, options, limit):
    """Text of the table for one reader, and whether it is as the row says."""
    as_is, why = outcome(lambda: case.run(options, reader, case.net, case.weights, list(case.expected)), limit)
    good = as_is != (reader in row.breaks)
    text = f"takes it ({why})" if as_is else f"breaks ({why[:100]})"
    if row.mended:
        passes, after = outcome(lambda: case.run(options, reader, *case.pair(options, reader)), limit)
        known = row.known.get(reader, "")
        good = good and (passes or (known != "" and known in after))
        text += f", then {after[:100]}"
    return text if good else text + " UNEXPECTED", good


def forgotten(caffe):
    """Rules of the program that have neither a row nor a reason to have none, and the other way round."""
    done = subprocess.run([str(caffe), "deploy", "-rules"], capture_output=True, text=True, check=True)
    named = set(re.findall(r"^\| `([a-z-]+)` \|", done.stdout, re.MULTILINE))
    return sorted(named ^ {row.rule for row in RULES} ^ set(WITHOUT))


def table(make_case, options, readers, limits):
    """Prints the table; returns how many cells are as expected, and how many there are."""
    caffe = options.tools / "caffe"
    wrong = forgotten(caffe)
    for rule in wrong:
        print(f"-- {rule} is not in both tables, the program's and robusta_readers/rules.py's")
    good, total = 0, len(wrong)
    print("| rule | " + " | ".join(readers) + " |\n|" + " --- |" * (len(readers) + 1))
    for at, row in enumerate(RULES):
        if options.nets and row.rule not in options.nets:
            continue
        case = make_case(f"{row.rule}-{at}", row.net)
        write_form(case, row.form)
        told = reported(row, case, caffe)
        cells = [judge(row, case, reader, options, limits(reader)) for reader in readers]
        said = row.rule if told else f"{row.rule}: NOT REPORTED"
        print(f"| {said} | " + " | ".join(text.replace("|", "/") for text, _ in cells) + " |", flush=True)
        good, total = good + told + sum(holds for _, holds in cells), total + 1 + len(cells)
    for rule, why in WITHOUT.items():
        print(f"-- {rule} has no row: {why}")
    for target, why in ELSEWHERE.items():
        print(f"-- {target} is not asked: {why}")
    return good, total
