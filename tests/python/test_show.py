"""caffe.show: tables and drawings of nets, here of what only looks like one."""

import types
from xml.etree import ElementTree

import numpy as np
import pytest

from caffe import show


def blob(*shape):
    return types.SimpleNamespace(data=np.zeros(shape, np.float32))


@pytest.fixture
def net():
    shared = blob(4, 3)
    return types.SimpleNamespace(
        _layer_names=["data", "left", "relu", "right", "sum & <more>", "loss"],
        layers=[types.SimpleNamespace(type=kind)
                for kind in ("Input", "InnerProduct", "ReLU", "InnerProduct", "Eltwise", "SoftmaxWithLoss")],
        blobs={"data": blob(2, 3), "left": blob(2, 4), "right": blob(2, 4), "sum": blob(2, 4), "loss": blob()},
        params={"left": [shared, blob(4)], "right": [shared]},
        bottom_names={"left": ["data"], "relu": ["left"], "right": ["data"], "sum & <more>": ["left", "right"],
                      "loss": ["sum", "absent"]},
        top_names={"data": ["data"], "left": ["left"], "relu": ["left"], "right": ["right"], "sum & <more>": ["sum"],
                   "loss": ["loss"]})


def test_summary(net):
    assert show.summary(net).splitlines() == [
        "layer         type             reads        gives        parameters",
        "-" * 69,
        "data          Input                         data 2x3",
        "left          InnerProduct     data         left 2x4     16 = 4x3 + 4",
        "relu          ReLU             left         left 2x4",
        "right         InnerProduct     data         right 2x4    shared: 4x3",
        "sum & <more>  Eltwise          left, right  sum 2x4",
        "loss          SoftmaxWithLoss  sum, absent  loss scalar",
        "6 layers, 16 parameters (0.1 KiB), blobs of 31 elements (0.1 KiB)"]


def test_sharing_is_what_the_net_says_of_it(net):
    """Where arrays are copies, as on GPUs, addresses tell nothing."""
    net.params["right"] = [blob(4, 3)]
    assert "right         InnerProduct     data         right 2x4    12 = 4x3" in show.summary(net).splitlines()
    net._own_params = [("left", 0), ("left", 1)]
    lines = show.summary(net).splitlines()
    assert "right         InnerProduct     data         right 2x4    shared: 4x3" in lines
    assert lines[-1].startswith("6 layers, 16 parameters")


def test_names_may_come_from_the_dictionary(net):
    names = net._layer_names
    del net._layer_names
    net.layer_dict = dict(zip(names, net.layers))
    assert [row.name for row in show.rows(net)] == names


def test_drawing(net):
    svg = ElementTree.fromstring(show.drawing(net))
    space = {"s": "http://www.w3.org/2000/svg"}
    boxes = {group.find("s:text", space).text: group.find("s:rect", space) for group in svg.findall("s:g", space)[1:]}
    assert list(boxes) == ["data", "left", "relu", "right", "sum & <more>", "loss"]
    height = {name: int(box.get("y")) for name, box in boxes.items()}
    assert height["data"] < height["left"] == height["right"] < height["relu"] < height["sum & <more>"] < height["loss"]
    assert boxes["left"].get("x") != boxes["right"].get("x") and boxes["relu"].get("fill") == "#90EE90"
    assert len(svg.findall(".//s:path", space)) == 6
    assert all(int(box.get("x")) + int(box.get("width")) < int(svg.get("width")) for box in boxes.values())


def test_page(net):
    page = show.to_html(net)
    assert "<td>sum &amp; &lt;more&gt;</td>" in page and "<more>" not in page and "16 parameters" in page
    ElementTree.fromstring(page)


def test_a_net_of_nothing():
    nothing = types.SimpleNamespace(_layer_names=[], layer_dict={}, layers=[], blobs={}, params={})
    assert show.summary(nothing).endswith("0 layers, 0 parameters (0.0 KiB), blobs of 0 elements (0.0 KiB)")
    ElementTree.fromstring(show.to_html(nothing))


def test_a_long_name_is_cut_in_the_drawing_alone(net):
    net._layer_names[0] = "a" * 50
    assert "a" * 19 + "\u2026" in show.drawing(net) and "a" * 50 in show.summary(net)
