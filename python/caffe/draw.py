"""Drawings of nets: draw_net_to_file(net, "net.png") by Graphviz' program `dot`, "net.svg", or "net.dot" without it.

A net is a NetParameter, as caffe.proto.caffe_pb2 has it. pydot is not needed.
"""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Sequence
from typing import Any

from . import _drawing
from ._drawing import NoGraphviz
from .proto import caffe_pb2

__all__ = ["Graph", "NoGraphviz", "choose_color_by_layertype", "draw_net", "draw_net_to_file", "get_edge_label",
           "get_layer_label", "get_layer_lr_mult", "get_pooling_types_dict", "get_pydot_graph"]

# Kinds of pictures that pydot has methods for, and Graphviz makes today.
KINDS = ("bmp", "canon", "cmap", "cmapx", "cmapx_np", "dia", "dot", "fig", "gd", "gd2", "gif", "hpgl", "imap",
         "imap_np", "ismap", "jpe", "jpeg", "jpg", "mif", "mp", "pcl", "pdf", "pic", "plain", "png", "ps", "ps2",
         "raw", "svg", "svgz", "tif", "tiff", "vml", "vmlz", "vrml", "vtx", "wbmp", "webp", "xdot")
# Not to be drawn, and large.
_LEFT_OUT = ("blobs",)


def _word(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return _words(value)
    if field.enum_type is not None:
        found = field.enum_type.values_by_number.get(value)
        return found.name if found else str(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _words(message: Any) -> dict[str, list[Any]]:
    """A message as a dict of lists of words."""
    return {field.name: [_word(field, one) for one in (value if hasattr(value, "extend") else [value])]
            for field, value in message.ListFields() if field.name not in _LEFT_OUT}


class Graph:
    """A drawing: `to_string()` is its text in Graphviz' language; the rest has the names that pydot gives it.

    For every kind of KINDS there are create_KIND(prog="dot") and write_KIND(path, prog="dot"). prog: the program of
    Graphviz's that lays the drawing out, or a list of it and its options.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def to_string(self) -> str:
        return self._text

    __str__ = to_string

    # pylint: disable-next=redefined-builtin
    def create(self, prog: str | Sequence[str] = "dot", format: str = "png") -> bytes:
        """The picture's bytes. Raises NoGraphviz without the program, ValueError for a kind it does not make."""
        return _drawing.rendered(self._text, format, prog)

    # pylint: disable-next=redefined-builtin
    def write(self, path: str, prog: str | Sequence[str] = "dot", format: str = "raw") -> bool:
        """Writes the picture."""
        pathlib.Path(path).write_bytes(self.create(prog, format))
        return True

    def _repr_svg_(self) -> str | None:
        """What a notebook shows, where there is Graphviz."""
        try:
            return self.create(format="svg").decode()
        except NoGraphviz:
            return None


for _kind in KINDS:
    setattr(Graph, f"create_{_kind}", functools.partialmethod(Graph.create, format=_kind))
    setattr(Graph, f"write_{_kind}", functools.partialmethod(Graph.write, format=_kind))


def get_pooling_types_dict() -> dict[int, str]:
    """Numbers of the ways of pooling -> their words."""
    return {number: word for word, number in caffe_pb2.PoolingParameter.PoolMethod.items()}


def get_edge_label(layer: Any) -> str:
    """What stands at the edge behind a LayerParameter: outputs, or the size of batches; '""' where nothing does."""
    return _drawing.outputs(_words(layer)) or '""'


def get_layer_lr_mult(layer: Any) -> str:
    """Factors of the learning rate of a layer's parameters, as text."""
    return _drawing.rates(_words(layer))


def get_layer_label(layer: Any, rankdir: str, display_lrm: bool = False) -> str:
    """What stands in a layer's box; in one line where layers lie above each other (TB, BT)."""
    return _drawing.label_of(_words(layer), " " if rankdir in ("TB", "BT") else "\\n", display_lrm)


def choose_color_by_layertype(layertype: str) -> str:
    """The colour of a type's boxes, "#RRGGBB"."""
    return _drawing.COLOURS.get(layertype, _drawing.LAYER)


def _phase_word(phase: int | str | None) -> str:
    if phase is None:
        return "ALL"
    return phase if isinstance(phase, str) else caffe_pb2.Phase.Name(phase)


def get_pydot_graph(caffe_net: Any, rankdir: str, label_edges: bool = True, phase: int | None = None,
                    display_lrm: bool = False) -> Graph:
    """The drawing of a NetParameter.

    rankdir: where its layers go, "LR", "TB", "BT" or "RL". phase: caffe.TRAIN or caffe.TEST leaves out what the other
    alone has. display_lrm: factors of the learning rate stand in the boxes. Raises ValueError for another rankdir.
    """
    return Graph(_drawing.dot_of(_words(caffe_net), rankdir, _phase_word(phase), label_edges, display_lrm))


def draw_net(caffe_net: Any, rankdir: str, ext: str = "png", phase: int | None = None,
             display_lrm: bool = False) -> bytes:
    """The bytes of a picture of kind `ext`; raises NoGraphviz without the program `dot`, unless ext is "dot"."""
    return get_pydot_graph(caffe_net, rankdir, phase=phase, display_lrm=display_lrm).create(format=ext)


def draw_net_to_file(caffe_net: Any, filename: str, rankdir: str = "LR", phase: int | None = None,
                     display_lrm: bool = False) -> None:
    """Writes a picture of the kind that the file's ending names."""
    picture = draw_net(caffe_net, rankdir, _drawing.kind_of(filename), phase, display_lrm)
    pathlib.Path(filename).write_bytes(picture)
