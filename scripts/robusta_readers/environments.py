"""Virtual environments of programs that read Caffe's files, each with the versions that were measured.

They lie below ROBUSTA_READERS_DIR (default ~/.cache/robusta/readers), outside of any tree, and are made when they are
first asked for: from PyPI, by an interpreter of the version that the program's wheels are for. One that is whole has a
file `pins` with what was asked for; another list of versions makes it anew.
"""

import collections
import os
import pathlib
import shutil
import subprocess
import sys

# python: version of the interpreter. packages: installed with what they depend on; bare: installed without.
# module: what has to be importable in the end. without: files below site-packages that are removed from what was
# installed.
Reader = collections.namedtuple("Reader", "python packages bare module without", defaults=((),))
READERS = {
    # The wheel brings its own C library; programs and modules that find it beside the machine's loader do not start.
    "pycaffe": Reader("3.10", ("numpy==1.24.3", "protobuf==3.20.3", "scikit-image==0.21.0", "pyyaml==6.0.2",
                               "six==1.17.0", "h5py==3.11.0", "psutil==6.1.1"),
                      ("tpu_mlir==1.30.2",), "caffe, transform.CaffeConverter, pymlir",
                      tuple(f"tpu_mlir/lib/third_party/{name}"
                            for name in ("libc.so.6", "libm.so.6", "libpthread.so.0"))),
    "jpeg": Reader("3.11", ("simplejpeg==1.8.2", "numpy==2.2.6"), (), "simplejpeg"),
    "opencv": Reader("3.11", ("opencv-python-headless==4.14.0.94",), (), "cv2"),
    "onnxruntime": Reader("3.11", ("onnxruntime==1.31.1", "numpy==2.2.6"), (), "onnxruntime"),
    "mnn": Reader("3.11", ("MNN==3.6.1", "numpy==2.2.6"), (), "MNN"),
    "openvino": Reader("3.11", ("openvino-dev[caffe]==2023.3.0",), (), "openvino"),
    # torch is imported and never called: a stub stands for its gigabytes.
    "rknn": Reader("3.11", ("numpy==1.26.4", "onnx==1.16.1", "onnxruntime==1.17.3", "protobuf==4.25.4", "scipy==1.14.1",
                            "psutil==6.1.1", "ruamel.yaml==0.18.6", "tqdm==4.67.1", "fast-histogram==0.14",
                            "opencv-python-headless==4.10.0.84", "setuptools==75.8.0"), ("rknn-toolkit2==2.5.0",),
                   "rknn.api"),
    # Its wheel has no converter of Caffe's files (`caffe2ncnn`); what else it asks for is for its own models alone.
    "ncnn": Reader("3.11", ("numpy==2.2.6",), ("ncnn==1.0.20261020",), "ncnn"),
    # No readers: what the tests of `caffe export -onnx` and `caffe import` need. torch brings gigabytes of NVIDIA's
    # libraries, without which it cannot be imported.
    "onnx": Reader("3.11", ("onnx==1.23.2", "onnxruntime==1.31.1", "numpy==2.2.6"), (), "onnx, onnxruntime"),
    "torch": Reader("3.11", ("onnx==1.23.2", "onnxruntime==1.31.1", "numpy==2.2.6", "onnxscript==0.7.2",
                             "torch==2.15.0", "torchvision==0.29.2"), (), "torch, torchvision, onnxscript, onnxruntime"),
    # No reader: what the tests of our own Python package need.
    "pytest": Reader("3.11", ("numpy==2.4.6", "pillow==13.0.0", "protobuf==7.36.2", "pytest==9.2.0", "scipy==1.17.1",
                               "tqdm==4.70.1"),
                     (), "pytest, numpy, PIL, scipy, tqdm, google.protobuf"),
    "tensorboard": Reader("3.11", ("tensorboard==2.21.0", "numpy==2.4.6", "setuptools==80.9.0"), (),
                          "tensorboard.backend.event_processing.event_accumulator"),
}
# Readers that live in the environment of another.
WITHIN = {"tpu-mlir": "pycaffe"}
INSTALLING = 1800  # seconds that one pip may take
# Python looks for modules in the working folder first, whose files may be a stranger's. Its -P is newer than 3.9, and its -I
# passes over PYTHONPATH.
NOT_HERE = "import sys; sys.path[:] = [folder for folder in sys.path if folder]; "


class Unavailable(Exception):
    """Why a program cannot be had here, in one line."""


def folder():
    named = os.environ.get("ROBUSTA_READERS_DIR")
    return pathlib.Path(named) if named else pathlib.Path.home() / ".cache/robusta/readers"


def interpreter(version):
    """A Python of this version: of the PATH, or of pyenv."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
    for path in found:
        # pyenv puts scripts of this name into the PATH also for versions that are not chosen: these fail.
        if path is None:
            continue
        done = subprocess.run([path, "-I", "-c", "import venv, ensurepip"], capture_output=True, check=False)
        if done.returncode == 0:
            return path
    raise Unavailable(f"there is no Python {version}")


def run(*words, fix):
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=INSTALLING, check=False)
    except subprocess.TimeoutExpired as late:
        raise Unavailable(f"{fix}: that takes more than {INSTALLING} s") from late
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise Unavailable(f"{fix}: {lines[-1] if lines else done.returncode}")


def caffe2ncnn():
    """The converter of ncnn's source, tools/caffe, which no package holds."""
    named = os.environ.get("ROBUSTA_CAFFE2NCNN") or shutil.which("caffe2ncnn")
    if not named or not os.access(named, os.X_OK):
        raise Unavailable("there is no caffe2ncnn: build tools/caffe of ncnn's source, and put it into the PATH or name "
                          "it in ROBUSTA_CAFFE2NCNN")
    return os.path.abspath(named)


def settings(name):
    """Variables that the reader's interpreter wants. Raises Unavailable where a program is lacking."""
    if name == "ncnn":
        return {"ROBUSTA_CAFFE2NCNN": caffe2ncnn()}
    site, stubs = site_packages(WITHIN.get(name, name)), pathlib.Path(__file__).parent / "stubs"
    if name in ("pycaffe", "tpu-mlir"):
        package = site / "tpu_mlir"
        return {"PYTHONPATH": f"{package / 'python'}:{stubs}", "GLOG_minloglevel": "2", "PYTHONUNBUFFERED": "1",
                "TPUC_ROOT": str(package), "PATH": f"{package / 'bin'}:{os.environ.get('PATH', os.defpath)}"}
    if name == "rknn":
        return {"PYTHONPATH": str(stubs)}
    return {}


def site_packages(name):
    return next((folder() / name).glob("lib/python3*/site-packages"))


def importable(name):
    python = folder() / name / "bin/python"
    words = [python, "-c", NOT_HERE + f"import {READERS[name].module}"]
    return subprocess.run(words, capture_output=True, check=False, env={**os.environ, **settings(name)}).returncode == 0


def installed(name):
    """Whether the environment is there, whole and with today's versions."""
    pins = folder() / name / "pins"
    return pins.is_file() and pins.read_text() == repr(READERS[name])


def environment(name, make=True):
    """The reader's interpreter and the variables for it; without `make` only where it is installed already, or where
    this very interpreter can import it."""
    home = WITHIN.get(name, name)
    reader, place = READERS[home], folder() / home
    if name == "ncnn":
        caffe2ncnn()  # before anything is installed
    if not installed(home):
        if not make:
            words = [sys.executable, "-c", NOT_HERE + f"import {reader.module}"]
            if subprocess.run(words, capture_output=True, check=False).returncode == 0:
                return pathlib.Path(sys.executable), {}
            raise Unavailable(f"{name} is not installed")
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        run(interpreter(reader.python), "-I", "-m", "venv", place, fix="no environment")
        pip = (place / "bin/python", "-I", "-m", "pip", "install", "-q", "--disable-pip-version-check")
        if reader.bare:
            run(*pip, "--no-deps", *reader.bare, fix=f"{name} does not install")
        run(*pip, *reader.packages, fix=f"{name} does not install")
        for file in reader.without:
            (site_packages(home) / file).unlink(missing_ok=True)
        if not importable(home):
            raise Unavailable(f"{name} installs, and cannot be imported")
        (place / "pins").write_text(repr(reader))
    return place / "bin/python", settings(name)


if __name__ == "__main__":  # prints the interpreter of an environment, for scripts
    try:
        print(environment(sys.argv[1])[0])
    except Unavailable as why_not:
        sys.exit(str(why_not))
