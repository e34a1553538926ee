"""The module caffe/_drawing.py of the Python package, loaded by itself: scripts run where the package is not installed.

It lies beside this file where scripts are installed, and in python/caffe of a source tree.
"""

import importlib.util
import pathlib


def _loaded():
    here = pathlib.Path(__file__).resolve().parent
    places = (here / "_drawing.py", here.parents[1] / "python/caffe/_drawing.py")
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        raise ImportError(f"_drawing.py is neither in {here} nor in python/caffe of the source tree; install anew")
    spec = importlib.util.spec_from_file_location("caffe_drawing", found)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


drawing = _loaded()
