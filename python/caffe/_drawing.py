"""Drawings of nets in Graphviz' language, in the colours of Caffe's draw_net.py.

A message is a dict of lists, whose values are dicts and words: what scripts/robusta_files/text_proto.py reads, and what
caffe.draw makes of protobuf's messages. Nothing is imported but Python's own library, because scripts/draw_net.py loads
this file by itself.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

Message = dict[str, list[Any]]
Edge = tuple[str, str, str]

LAYER, NEURON, BLOB = "#6495ED", "#90EE90", "#E0E0E0"
COLOURS = {"Convolution": "#FF5050", "Deconvolution": "#FF5050", "CONVOLUTION": "#FF5050", "DECONVOLUTION": "#FF5050",
           "Pooling": "#FF9900", "POOLING": "#FF9900", "InnerProduct": "#CC33FF", "INNER_PRODUCT": "#CC33FF"}
NEURONS = {"ReLU", "PReLU", "ELU", "Sigmoid", "TanH", "AbsVal", "BNLL", "Power", "Exp", "Log", "Swish", "Clip", "ReLU6",
           "RELU", "SIGMOID", "TANH", "ABSVAL", "POWER", "EXP"}
# Layers whose parameters have factors of the learning rate, and how many parameters these are.
LEARNERS = {"Convolution": 2, "Deconvolution": 2, "InnerProduct": 2}
DIRECTIONS = ("TB", "LR", "BT", "RL")


class NoGraphviz(RuntimeError):
    """The program `dot` is not installed."""


def first(message: Message, name: str, default: Any = None) -> Any:
    """The last value of a single field, as protobuf reads a field that is given twice."""
    return message[name][-1] if message.get(name) else default


def words_of(message: Message, name: str) -> list[str]:
    """The values of a repeated field as words, whatever stands there."""
    return [str(value) for value in message.get(name, [])]


def messages_of(message: Message, name: str) -> list[Message]:
    """The values of a repeated field that are messages."""
    return [value for value in message.get(name, []) if isinstance(value, dict)]


def is_in(layer: Message, phase: str) -> bool:
    """Whether a layer is in the net of a phase ("TRAIN", "TEST" or "ALL"), as far as rules name phases alone."""
    if phase == "ALL":
        return True
    if first(layer, "phase", phase) not in (phase, {"TRAIN": "0", "TEST": "1"}[phase]):
        return False
    phases = [first(rule, "phase") for rule in messages_of(layer, "include")]
    if phases and not any(named in (None, phase) for named in phases):
        return False
    return not any(first(rule, "phase") == phase for rule in messages_of(layer, "exclude"))


def size_of(param: Message, name: str, short: str, default: str) -> str:
    """A size of a window: "3", or "3x5" where axes differ, of fields kernel_size or kernel_h and kernel_w."""
    sizes = words_of(param, name) or [str(first(param, f"{short}_{axis}", default)) for axis in "hw"]
    return "x".join(sizes) if len(set(sizes)) > 1 else sizes[0]


def window(layer: Message) -> list[str]:
    """What a label says of kernels: ["kernel size: 5", "stride: 2", "pad: 0"]."""
    param = first(layer, "convolution_param") or first(layer, "pooling_param")
    if not isinstance(param, dict):
        return []
    if first(param, "global_pooling") == "true":
        return ["global"]
    return [f"kernel size: {size_of(param, 'kernel_size', 'kernel', '1')}",
            f"stride: {size_of(param, 'stride', 'stride', '1')}", f"pad: {size_of(param, 'pad', 'pad', '0')}"]


def rates(layer: Message) -> str:
    """Factors of the learning rate: "1.0, 2.0", or "" for a layer that learns nothing of this kind."""
    count = LEARNERS.get(str(first(layer, "type")), 0)
    given = [str(first(param, "lr_mult", "1.0")) for param in messages_of(layer, "param")]
    return ", ".join((given + ["1.0"] * count)[:max(count, len(given))])


def label_of(layer: Message, separator: str = "\\n", with_rates: bool = False) -> str:
    """What stands in a layer's box."""
    kind, pooling = first(layer, "type", "?"), first(layer, "pooling_param")
    if isinstance(pooling, dict):
        kind = f"{kind} {first(pooling, 'pool', 'MAX')}"
    name = str(first(layer, "name", "")).replace("\\", "/")
    parts = [name, f"({kind})", *window(layer)]
    if with_rates and rates(layer):
        parts.append(f"lr mult: {rates(layer)}")
    return separator.join(parts)


def outputs(layer: Message) -> str:
    """What stands at an edge behind a layer: its number of outputs, or the size of its batches."""
    for name in ("convolution_param", "inner_product_param"):
        param = first(layer, name)
        if isinstance(param, dict) and first(param, "num_output"):
            return str(first(param, "num_output"))
    for name, param in layer.items():
        if name.endswith("data_param") and isinstance(param[-1], dict) and first(param[-1], "batch_size"):
            return f"Batch {first(param[-1], 'batch_size')}"
    return ""


def colour_of(kind: str, in_place: bool = False) -> str:
    """The colour of a layer of a type."""
    return NEURON if in_place or kind in NEURONS else COLOURS.get(kind, LAYER)


def quoted(text: str) -> str:
    """A word of Graphviz; what is an escape there stays one, and what divides records divides none."""
    plain = "".join(c for c in str(text).replace('"', "'") if c.isprintable())
    return '"' + re.sub(r"[{}|<>]", r"\\\g<0>", plain) + '"'


def node(name: str, label: str, shape: str, colour: str) -> str:
    """A line that draws a box."""
    return f'  {name} [label={quoted(label)}, shape={shape}, style=filled, fillcolor="{colour}"];'


def edges_of(name: str, layer: Message, blobs: dict[str, str], labelled: bool) -> list[Edge]:
    """(begin, end, label) of every line from and to a layer; `blobs` gets those that are new."""
    bottoms, tops = words_of(layer, "bottom"), words_of(layer, "top")
    for blob in (*bottoms, *tops):
        blobs.setdefault(blob, f"blob_{len(blobs)}")
    words = outputs(layer) if labelled else ""
    return ([(blobs[bottom], name, "") for bottom in bottoms] +
            [(name, blobs[top], words) for top in tops if top not in bottoms] +
            [(name, blobs[top], "in place") for top in tops if top in bottoms])


def dot_of(net: Message, rankdir: str = "LR", phase: str = "ALL", label_edges: bool = True,
           with_rates: bool = False) -> str:
    """The net in Graphviz' language. Raises ValueError for a direction that is none."""
    if rankdir not in DIRECTIONS:
        raise ValueError(f"the direction {rankdir!r} is none of {', '.join(DIRECTIONS)}")
    layers = [layer for layer in net.get("layer") or net.get("layers") or [] if isinstance(layer, dict)]
    lines = [f"digraph {quoted(first(net, 'name', 'Net'))} {{", f"  rankdir={rankdir};"]
    blobs: dict[str, str] = {}
    edges: list[Edge] = []
    for blob in words_of(net, "input"):
        blobs.setdefault(blob, f"blob_{len(blobs)}")
    separator = " " if rankdir in ("TB", "BT") else "\\n"  # boxes that lie above each other may be wide
    for number, layer in enumerate(layer for layer in layers if is_in(layer, phase)):
        in_place = len(layer.get("top", [])) == 1 and layer.get("bottom") == layer["top"]
        colour = colour_of(str(first(layer, "type", "?")), in_place)
        lines.append(node(f"layer_{number}", label_of(layer, separator, with_rates), "record", colour))
        edges += edges_of(f"layer_{number}", layer, blobs, label_edges)
    lines += [node(name, blob.replace("\\", "/"), "octagon", BLOB) for blob, name in blobs.items()]
    lines += [f"  {begin} -> {end}" + (f" [label={quoted(words)}];" if words else ";") for begin, end, words in edges]
    return "\n".join([*lines, "}"]) + "\n"


def rendered(text: str, kind: str, program: str | Sequence[str] = "dot") -> bytes:
    """A drawing as a picture: the bytes of a png, svg, pdf or what else `dot` makes; "dot" is the text itself.

    program: that of Graphviz's which lays it out, with its options where it is a list. Raises NoGraphviz where it is
    missing, ValueError where it refuses.
    """
    words = [program] if isinstance(program, str) else list(program)
    if kind == "raw" or (kind in ("dot", "gv") and words == ["dot"]):
        return text.encode()
    if not kind.isalnum():
        raise ValueError(f"{kind!r} names no kind of picture; give png, svg, pdf or dot")
    found = shutil.which(words[0])
    if not found:
        raise NoGraphviz(f"the program {words[0]} is not installed (package graphviz); a picture that ends in .dot "
                         "needs none")
    done = subprocess.run([found, *words[1:], f"-T{kind}"], input=text.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise ValueError(f"{words[0]} makes no {kind}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def kind_of(path: str | os.PathLike[str]) -> str:
    """The kind of picture that a file's ending names. Raises ValueError where it has none."""
    stem, point, ending = str(path).rpartition(".")
    if not stem or not point or not ending.isalnum():
        raise ValueError(f"{path} has no ending that names a kind of picture, such as .png")
    return ending
