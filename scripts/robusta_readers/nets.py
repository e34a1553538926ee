"""The nets that are given to readers: those of models/, and five with what these lack."""

import pathlib

INPUT = """layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ {} }} }} }}
"""


def entry(*extents):
    return INPUT.format(" ".join(f"dim: {extent}" for extent in extents))


def convolution(name, bottom, channels, kernel=3, more="pad: 1"):
    return (f'layer {{ name: "{name}" type: "Convolution" bottom: "{bottom}" top: "{name}" convolution_param {{ '
            f'num_output: {channels} kernel_size: {kernel} {more} weight_filler {{ type: "msra" }} }} }}\n')


DECONVOLUTION = ('name: "deconvolution"\n' + entry(1, 3, 16, 16) + convolution("conv", "data", 8) + """
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "norm" batch_norm_param { use_global_stats: true } }
layer { name: "scale" type: "Scale" bottom: "norm" top: "scale" scale_param { bias_term: true } }
layer { name: "relu" type: "ReLU" bottom: "scale" top: "scale" }
layer { name: "pool" type: "Pooling" bottom: "scale" top: "pool" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "up" type: "Deconvolution" bottom: "pool" top: "up" convolution_param { num_output: 8 group: 8
  bias_term: false kernel_size: 4 stride: 2 pad: 1 weight_filler { type: "msra" } } }
layer { name: "sum" type: "Eltwise" bottom: "up" bottom: "scale" top: "sum" }
""" + convolution("score", "sum", 4, 1, ""))

PRELU = ('name: "prelu"\n' + entry(1, 3, 20, 20) + convolution("conv1", "data", 8) + """
layer { name: "prelu1" type: "PReLU" bottom: "conv1" top: "prelu1" }
""" + convolution("left", "prelu1", 4, 1, "") + convolution("right", "prelu1", 4) + """
layer { name: "both" type: "Concat" bottom: "left" bottom: "right" top: "both" }
layer { name: "prelu2" type: "PReLU" bottom: "both" top: "prelu2" prelu_param { channel_shared: true } }
layer { name: "pool" type: "Pooling" bottom: "prelu2" top: "pool" pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
""")


def head(name, bottom, channels):
    return convolution(name, bottom, channels) + f"""
layer {{ name: "{name}_perm" type: "Permute" bottom: "{name}" top: "{name}_perm"
  permute_param {{ order: 0 order: 2 order: 3 order: 1 }} }}
layer {{ name: "{name}_flat" type: "Flatten" bottom: "{name}_perm" top: "{name}_flat" flatten_param {{ axis: 1 }} }}
"""


SSD = ('name: "ssd"\n' + entry(1, 3, 32, 32) + convolution("conv", "data", 8, 3, "pad: 1 stride: 2") + """
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
""" + head("loc", "conv", 8) + head("conf", "conv", 6) + """
layer { name: "prior" type: "PriorBox" bottom: "conv" bottom: "data" top: "prior" prior_box_param { min_size: 8
  max_size: 14 flip: false clip: false variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2 } }
layer { name: "conf_rows" type: "Reshape" bottom: "conf_flat" top: "conf_rows"
  reshape_param { shape { dim: 0 dim: -1 dim: 3 } } }
layer { name: "conf_soft" type: "Softmax" bottom: "conf_rows" top: "conf_soft" softmax_param { axis: 2 } }
layer { name: "conf_out" type: "Flatten" bottom: "conf_soft" top: "conf_out" flatten_param { axis: 1 } }
layer { name: "found" type: "DetectionOutput" bottom: "loc_flat" bottom: "conf_out" bottom: "prior" top: "found"
  detection_output_param { num_classes: 3 share_location: true background_label_id: 0 code_type: CENTER_SIZE
  nms_param { nms_threshold: 0.45 top_k: 100 } keep_top_k: 50 confidence_threshold: 0.3 } }
""")

LSTM = """name: "lstm"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 5 dim: 2 dim: 6 } } }
layer { name: "cont" type: "Input" top: "cont" input_param { shape { dim: 5 dim: 2 } } }
layer { name: "lstm" type: "LSTM" bottom: "data" bottom: "cont" top: "lstm"
  recurrent_param { num_output: 8 weight_filler { type: "uniform" min: -0.3 max: 0.3 } } }
layer { name: "ip" type: "InnerProduct" bottom: "lstm" top: "ip"
  inner_product_param { num_output: 4 axis: 2 weight_filler { type: "xavier" } } }
"""


def gated(name, bottom, channels, squeezed):
    """Squeeze and excitation: gates of channels that are made of their means, by a hard sigmoid."""
    return f"""
layer {{ name: "{name}_mean" type: "Pooling" bottom: "{bottom}" top: "{name}_mean"
  pooling_param {{ pool: AVE global_pooling: true }} }}
""" + convolution(f"{name}_in", f"{name}_mean", squeezed, 1, "") + f"""
layer {{ name: "{name}_relu" type: "ReLU" bottom: "{name}_in" top: "{name}_in" }}
""" + convolution(f"{name}_out", f"{name}_in", channels, 1, "") + f"""
layer {{ name: "{name}_up" type: "Power" bottom: "{name}_out" top: "{name}_up" power_param {{ shift: 3 }} }}
layer {{ name: "{name}_clip" type: "Clip" bottom: "{name}_up" top: "{name}_clip" clip_param {{ min: 0 max: 6 }} }}
layer {{ name: "{name}_gate" type: "Power" bottom: "{name}_clip" top: "{name}_gate"
  power_param {{ scale: 0.16666667 }} }}
layer {{ name: "{name}_flat" type: "Flatten" bottom: "{name}_gate" top: "{name}_flat" }}
layer {{ name: "{name}" type: "Scale" bottom: "{bottom}" bottom: "{name}_flat" top: "{name}"
  scale_param {{ axis: 0 }} }}
"""


# As a MobileNet v3 and an EfficientNet are after `caffe import`.
GATED = ('name: "gated"\n' + entry(1, 3, 24, 24) + convolution("conv", "data", 8, 3, "pad: 1 stride: 2") + """
layer { name: "up" type: "Power" bottom: "conv" top: "up" power_param { shift: 3 } }
layer { name: "clip" type: "Clip" bottom: "up" top: "clip" clip_param { min: 0 max: 6 } }
layer { name: "part" type: "Power" bottom: "clip" top: "part" power_param { scale: 0.16666667 } }
layer { name: "hard" type: "Eltwise" bottom: "conv" bottom: "part" top: "hard" eltwise_param { operation: PROD } }
""" + gated("gates", "hard", 8, 4) + convolution("wide", "gates", 16) + """
layer { name: "swish" type: "Swish" bottom: "wide" top: "swish" }
layer { name: "mean" type: "Pooling" bottom: "swish" top: "mean"
  pooling_param { pool: AVE kernel_size: 3 stride: 1 pad: 1 } }
layer { name: "ip" type: "InnerProduct" bottom: "mean" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
""")

WRITTEN = {"deconvolution": DECONVOLUTION, "prelu": PRELU, "ssd": SSD, "gated": GATED, "lstm": LSTM}


def all_nets(root: pathlib.Path):
    """Texts of deploy nets by name, small ones first."""
    published = {path.parent.name: path.read_text() for path in sorted(root.glob("models/*/deploy.prototxt"))}
    large = ("vgg16", "bvlc_alexnet")
    return {**WRITTEN, **{name: text for name, text in published.items() if name not in large},
            **{name: published[name] for name in large if name in published}}
