"""The rules of `caffe deploy -lint`, one by one: a net that breaks a rule is given to a reader as it is, and as deploy
has rewritten it (scripts/check_readers.py --rules).

Each row holds one net, the form in which its pair is written before deploy sees it, and the readers for which the rule
was measured to hold. A reader breaks when it refuses the pair, ends without an outcome, or computes something else.
"""

import array
import collections
import subprocess

from robusta_readers import library, wire
from robusta_readers.nets import entry

# rule: of `caffe deploy -rules`. breaks: the readers that take the pair wrongly as it is. mended: whether what deploy
# writes is to pass; rules that only warn leave the pair as it is. form: what is done to the files (FORMS). known:
# readers that do not pass with what deploy wrote either, by what their failure says.
Row = collections.namedtuple("Row", "rule net breaks mended form known", defaults=(True, "", {}))

IMAGE = 'name: "rule"\n' + entry(1, 4, 9, 8)


def layer(kind, fields="", bottoms=("data",), tops=("it",), name="it"):
    ends = "".join(f' bottom: "{each}"' for each in bottoms) + "".join(f' top: "{each}"' for each in tops)
    return f'layer {{ name: "{name}" type: "{kind}"{ends} {fields} }}\n'


FILLER = 'weight_filler { type: "msra" }'
CONVOLUTION = layer("Convolution", f"convolution_param {{ num_output: 4 kernel_size: 3 {FILLER} }}")
PRODUCT = f"inner_product_param {{ num_output: 6 {FILLER} "


def window(fields):
    return IMAGE + layer("Convolution", f"convolution_param {{ num_output: 4 {FILLER} {fields} }}")


def pool(fields):
    return IMAGE + layer("Pooling", f"pooling_param {{ {fields} }}")


RULES = [
    Row("new-layers", IMAGE + CONVOLUTION, (), form="v1"),
    Row("float-arrays", IMAGE + CONVOLUTION, (), form="doubles"),
    Row("array-shapes", IMAGE + CONVOLUTION, (), form="legacy"),
    Row("three-arrays", IMAGE + layer("BatchNorm", "batch_norm_param { use_global_stats: true }"), (), form="two"),
    Row("one-name", IMAGE + CONVOLUTION + layer("Convolution", f"convolution_param {{ num_output: 3 kernel_size: 1 {FILLER} }}",
                                                ("it",), ("end",), "second"), (), form="one_name"),
    Row("floor-pooling", pool("kernel_size: 3 stride: 2 round_mode: FLOOR"), ()),
    Row("floor-pooling", pool("kernel_size: 3 stride: 2 ceil_mode: false"), ()),
    Row("equal-dilations", window("kernel_size: 3 dilation: 1 dilation: 2"), ()),
    Row("kernel-h-w", window("kernel_size: 3 kernel_size: 5"), ()),
    Row("known-fields", window('kernel_size: 3 conv_algorithm: "x"'), ()),
    Row("global-stats", IMAGE + layer("BatchNorm"), ()),
    Row("not-transposed", IMAGE + layer("InnerProduct", PRODUCT + "transpose: true }"), ()),
    Row("inner-axis", IMAGE + layer("InnerProduct", PRODUCT + "axis: 2 }"), ()),
    Row("lrn-k", IMAGE + layer("LRN", "lrn_param { local_size: 3 alpha: 0.5 k: 2 }"), ()),
    Row("no-coeff", IMAGE + layer("AbsVal", tops=("other",), name="other") +
        layer("Eltwise", "eltwise_param { coeff: 1 coeff: -0.5 }", ("data", "other")), ()),
    Row("whole-reshape", IMAGE + layer("Reshape", "reshape_param { shape { dim: 3 dim: -1 } axis: 2 num_axes: 1 }"), ()),
    Row("slice-points", IMAGE + layer("Slice", tops=("a", "b")) + layer("TanH", "", ("a",), ("left",), "left") +
        layer("Sigmoid", "", ("b",), ("right",), "right"), ()),
    Row("average-padding", pool("pool: AVE kernel_size: 3 stride: 1 pad: 1"), (), False),
    Row("average-cut", pool("pool: AVE kernel_size: 3 stride: 2"), (), False),
    Row("known-types", IMAGE + layer("ShuffleChannel", "shuffle_channel_param { group: 2 }"), (), False),
    Row("last-layer", IMAGE + CONVOLUTION + layer("ReLU", "", ("it",), name="relu"), ()),
    Row("last-layer", IMAGE + CONVOLUTION + layer("Dropout", "", ("it",), ("end",), "drop"), ()),
]

# Rules whose readers are not to be had from PyPI: why none of them is in the table above.
ELSEWHERE = {
    "ncnn": "its converter caffe2ncnn is not in the wheel: it has to be built of ncnn's source",
    "ascend": "its converter comes with Huawei's CANN alone",
    "nnie": "its converter comes with HiSilicon's SDK alone",
    "horizon": "its toolchain comes in the maker's container alone",
    "acuity": "its converter wants a licence",
    "netron": "it shows nets, and computes nothing",
    "tpu-mlir": "its converter starts only with changes to its wheel; its pycaffe is Caffe itself",
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


def without_factor(fields):
    arrays = [value for number, value in fields if number == 7]
    return [each for each in fields if each[0] != 7] + [(7, value) for value in arrays[:2]]


def one_name(fields):
    return [(number, b"it" if number == 1 and value == b"second" else value) for number, value in fields]


def old_layer(fields):
    """V1LayerParameter of a layer: other numbers, and an enum for the type."""
    numbers, types = {1: 4, 3: 2, 4: 3, 7: 6}, {b"Input": 0, b"Convolution": 4}
    return ([(numbers[number], value) for number, value in fields if number in numbers] +
            [(5, types[value]) for number, value in fields if number == 2])


def write_form(case, form):
    """Writes the pair of a case anew; returns nothing."""
    change = {"doubles": of_blobs(doubles), "legacy": of_blobs(legacy), "two": without_factor, "one_name": one_name,
              "v1": old_layer}.get(form)
    if change is None:
        return
    layers = wire.fields(case.weights.read_bytes())
    to = 2 if form == "v1" else 100
    case.weights.write_bytes(wire.message([(to, wire.message(change(wire.fields(value)))) if number == 100 else
                                           (number, value) for number, value in layers]))
    if form == "one_name":
        case.net.write_text(case.text.replace('"second"', '"it"'))
    if form == "v1":
        body = case.text[case.text.index("layer", case.text.index("input_param")):]
        sizes = "".join(f"input_dim: {extent} " for extent in case.inputs["data"]["shape"])
        body = body.replace("layer {", "layers {").replace('type: "Convolution"', "type: CONVOLUTION")
        case.net.write_text(f'input: "data" {sizes}\n{body}')


def outcome(run, limit):
    """How a reader took a pair: whether it computes the same, and what to print of it."""
    try:
        worst = run()
    except library.Failure as failure:
        return False, str(failure)[:100]
    return worst <= limit, f"{worst:.0e}"


def reported(row, case, caffe):
    """Whether -lint tells of the rule."""
    done = subprocess.run([str(caffe), "deploy", "-lint", str(case.net), str(case.weights)], capture_output=True,
                          text=True, check=False)
    return f"[{row.rule}; " in done.stdout


def judge(row, case, reader, options, limit):
    """Text of the table for one reader, and whether it is as the row says."""
    as_is, why = outcome(lambda: case.run(options, reader, case.net, case.weights), limit)
    good = as_is != (reader in row.breaks)
    text = f"takes it ({why})" if as_is else f"breaks ({why})"
    if row.mended:
        passes, after = outcome(lambda: case.run(options, reader, *case.pair(options, reader)), limit)
        known = row.known.get(reader, "")
        good = good and (passes or (known != "" and known in after))
        text += f", then {after}"
    return text if good else text + " UNEXPECTED", good


def table(make_case, options, readers, limits):
    """Prints the table; returns how many cells are as expected, and how many there are."""
    good = total = 0
    print("| rule | " + " | ".join(readers) + " |\n|" + " --- |" * (len(readers) + 1))
    for at, row in enumerate(RULES):
        if options.nets and row.rule not in options.nets:
            continue
        case = make_case(f"{row.rule}-{at}", row.net)
        write_form(case, row.form)
        told = reported(row, case, options.tools / "caffe")
        cells = [judge(row, case, reader, options, limits(reader)) for reader in readers]
        said = row.rule if told else f"{row.rule}: NOT REPORTED"
        print(f"| {said} | " + " | ".join(text.replace("|", "/") for text, _ in cells) + " |", flush=True)
        good, total = good + told + sum(holds for _, holds in cells), total + 1 + len(cells)
    for target, why in ELSEWHERE.items():
        print(f"-- {target} is not asked: {why}")
    return good, total
