"""`import caffe` for these tests.

With a built module in PYTHONPATH that is the one. Without, `caffe` is the pure-Python half of the source tree with a
net that computes next to nothing (stand_in.py), and tests that run nets are skipped.
"""

import pathlib
import sys
import types

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def use_pure_half():
    """Puts a package `caffe` together that has no extension."""
    for name in [name for name in sys.modules if name.split(".")[0] == "caffe"]:
        del sys.modules[name]
    package = types.ModuleType("caffe")
    package.__path__ = [str(HERE.parents[1] / "python/caffe")]
    sys.modules["caffe"] = package
    import stand_in
    sys.modules["caffe.pycaffe"] = stand_in
    from caffe import io, net_spec
    from caffe.proto import caffe_pb2
    package.io, package.TRAIN, package.TEST = io, caffe_pb2.TRAIN, caffe_pb2.TEST
    package.Net, package.Layer = stand_in.Net, object
    for name in ("NetSpec", "layers", "params", "to_proto"):
        setattr(package, name, getattr(net_spec, name))
    from caffe.classifier import Classifier
    from caffe.detector import Detector
    package.Classifier, package.Detector = Classifier, Detector


try:
    import caffe
    HAS_EXTENSION = hasattr(caffe, "SGDSolver")
except ImportError:
    HAS_EXTENSION = False
if not HAS_EXTENSION:
    use_pure_half()


@pytest.fixture
def recorded():
    """Where what the real pycaffe gave lies (record_pycaffe.py)."""
    return HERE / "recorded"


@pytest.fixture
def running_caffe(tmp_path, monkeypatch):
    """caffe with its extension, in an empty folder; the test is skipped where there is none."""
    if not HAS_EXTENSION:
        pytest.skip("there is no built module caffe in PYTHONPATH")
    monkeypatch.chdir(tmp_path)
    import caffe as module
    module.set_mode_cpu()
    module.set_random_seed(7)
    return module
