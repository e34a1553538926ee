"""Layers of type Python in nets of scripts and of the program `caffe`, whose interpreter is that of the environment."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

LAYERS = '''
import json
import numpy as np
import caffe


class Sums(caffe.Layer):
    """Numbers and their sums."""
    def setup(self, bottom, top):
        self.random = np.random.RandomState(json.loads(self.param_str).get("seed", 0))

    def reshape(self, bottom, top):
        top[0].reshape(16, 4)
        top[1].reshape(16, 1)

    def forward(self, bottom, top):
        top[0].data[...] = self.random.randn(16, 4)
        top[1].data[...] = top[0].data.sum(1, keepdims=True)
        print("sums of", self.name)

    def backward(self, top, propagate_down, bottom):
        pass


class Times(caffe.Layer):
    def setup(self, bottom, top):
        self.blobs.add_blob(1)
        self.blobs[0].data[...] = 0.5

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].data.shape)

    def forward(self, bottom, top):
        top[0].data[...] = bottom[0].data * self.blobs[0].data

    def backward(self, top, propagate_down, bottom):
        if propagate_down[0]:
            bottom[0].diff[...] = top[0].diff * self.blobs[0].data
        self.blobs[0].diff[...] += (top[0].diff * bottom[0].data).sum()


class Distance(caffe.Layer):
    def reshape(self, bottom, top):
        top[0].reshape(1)

    def forward(self, bottom, top):
        self.difference = bottom[0].data - bottom[1].data
        top[0].data[...] = (self.difference ** 2).sum() / bottom[0].num / 2

    def backward(self, top, propagate_down, bottom):
        for i, sign in enumerate((1, -1)):
            if propagate_down[i]:
                bottom[i].diff[...] = sign * self.difference / bottom[i].num


class Fails(Distance):
    def forward(self, bottom, top):
        raise ValueError("no such luck")


class Interrupts(Distance):
    def forward(self, bottom, top):
        raise KeyboardInterrupt


class WithoutShape(caffe.Layer):
    def forward(self, bottom, top):
        pass


class TakesItsTime(Distance):
    """Uses the net's blobs in a pass, and memory of a pass before."""
    def setup(self, bottom, top):
        self.seen = []

    def forward(self, bottom, top):
        self.seen.append(bottom[0].data)
        super().forward(bottom, top)
'''
NET = """name: "sums"
layer {{ name: "data" type: "Python" top: "x" top: "y"
  python_param {{ module: "sums" layer: "Sums" param_str: '{{"seed": 3}}' }} }}
layer {{ name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param {{ num_output: 1 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "times" type: "Python" bottom: "ip" top: "times" python_param {{ module: "sums" layer: "Times" }} }}
layer {{ name: "loss" type: "Python" bottom: "times" bottom: "y" top: "loss" loss_weight: 1
  python_param {{ module: "{}" layer: "{}" }} }}
"""
SOLVER = """net: "net.prototxt" base_lr: 0.05 lr_policy: "fixed" max_iter: 150 display: 50 snapshot_prefix: "sums"
random_seed: 1
"""


def write(layer="Distance", module="sums"):
    pathlib.Path("sums.py").write_text(LAYERS)
    pathlib.Path("net.prototxt").write_text(NET.format(module, layer))
    pathlib.Path("solver.prototxt").write_text(SOLVER)
    return "net.prototxt"


@pytest.fixture
def layers(running_caffe, monkeypatch):
    """caffe, in a folder with the module of layers, which scripts can import."""
    monkeypatch.syspath_prepend(os.getcwd())
    sys.modules.pop("sums", None)
    write()
    yield running_caffe
    sys.modules.pop("sums", None)


@pytest.fixture
def program(running_caffe):
    """Runs the program with these words."""
    build = os.environ.get("ROBUSTA_BUILD_DIR", "")
    path = pathlib.Path(build, "tools/caffe")
    if not build or not path.is_file() or not pathlib.Path(build, "python/robusta_python.so").is_file():
        pytest.skip("no program with an interpreter in ROBUSTA_BUILD_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    if sys.prefix != sys.base_prefix:
        environment["VIRTUAL_ENV"] = sys.prefix

    def run(*words, before=(), **variables):
        done = subprocess.run([*before, path, *words], capture_output=True, text=True, timeout=120, check=False,
                              env={**environment, **variables})
        return done.returncode, done.stdout, done.stderr
    return run


def test_the_program_trains_with_them(program, running_caffe):
    write()
    code, out, log = program("train", "-solver", "solver.prototxt")
    assert code == 0, log
    assert "Optimization Done" in log
    assert out.count("sums of data") == 151  # the last is that of the loss after training
    net = pathlib.Path("plain.prototxt")
    net.write_text('layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 4 } } }\n'
                   'layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 1 } }\n'
                   'layer { name: "times" type: "Scale" bottom: "ip" top: "y" scale_param { axis: 0 num_axes: 1 } }\n')
    plain = running_caffe.Net(str(net), running_caffe.TEST, weights="sums_iter_150.caffemodel")
    plain.blobs["x"].data[...] = [1, 2, 3, 4]
    assert abs(plain.forward()["y"][0, 0] - 10) < 0.1


def test_the_program_goes_on_from_a_state(program):
    write()
    assert program("train", "-solver", "solver.prototxt")[0] == 0
    pathlib.Path("solver.prototxt").write_text(SOLVER.replace("150", "160"))
    code, _, log = program("train", "-solver", "solver.prototxt", "-snapshot", "sums_iter_150.solverstate")
    assert code == 0 and pathlib.Path("sums_iter_160.caffemodel").is_file(), log


def test_ranks_have_an_interpreter_each(program):
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    write()
    code, out, log = program("train", "-solver", "solver.prototxt", before=("mpirun", "-n", "2", "--oversubscribe"),
                             OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
    assert code == 0, log
    assert sorted(out) == sorted("sums of data\n" * 302)  # mpirun mixes the pieces of lines


@pytest.mark.parametrize("layer, words", [("Fails", ["ValueError: no such luck", "sums.py", "in forward"]),
                                          ("Misspelt", ["has no attribute 'Misspelt'"]),
                                          ("WithoutShape", ["top[0] has no shape"])])
def test_the_program_says_what_is_wrong(program, layer, words):
    write(layer)
    code, _, log = program("train", "-solver", "solver.prototxt")
    assert code == 2
    for word in ["net.prototxt:7", 'layer "loss"', *words]:
        assert word in log


def test_modules_that_are_not_there(program):
    write(module="absent_module")
    code, _, log = program("train", "-solver", "solver.prototxt")
    assert code == 2 and "No module named 'absent_module'" in log and "PYTHONPATH" in log


def test_all_modules_that_are_not_there_are_named_at_once(program, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("")
    net = tmp_path / "n.prototxt"
    layer = 'layer {{ name: "{}" type: "Python" {} top: "{}" python_param {{ module: "{}" layer: "{}" }} }}\n'
    net.write_text(layer.format("data", "", "x", "rois.layer", "Rois") +
                   layer.format("there", 'bottom: "x"', "a", "sums", "Times") +
                   layer.format("rpn", 'bottom: "a"', "y", "package.proposals", "Proposals") +
                   layer.format("rpn2", 'bottom: "a"', "z", "package.proposals", "Proposals"))
    write()
    code, _, log = program("plan", "-model", str(net))
    assert code == 2
    assert "2 things that this net wants are missing" in log, log
    assert ('n.prototxt:1: layer "data": its code is the class Rois of the Python module rois.layer, which is not there '
            "(No module named 'rois'); put it where PYTHONPATH leads to\n") in log, log
    assert ('n.prototxt:3: layer "rpn" (and of 1 more layer): its code is the class Proposals of the Python module '
            "package.proposals, which is not there (No module named 'package.proposals'); put it") in log, log
    assert "Times" not in log


def test_scripts_see_that_a_module_is_not_there(tmp_path):
    caffe = pytest.importorskip("caffe")
    net = tmp_path / "n.prototxt"
    net.write_text('layer { name: "d" type: "Python" top: "x" python_param { module: "not.there" layer: "Rois" } }\n')
    with pytest.raises(caffe.Error, match="the Python module not.there, which is not there") as raised:
        caffe.Net(str(net), caffe.TEST)
    assert isinstance(raised.value.__cause__, ModuleNotFoundError)


def test_an_environment_without_numpy_is_told_of_by_its_name(program, tmp_path):
    (tmp_path / "without/numpy").mkdir(parents=True)
    (tmp_path / "without/numpy/__init__.py").write_text("raise ImportError('no numpy here')\n")
    net = tmp_path / "n.prototxt"  # without data, so that it is made for several sizes of images
    net.write_text('layer { name: "d" type: "Data" top: "x" data_param { source: "absent" batch_size: 1 } }\n'
                   'layer { name: "p" type: "Python" bottom: "x" top: "y" python_param { module: "m" layer: "L" } }\n')
    code, _, log = program("plan", "-model", str(net), PYTHONPATH=str(tmp_path / "without"))
    assert code == 9 and "no numpy here" in log and "install numpy" in log and "does not start" not in log, log
    assert "its code is the class L of the Python module m: " in log, log


def test_environments_of_another_python(program, tmp_path):
    write()
    (tmp_path / "other/lib/python2.7").mkdir(parents=True)
    code, _, log = program("train", "-solver", "solver.prototxt", VIRTUAL_ENV=str(tmp_path / "other"))
    assert code == 9 and "is not of Python 3" in log


def test_exceptions_are_the_cause_of_ours(layers):
    solver_file = "solver.prototxt"
    write("Fails")
    solver = layers.get_solver(solver_file)
    with pytest.raises(layers.Error, match="no such luck") as raised:
        solver.step(1)
    assert isinstance(raised.value.__cause__, ValueError)
    assert raised.value.layer == "loss" and raised.value.line == 7
    write("Interrupts")
    with pytest.raises(KeyboardInterrupt):
        layers.get_solver(solver_file).step(1)


def test_parameters_are_the_nets(layers):
    net = layers.Net(write(), layers.TRAIN)
    assert net.params["times"][0].data == 0.5
    assert net.layers[2].type == "Python" and net.layers[2].blobs[0].data == 0.5
    net.params["times"][0].data[...] = 2
    net.forward()
    assert np.allclose(net.blobs["times"].data, 2 * net.blobs["ip"].data)
    net.clear_param_diffs()
    net.backward()
    slope = (net.blobs["times"].diff * net.blobs["ip"].data).sum()
    assert abs(net.params["times"][0].diff[0] - slope) < 1e-4 * abs(slope)


def test_what_a_layer_keeps_stays(layers):
    net = layers.Net(write("TakesItsTime"), layers.TRAIN)
    for _ in range(3):
        net.forward()
        assert np.array_equal(net.layers[3].seen[-1], net.blobs["times"].data)
    seen = net.layers[3].seen
    assert not np.array_equal(seen[0], seen[1]) and not np.array_equal(seen[1], seen[2])
    net.close()
    assert seen[0].shape == (16, 1) and np.isfinite(seen[0]).all()


def test_parts_with_layers_in_python(layers):
    net = layers.Net(write(), layers.TRAIN)
    net.forward()
    x = net.blobs["x"].data.copy()
    net.blobs["ip"].data[...] = 1
    net.forward(start="times", end="times")
    assert np.all(net.blobs["times"].data == 0.5)
    assert np.array_equal(net.blobs["x"].data, x)
