"""What other tools see of the module: its stubs, and its arrays by DLPack."""

import ast
import pathlib

import numpy as np

ONLY_IN_STUBS = {"_LayerView"}  # of the extension alone


def test_stubs_name_what_there_is(running_caffe):
    import caffe._caffe as extension
    stubs = pathlib.Path(running_caffe.__file__).parent / "_caffe.pyi"
    described = {}
    for node in ast.parse(stubs.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            described[node.name] = None
        elif isinstance(node, ast.ClassDef):
            described[node.name] = {part.name if isinstance(part, ast.FunctionDef) else part.target.id
                                    for part in node.body if isinstance(part, (ast.FunctionDef, ast.AnnAssign))}
    public = {name for name in vars(extension) if not name.startswith("_")}
    assert public == set(described) - ONLY_IN_STUBS
    for name, members in described.items():
        if members is None or name == "Error":
            continue
        for member in members - {"__init__"}:
            assert hasattr(getattr(extension, name), member), f"{name}.{member}"


def test_dlpack_both_ways(running_caffe):
    pathlib.Path("net.prototxt").write_text(
        'layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }\n'
        'layer { name: "y" type: "Power" bottom: "x" top: "y" power_param { scale: 2 } }\n')
    net = running_caffe.Net("net.prototxt", running_caffe.TEST)
    x = np.from_dlpack(net.blobs["x"])
    assert x.ctypes.data == net.blobs["x"].data.ctypes.data
    net.blobs["x"].data[...] = np.from_dlpack(np.full((2, 3), 5, np.float32))
    assert (x == 5).all()
    net.forward()
    assert (np.from_dlpack(net.blobs["y"]) == 10).all()
