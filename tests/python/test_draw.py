"""caffe.draw: labels and colours are those of the real one, and no net breaks it."""

import os
import shutil

import pytest
from google.protobuf import text_format

import caffe
from caffe import draw
from caffe.proto import caffe_pb2

# What caffe.draw of BVLC's pycaffe 1.0 writes into boxes and at edges, asked with pydot 3.0.4.
NET = """name: "toy"
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN } data_param { batch_size: 64 } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "c" param { lr_mult: 1 } param { lr_mult: 2 }
  convolution_param { num_output: 7 kernel_size: 3 stride: 2 } }
layer { name: "p" type: "Pooling" bottom: "c" top: "p" pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "p" top: "ip" param { lr_mult: 1 }
  inner_product_param { num_output: 10 } }
layer { name: "drop" type: "Dropout" bottom: "ip" top: "ip" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
LABELS = [r"data\n(Data)", r"conv1\n(Convolution)\nkernel size: 3\nstride: 2\npad: 0",
          r"p\n(Pooling AVE)\nkernel size: 2\nstride: 2\npad: 0", r"ip\n(InnerProduct)", r"drop\n(Dropout)",
          r"loss\n(SoftmaxWithLoss)"]
LABELS_WITH_RATES = ["data (Data)", "conv1 (Convolution) kernel size: 3 stride: 2 pad: 0 lr mult: 1.0, 2.0",
                     "p (Pooling AVE) kernel size: 2 stride: 2 pad: 0", "ip (InnerProduct) lr mult: 1.0, 1.0",
                     "drop (Dropout)", "loss (SoftmaxWithLoss)"]
EDGES = ["Batch 64", "7", '""', "10", '""', '""']
COLOURS = ["#6495ED", "#FF5050", "#FF9900", "#CC33FF", "#6495ED", "#6495ED"]


@pytest.fixture
def net():
    return text_format.Parse(NET, caffe_pb2.NetParameter())


def test_labels_are_the_real_ones(net):
    assert [draw.get_layer_label(layer, "LR") for layer in net.layer] == LABELS
    assert [draw.get_layer_label(layer, "TB", display_lrm=True) for layer in net.layer] == LABELS_WITH_RATES
    assert [draw.get_edge_label(layer) for layer in net.layer] == EDGES
    assert [draw.choose_color_by_layertype(layer.type) for layer in net.layer] == COLOURS
    assert draw._drawing.colour_of("ReLU") == "#90EE90"
    assert draw.get_layer_lr_mult(net.layer[1]) == "1.0, 2.0"
    assert list(draw.get_pooling_types_dict().items())[:3] == [(0, "MAX"), (1, "AVE"), (2, "STOCHASTIC")]


def test_graph(net):
    text = draw.get_pydot_graph(net, "LR").to_string()
    assert text.startswith('digraph "toy" {\n  rankdir=LR;')
    assert 'layer_0 -> blob_1 [label="Batch 64"];' in text and 'blob_0 -> layer_1;' in text
    assert 'layer_4 -> blob_4 [label="in place"];' in text and text.count("#90EE90") == 1
    assert "Batch" not in draw.get_pydot_graph(net, "LR", label_edges=False).to_string()


def test_phases(net):
    assert "(Data)" in draw.draw_net(net, "LR", "dot", phase=caffe.TRAIN).decode()
    assert "(Data)" not in draw.draw_net(net, "LR", "dot", phase=caffe.TEST).decode()
    assert "(Data)" in draw.draw_net(net, "LR", "dot").decode()


def test_sizes_that_differ_by_axis():
    layer = caffe_pb2.LayerParameter(name="c", type="Convolution", convolution_param=dict(kernel_h=3, kernel_w=5))
    assert "kernel size: 3x5" in draw.get_layer_label(layer, "TB")
    layer = caffe_pb2.LayerParameter(name="p", type="Pooling", pooling_param=dict(global_pooling=True))
    assert draw.get_layer_label(layer, "TB") == "p (Pooling MAX) global"


def test_old_nets_and_strange_ones():
    old = caffe_pb2.NetParameter(input=["data"])
    old.layers.add(name='a"{|}\n\\', type=caffe_pb2.V1LayerParameter.CONVOLUTION, bottom=["data"], top=["c"])
    text = draw.draw_net(old, "LR", "dot").decode()
    assert "(CONVOLUTION)" in text and "a'\\{\\|\\}/" in text and "#FF5050" in text
    assert draw.draw_net(caffe_pb2.NetParameter(), "LR", "dot") == b'digraph "Net" {\n  rankdir=LR;\n}\n'
    strange = {"layer": [{"type": [{}], "bottom": [{}], "top": ["x"], "param": ["y"], "include": ["z"],
                          "convolution_param": [{"kernel_size": [{}], "stride": [{}, "2"]}]}, "word"]}
    assert "layer_0" in draw._drawing.dot_of(strange, phase="TEST", with_rates=True)


def test_weights_are_left_alone(net):
    net.layer[1].blobs.add().data.extend([1.5] * 100)
    assert "1.5" not in str(draw._words(net))


def test_files(net, tmp_path, monkeypatch):
    draw.draw_net_to_file(net, str(tmp_path / "net.dot"), "TB")
    assert "rankdir=TB" in (tmp_path / "net.dot").read_text()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(draw.NoGraphviz, match="package graphviz"):
        draw.draw_net_to_file(net, str(tmp_path / "net.png"))
    assert not (tmp_path / "net.png").exists()
    for name, words in (("net", "no ending"), ("net.", "no ending"), ("net.p g", "no ending")):
        with pytest.raises(ValueError, match=words):
            draw.draw_net_to_file(net, str(tmp_path / name))
    with pytest.raises(ValueError, match="'XY' is none of TB, LR"):
        draw.draw_net(net, "XY")


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Programs dot and neato that say what they were called with."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("dot", "neato"):
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def test_kinds_of_pictures_by_the_names_of_pydot(net, tmp_path, programs):
    graph = draw.get_pydot_graph(net, "LR")
    for kind in ("png", "svg", "pdf", "jpg", "jpeg", "gif", "ps", "plain"):
        assert getattr(graph, f"create_{kind}")() == f"dot -T{kind}\n".encode()
        assert getattr(graph, f"write_{kind}")(str(tmp_path / "picture")) is True
        assert (tmp_path / "picture").read_text() == f"dot -T{kind}\n"
    assert graph.write_raw(str(tmp_path / "picture")) and (tmp_path / "picture").read_text() == graph.to_string()
    assert graph.create_dot() == graph.to_string().encode()
    for name in ("write_", "create_p g", "wrote_png", "_create_png"):
        assert not hasattr(graph, name)


def test_the_program_is_the_one_asked_for(net, tmp_path, programs):
    graph = draw.get_pydot_graph(net, "LR")
    assert graph.create("neato", "png") == graph.create_png(prog="neato") == b"neato -Tpng\n"
    assert graph.create(["neato", "-Goverlap=scale"], "png") == b"neato -Goverlap=scale -Tpng\n"
    assert graph.create(prog=str(programs / "neato"), format="dot") == b"neato -Tdot\n"
    graph.write(str(tmp_path / "picture"), prog="neato", format="pdf")
    assert (tmp_path / "picture").read_text() == "neato -Tpdf\n"
    with pytest.raises(draw.NoGraphviz, match="the program twopi is not installed"):
        graph.create("twopi", "png")


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_pictures(net, tmp_path):
    graph = draw.get_pydot_graph(net, "LR")
    assert graph.create_png().startswith(b"\x89PNG") and "<svg" in graph._repr_svg_()
    graph.write_svg(str(tmp_path / "net.svg"))
    assert "<svg" in (tmp_path / "net.svg").read_text()
    with pytest.raises(ValueError, match="dot makes no xyz"):
        graph.create(format="xyz")
