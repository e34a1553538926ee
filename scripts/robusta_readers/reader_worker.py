"""Runs inside of a reader's environment: loads a deploy pair, feeds it, and leaves what it computes.

The task comes as JSON on stdin: reader, net, weights, inputs {name: {file, shape}}, outputs {name: file}, folder.
Numbers are in files of f32. The outcome, JSON on stdout, says of each output how many numbers were written.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy

RUNNERS = {}


def runner(function):
    RUNNERS[function.__name__.replace("_", "-")] = function
    return function


def makers(text):
    """Of each blob: the last layer that makes it, and which of its tops it is."""
    found = {}
    for body in re.split(r"\blayers?\s*\{", text)[1:]:
        name = re.search(r'\bname:\s*"([^"]*)"', body)[1]
        found.update({top: (name, at) for at, top in enumerate(re.findall(r'\btop:\s*"([^"]*)"', body))})
    return found


@runner
def pycaffe(task, inputs):
    import caffe

    caffe.set_mode_cpu()
    net = caffe.Net(task["net"], task["weights"], caffe.TEST)
    for name, numbers in inputs.items():
        net.blobs[name].reshape(*numbers.shape)
        net.blobs[name].data[...] = numbers
    net.forward()
    return {name: net.blobs[name].data for name in task["outputs"]}


@runner
def tpu_mlir(task, inputs):
    """What its program model_transform does up to the first dialect, which its interpreter computes in f32."""
    import pymlir
    from transform.CaffeConverter import CaffeConverter
    from utils.mlir_shell import mlir_opt_for_top

    # It writes files of these names, and one of weights, into the working folder, which is the task's.
    written, optimised = "converted_origin.mlir", "converted.mlir"
    CaffeConverter("converted", task["net"], task["weights"], [], []).generate_mlir(written)
    mlir_opt_for_top(written, optimised)
    pymlir.set_mem_mode("value_mem")
    module = pymlir.module()
    module.load(optimised)
    for name in module.input_names:
        module.set_tensor(name, inputs[name], inputs[name].shape)
    module.invoke(True)
    tensors = module.get_all_tensor()
    if lacking := [name for name in task["outputs"] if name not in tensors]:
        raise RuntimeError(f"there is no output {lacking[0]}, but {', '.join(module.output_names)}")
    return tensors


@runner
def opencv(task, inputs):
    import cv2

    net = cv2.dnn.readNetFromCaffe(task["net"], task["weights"])
    for name, numbers in inputs.items():
        net.setInput(numbers, name)
    # Outputs go by the names of layers, and by their places among a layer's; some layers are called like their top.
    known, layers = net.getLayerNames(), makers(pathlib.Path(task["net"]).read_text())
    places = [layers[name] if layers[name][0] in known else (name, 0) for name in task["outputs"]]
    found = net.forwardAndRetrieve([layer for layer, _ in places])
    return {name: tops[at] for name, (_, at), tops in zip(task["outputs"], places, found)}


@runner
def mnn(task, inputs):
    import MNN

    model = str(pathlib.Path(task["folder"]) / "converted.mnn")
    # The program `mnnconvert` calls this, and then installs a package and reports to a host of its maker's; where that does
    # not answer, it hangs.
    convert = [sys.executable, "-c", "import sys, MNN, _tools; _tools.mnnconvert(['mnnconvert'] + sys.argv[1:])"]
    done = subprocess.run(convert + ["-f", "CAFFE", "--modelFile", task["weights"], "--prototxt", task["net"],
                                     "--MNNModel", model, "--bizCode", "robusta"], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not os.path.exists(model):
        raise RuntimeError(f"mnnconvert: {(done.stderr + done.stdout).strip().splitlines()[-1:]}")
    interpreter = MNN.Interpreter(model)
    session = interpreter.createSession({"backend": "CPU", "numThread": 1, "precision": "high"})
    known = interpreter.getSessionInputAll(session)  # without those whose shapes alone are read
    inputs = {name: numbers for name, numbers in inputs.items() if name in known}
    for name, numbers in inputs.items():
        tensor = interpreter.getSessionInput(session, name)
        interpreter.resizeTensor(tensor, numbers.shape)
    interpreter.resizeSession(session)
    for name, numbers in inputs.items():
        tensor = interpreter.getSessionInput(session, name)
        tensor.copyFrom(MNN.Tensor(numbers.shape, MNN.Halide_Type_Float, numbers, MNN.Tensor_DimensionType_Caffe))
    interpreter.runSession(session)
    found = {}
    for name in task["outputs"]:
        tensor = interpreter.getSessionOutput(session, name)
        shape = tensor.getShape()
        zeros = numpy.zeros(shape, numpy.float32)
        host = MNN.Tensor(shape, MNN.Halide_Type_Float, zeros, MNN.Tensor_DimensionType_Caffe)
        tensor.copyToHostTensor(host)
        found[name] = numpy.array(host.getData(), dtype=numpy.float32)
    return found


@runner
def openvino(task, inputs):
    from openvino.runtime import Core
    from openvino.tools.mo import convert_model

    model = convert_model(input_model=task["weights"], input_proto=task["net"], framework="caffe",
                          compress_to_fp16=False)
    compiled = Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    # Outputs are called as the layers that make them: they come in the order of the file.
    results = compiled(list(inputs.values()) if len(inputs) == 1 else inputs)
    return dict(zip(task["outputs"], (results[index] for index in range(len(task["outputs"])))))


@runner
def rknn(task, inputs):
    from rknn.api import RKNN

    tool = RKNN(verbose=False)
    tool.config(target_platform="rk3588")
    steps = ((lambda: tool.load_caffe(model=task["net"], blobs=task["weights"])),
             (lambda: tool.build(do_quantization=False)), (lambda: tool.init_runtime()))
    for step in steps:
        if step() != 0:
            raise RuntimeError("the toolkit refuses the pair")
    results = tool.inference(inputs=list(inputs.values()), data_format="nchw")
    return dict(zip(task["outputs"], results))


@runner
def ncnn(task, inputs):
    import ncnn as library

    model, weights = (str(pathlib.Path(task["folder"]) / f"converted.{end}") for end in ("param", "bin"))
    done = subprocess.run([os.environ["ROBUSTA_CAFFE2NCNN"], task["net"], task["weights"], model, weights],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"caffe2ncnn ends with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    net = library.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    net.opt.num_threads = 1
    if net.load_param(model) != 0 or net.load_model(weights) != 0:
        raise RuntimeError("the library refuses what caffe2ncnn wrote")
    # It knows no batches: item by item.
    sizes = {numbers.shape[0] for numbers in inputs.values()}
    if len(sizes) != 1 or any(numbers.ndim < 2 for numbers in inputs.values()):
        raise RuntimeError("inputs of no common batch, which ncnn does not know")
    found = {name: [] for name in task["outputs"]}
    for item in range(sizes.pop()):
        with net.create_extractor() as run:
            for name, numbers in inputs.items():
                # A copy: layers in place crash on memory that is not the library's.
                if run.input(name, library.Mat(numbers[item]).clone()) != 0:
                    raise RuntimeError(f"there is no input {name}")
            for name, items in found.items():
                status, mat = run.extract(name)
                if status != 0:
                    raise RuntimeError(f"{name} cannot be computed, or is not there")
                items.append(numpy.array(mat))
    return {name: numpy.stack(items) for name, items in found.items()}


@runner
def onnxruntime(task, inputs):
    import onnxruntime as runtime

    session = runtime.InferenceSession(task["net"], providers=["CPUExecutionProvider"])
    names = list(task["outputs"])
    return dict(zip(names, session.run(names, inputs)))


def main():
    # Readers print what they like: stdout is for the outcome.
    outcome, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    os.dup2(2, 1)
    task = json.load(sys.stdin)
    inputs = {name: numpy.fromfile(what["file"], dtype=numpy.float32).reshape(what["shape"])
              for name, what in task["inputs"].items()}
    try:
        found = RUNNERS[task["reader"]](task, inputs)
    except Exception as error:  # whatever a reader throws is what is to be told of it
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        json.dump({"error": lines[-1].strip()[:200]}, outcome)
        return
    for name, path in task["outputs"].items():
        numpy.ascontiguousarray(found[name], dtype=numpy.float32).tofile(path)
    json.dump({name: int(numpy.asarray(numbers).size) for name, numbers in found.items()}, outcome)


if __name__ == "__main__":
    main()
