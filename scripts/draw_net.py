#!/usr/bin/env python3
"""Draws a net, in the colours of Caffe's script of this name.

  scripts/draw_net.py NET.prototxt PICTURE [--rankdir LR] [--phase ALL]

PICTURE.dot is Graphviz' own form and needs nothing else; every other ending (png, svg, pdf) is drawn by `dot`, which
Debian has in the package graphviz.
"""

import argparse
import re
import shutil
import subprocess
import sys

from robusta_files.text_proto import first, parse

LAYER, NEURON, BLOB = "#6495ED", "#90EE90", "#E0E0E0"
NEURONS = {"ReLU", "PReLU", "ELU", "Sigmoid", "TanH", "AbsVal", "BNLL", "Power", "Exp", "Log", "Swish", "Clip", "ReLU6",
           "RELU", "SIGMOID", "TANH", "ABSVAL", "POWER", "EXP"}
NO_DOT = 9  # as docs/errors.md has it: not to be had here


def is_in(layer, phase):
    """Whether a layer is in the net of a phase, as far as include and exclude name phases alone."""
    if phase == "ALL":
        return True
    if first(layer, "phase", phase) not in (phase, {"TRAIN": "0", "TEST": "1"}[phase]):
        return False
    phases = [first(rule, "phase") for rule in layer.get("include", [])]
    if phases and not any(named in (None, phase) for named in phases):
        return False
    return not any(first(rule, "phase") == phase for rule in layer.get("exclude", []))


def window(layer):
    """What a label says of kernels: "kernel size: 5 stride: 2 pad: 0"."""
    param = first(layer, "convolution_param") or first(layer, "pooling_param")
    if not isinstance(param, dict):
        return ""
    kernel = first(param, "kernel_size") or f"{first(param, 'kernel_h', 1)}x{first(param, 'kernel_w', 1)}"
    return f"\\nkernel size: {kernel} stride: {first(param, 'stride', 1)} pad: {first(param, 'pad', 0)}"


def outputs(layer):
    """What stands at an edge behind a layer."""
    for name in ("convolution_param", "inner_product_param"):
        param = first(layer, name)
        if isinstance(param, dict) and first(param, "num_output"):
            return first(param, "num_output")
    return ""


def quoted(text):
    """A word of Graphviz; what is an escape there stays one, and what divides records divides none."""
    plain = "".join(c for c in str(text).replace('"', "'") if c.isprintable())
    return '"' + re.sub(r"[{}|<>]", r"\\\g<0>", plain) + '"'


def dot_of(net, rankdir, phase):
    """The net in Graphviz' language."""
    layers = [layer for layer in net.get("layer", net.get("layers", [])) if isinstance(layer, dict)]
    lines = [f"digraph {quoted(first(net, 'name', 'Net'))} {{", f"  rankdir={rankdir};"]
    blobs, edges = [str(blob) for blob in net.get("input", [])], []
    for number, layer in enumerate(layer for layer in layers if is_in(layer, phase)):
        name, kind = str(first(layer, "name", "")).replace("\\", "/"), str(first(layer, "type", "?"))
        colour = NEURON if kind in NEURONS else LAYER
        node = f"layer_{number}"
        label = f"{name}\\n({kind}){window(layer)}"
        lines.append(f"  {node} [label={quoted(label)}, shape=record, style=filled, fillcolor=\"{colour}\"];")
        bottoms, tops = layer.get("bottom", []), layer.get("top", [])
        for blob in (*bottoms, *tops):
            if blob not in blobs:
                blobs.append(blob)
        edges += [(f"blob_{blobs.index(bottom)}", node, "") for bottom in bottoms]
        edges += [(node, f"blob_{blobs.index(top)}", outputs(layer)) for top in tops if top not in bottoms]
        edges += [(node, f"blob_{blobs.index(top)}", "in place") for top in tops if top in bottoms]
    for number, blob in enumerate(blobs):
        label = str(blob).replace("\\", "/")
        lines.append(f"  blob_{number} [label={quoted(label)}, shape=octagon, style=filled, fillcolor=\"{BLOB}\"];")
    for begin, end, words in edges:
        lines.append(f"  {begin} -> {end}" + (f" [label={quoted(words)}];" if words else ";"))
    return "\n".join([*lines, "}"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Draws a net.")
    parser.add_argument("input_net_proto_file", metavar="NET.prototxt")
    parser.add_argument("output_image_file", metavar="PICTURE")
    parser.add_argument("--rankdir", default="LR", choices=("TB", "LR", "BT", "RL"), help="direction of the drawing [LR]")
    parser.add_argument("--phase", default="ALL", choices=("TRAIN", "TEST", "ALL"), help="phase to draw [ALL]")
    args = parser.parse_args()
    picture = args.output_image_file
    try:
        with open(args.input_net_proto_file, encoding="utf-8", errors="replace") as file:
            text = dot_of(parse(file.read()), args.rankdir, args.phase)
    except (OSError, ValueError) as error:
        sys.exit(f"draw_net.py: {args.input_net_proto_file}: {error}")
    ending = picture.rpartition(".")[2]
    if ending in ("dot", "gv"):
        with open(picture, "w", encoding="utf-8") as out:
            out.write(text)
        return
    if not shutil.which("dot"):
        print("draw_net.py: the program dot is not installed (package graphviz); a picture that ends in .dot needs none",
              file=sys.stderr)
        sys.exit(NO_DOT)
    if not ending.isalnum() or ending == picture:
        sys.exit(f"draw_net.py: {picture} has no ending that names a kind of picture, such as .png")
    done = subprocess.run(["dot", f"-T{ending}", "-o", picture], input=text, encoding="utf-8", check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
