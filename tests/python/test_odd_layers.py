"""Layers of type Python that do what is rare or wrong (odd_layers.py): numbers are BVLC's, mistakes are exceptions."""

import pathlib
import threading

import numpy as np
import pytest

INPUT = 'layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 2 } } }\n'
DOUBLE = 'layer { name: "double" type: "Power" bottom: "%s" top: "%s" power_param { scale: 2 } }\n'


def layer(kind, bottom="x", top="y", words="", more=""):
    bottoms = f'bottom: "{bottom}"' if bottom else ""
    return (f'layer {{ name: "own" type: "Python" {bottoms} top: "{top}" {more} '
            f'python_param {{ module: "odd_layers" layer: "{kind}" param_str: "{words}" }} }}\n')


@pytest.fixture
def made(running_caffe):
    """Makes a net of this text, in TRAIN."""
    def make(text, phase=running_caffe.TRAIN):
        pathlib.Path("net.prototxt").write_text("force_backward: true\n" + text)
        return running_caffe.Net("net.prototxt", phase)
    return make


@pytest.mark.parametrize("written", ["bottom", "top"])
def test_in_place(made, written):
    net = made(INPUT + DOUBLE % ("x", "y") + layer("OneMore", "y", "y", written) +
               'layer { name: "next" type: "Power" bottom: "y" top: "z" }')
    for _ in range(3):
        net.forward(x=np.ones((2, 2)))
        assert (net.blobs["z"].data == 3).all()
    net.blobs["z"].diff[...] = 5
    net.backward()
    assert (net.blobs["x"].diff == 10).all()


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_parameters_that_the_layer_changes(made, where):
    """Running means, centres of classes: what the layer writes is the net's, and what scripts write is the layer's."""
    net = made(INPUT + layer("Counts", words=where))
    for passes in range(3):
        assert net.forward(x=np.ones((2, 2)))["y"][0, 0] == 4 + passes
        net.backward()
    assert net.params["own"][0].data == 7 and net.layers[1].blobs[0].data == 7
    net.save("counted.caffemodel")
    net.params["own"][0].data[...] = 20
    assert net.layers[1].blobs[0].data == 20
    net.layer_dict["own"].blobs[0].data[...] = 50
    assert net.forward(x=np.ones((2, 2)))["y"][0, 0] == 50
    net.copy_from("counted.caffemodel")
    assert net.layers[1].blobs[0].data == 7
    own = net.layers[1]
    net.close()
    assert own.blobs[0].data.shape == (1,)


def test_a_gradient_that_forward_writes(made):
    net = made(INPUT + DOUBLE % ("x", "d") + layer("SlopeInForward", "d", "loss", more="loss_weight: 1"))
    for _ in range(2):
        net.forward(x=np.ones((2, 2)))
        net.backward()
        assert (net.blobs["x"].diff == 4).all()


def test_a_source_that_fails_after_it_has_reshaped(made, running_caffe, monkeypatch):
    import odd_layers
    net = made(layer("Source", "", "x") + DOUBLE % ("x", "y"))
    net.forward()
    monkeypatch.setattr(odd_layers.Source, "fails", True)
    with pytest.raises(running_caffe.Error, match="caf.udce9.jpg") as raised:
        net.forward()
    assert isinstance(raised.value.__cause__, OSError) and raised.value.layer == "own"
    monkeypatch.undo()
    assert net.forward()["y"].tolist() == [6, 6, 6]


def test_a_source_that_is_told_another_size_from_outside(made, running_caffe):
    net = made(layer("Source", "", "x") + DOUBLE % ("x", "y"))
    net.forward()
    source = net.layers[0]
    source.kept[0].reshape(100_000)
    assert net.forward()["y"].tolist() == [6, 6, 6]
    source.size = 100_000
    assert net.forward()["y"].shape == (100_000,)


def test_a_layer_with_parameters_gives_no_new_shapes(made, running_caffe, monkeypatch):
    import odd_layers
    net = made(INPUT + layer("Grows"))
    net.forward()
    monkeypatch.setattr(odd_layers.Grows, "size", 1_000_000)
    for _ in range(3):
        with pytest.raises(running_caffe.Error, match="shape"):
            net.forward()
    monkeypatch.undo()
    assert net.forward()["y"].tolist() == [1, 1, 1, 1]


def test_looks_at_its_net(made, running_caffe):
    """While a net is planned its shapes and its memory belong to different plans."""
    import odd_layers
    text = ('layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 dim: 20 dim: 20 } } }\n'
            'layer { name: "c" type: "Convolution" bottom: "x" top: "c" convolution_param { num_output: 8 kernel_size: 3 } }'
            + layer("Peeks", "c", "y") +
            'layer { name: "d" type: "Convolution" bottom: "y" top: "z" convolution_param { num_output: 9 kernel_size: 3 } }')
    odd_layers.Peeks.net, odd_layers.Peeks.seen = None, []
    net = made(text)
    odd_layers.Peeks.net = net
    for size in (40, 10, 300, 30):
        net.blobs["x"].reshape(2, 3, size, size)
        net.blobs["x"].data[...] = 1
        net.forward()
        net.backward()
    odd_layers.Peeks.net = None
    said = {seen for seen in odd_layers.Peeks.seen if isinstance(seen, str)}
    assert said and all("is being planned" in words for words in said)
    assert any(isinstance(seen, list) for seen in odd_layers.Peeks.seen)


def test_every_thread_gets_its_own_exception(made, running_caffe):
    made(INPUT + layer("Raises"))
    causes, lost = [], []

    def run():
        net = running_caffe.Net("net.prototxt", running_caffe.TRAIN)
        for _ in range(100):
            try:
                net.forward()
            except running_caffe.Error as error:
                frames = error.__cause__.__traceback__ if error.__cause__ else None
                (causes if frames else lost).append(id(error.__cause__))
                kept.append(error.__cause__)

    kept = []
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not lost and len(set(causes)) == 400


def test_ctrl_c_in_a_layer_ends_a_solve_with_a_snapshot(made, running_caffe):
    import odd_layers
    made(layer("Source", "", "x") + 'layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" '
         'inner_product_param { num_output: 1 axis: 0 } }' + layer("Interrupted", "ip", "loss", more="loss_weight: 1")
         .replace('"own"', '"loss"'))
    pathlib.Path("solver.prototxt").write_text(
        'train_net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed" max_iter: 10 snapshot_prefix: "s"\n')
    odd_layers.Interrupted.passes = 0
    solver = running_caffe.get_solver("solver.prototxt")
    with pytest.raises(KeyboardInterrupt):
        solver.solve()
    assert solver.iter == 2 and pathlib.Path("s_iter_2.solverstate").exists()


def test_parts_of_a_pass_keep_the_layers_objects(made):
    """They want the net to be made anew, without fused layers."""
    net = made('layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }\n'
               'layer { name: "c" type: "Convolution" bottom: "x" top: "c" convolution_param { num_output: 8 kernel_size: 3 } }\n'
               'layer { name: "r" type: "ReLU" bottom: "c" top: "c" }\n' + layer("Remembers", "c", "y"))
    net.layer_dict["own"].value = 5
    net.forward()
    net.forward(end="c")
    net.forward(start="own")
    assert (net.blobs["y"].data == 5).all()
    net.layer_dict["own"].value = 6
    assert (net.forward()["y"] == 6).all()
