"""One net with weights and samples, and what a reader makes of the pair that is written for it."""

import array
import json
import math
import os
import pathlib
import random
import re
import signal
import subprocess

from robusta_readers import environments, library

PATIENCE = 1800  # seconds for one pair in one reader; OpenVINO takes minutes for a VGG-16
TARGETS = {"pycaffe": "tpu-mlir"}
SAMPLES = {"lenet": 4, "cifar10_quick": 4}  # of a batch; others: 1
WORKER = pathlib.Path(__file__).parent / "reader_worker.py"
DETECTIONS = ("found",)  # tops of DetectionOutput


def in_one_order(numbers):
    """Rows (item, label, score, box) sorted: OpenCV has the best of all classes first, SSD class after class."""
    rows = [[round(numbers[at], 4) for at in (first + 1, first + 2, first + 3)] + list(numbers[first:first + 7])
            for first in range(0, len(numbers) // 7 * 7, 7)]
    return array.array("f", (number for row in sorted(rows) for number in row[3:]))


def types_of(text):
    """Layers and their types, in the order of the file."""
    return re.findall(r'layer\s*\{\s*name:\s*"([^"]+)"\s*type:\s*"([^"]+)"', text)


def randomise(net, text):
    """Numbers for what fillers leave trivial: statistics, scales, slopes, biases."""
    draw = random.Random(5)
    # Where branches are added, numbers grow with depth unless each branch makes them smaller.
    spread = (2, 6) if 'type: "Eltwise"' in text else (0.5, 1.5)
    ranges = {("BatchNorm", 0): (-0.2, 0.2), ("BatchNorm", 1): spread, ("Scale", 0): (0.7, 1.3),
              ("Scale", 1): (-0.2, 0.2), ("PReLU", 0): (0.1, 0.4)}
    for name, kind in types_of(text):
        index = 0
        while (numbers := net.parameter(name, index)) is not None:
            low_high = ranges.get((kind, index))
            if low_high is None and index == 1 and kind in ("Convolution", "Deconvolution", "InnerProduct"):
                low_high = (-0.1, 0.1)
            if kind == "BatchNorm" and index == 2:
                low_high = (1, 1)
            if low_high:
                net.write_parameter(name, index, array.array("f", (draw.uniform(*low_high) for _ in numbers)))
            index += 1


def call_caffe(words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = re.findall(r"error: (.*)", done.stdout + done.stderr)
        raise library.Failure(f"caffe {words[1]}: {errors[-1] if errors else done.returncode}")
    return done.stdout + done.stderr


def ask(task, make=True, patience=None):
    """Lets a reader's worker do a task. Raises Failure with what the reader says, or how it ends.

    A reader that hangs, as MNN's converter may where its log's host does not answer, is ended with all that it has
    started."""
    patience = patience or PATIENCE
    python, variables = environments.environment(task["reader"], make=make)
    # A session of its own: what the worker starts is in its group, and holds its pipes.
    with subprocess.Popen([python, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, cwd=task["folder"], env={**os.environ, **variables},
                          start_new_session=True) as worker:
        try:
            said, errors = worker.communicate(json.dumps(task), timeout=patience)
        except BaseException as why:
            os.killpg(worker.pid, signal.SIGKILL)
            if not isinstance(why, subprocess.TimeoutExpired):
                raise
            worker.communicate()
            raise library.Failure(f"does not end within {patience} s") from why
    if worker.returncode != 0 or not said:
        lines = errors.strip().splitlines() or [""]
        raise library.Failure(f"ends with {worker.returncode}: {lines[-1][:150]}")
    outcome = json.loads(said)
    if "error" in outcome:
        raise library.Failure(outcome["error"])


def difference(blob, expected, found):
    """The largest one, as a part of the largest number expected."""
    if len(found) != len(expected):
        raise library.Failure(f"{blob} has {len(found)} numbers, not {len(expected)}")
    # max() passes over what is no number.
    if not all(math.isfinite(number) for number in found):
        raise library.Failure(f"{blob} is not finite")
    worst = max((abs(a - b) for a, b in zip(found, expected)), default=0)
    return worst / max((abs(number) for number in expected), default=1) if worst else 0.0


def read_floats(path):
    numbers = array.array("f")
    numbers.frombytes(pathlib.Path(path).read_bytes())
    return numbers


class Case:
    """One net with weights, samples and what we compute of them."""

    def __init__(self, name, text, options, folder):
        self.name, self.folder, self.text = name, folder, text
        folder.mkdir(parents=True, exist_ok=True)
        self.net, self.weights = folder / "net.prototxt", folder / "net.caffemodel"
        self.net.write_text(text)
        net = library.Net(options.library, self.net)
        draw = random.Random(9)
        self.inputs = {}
        for blob in net.names("input"):
            shape = net.shape(blob)
            if len(shape) == 4:
                shape[0] = SAMPLES.get(name, 1)
                net.reshape(blob, shape)
            # `cont` of recurrent layers: 0 begins a sequence.
            ones = (0.0 if at < shape[-1] else 1.0 for at in range(math.prod(shape)))
            noise = (draw.uniform(-1, 1) for _ in range(math.prod(shape)))
            numbers = array.array("f", ones if blob == "cont" else noise)
            file = folder / f"in_{blob}.f32"
            file.write_bytes(numbers.tobytes())
            self.inputs[blob] = {"file": str(file), "shape": shape}
            net.write(blob, numbers)
        randomise(net, text)
        net.save(self.weights)
        net.forward()
        self.expected = {blob: net.read(blob) for blob in net.names("output")}
        if any(len(set(numbers)) < 4 for numbers in self.expected.values()):
            raise library.Failure("its output is a constant: nothing to compare")

    def pair(self, options, reader):
        """The files for a reader, and what the outputs are called in them: of `caffe deploy`, or the net as it is; for
        onnxruntime those of `caffe export`."""
        if reader == "onnxruntime":
            return self.exported(options), self.weights, list(self.expected)
        if not options.deploy:
            return self.net, self.weights, list(self.expected)
        prefix = self.folder / f"for_{reader}"
        batch = next(iter(self.inputs.values()))["shape"][0]
        words = [options.tools / "caffe", "deploy", "-model", self.net, "-weights", self.weights, "-output", prefix,
                 "-target", TARGETS.get(reader, reader)] + ([] if self.name == "lstm" else ["-batch", str(batch)])
        # What is written in place on an input gets a name of its own.
        outputs = re.search(r"^outputs: (.*)$", call_caffe(words), re.MULTILINE)[1].split(", ")
        return pathlib.Path(f"{prefix}.prototxt"), pathlib.Path(f"{prefix}.caffemodel"), outputs

    def exported(self, options):
        path = self.folder / "net.onnx"
        batch = next(iter(self.inputs.values()))["shape"][0]
        call_caffe([options.tools / "caffe", "export", "-onnx", path, "-model", self.net, "-weights", self.weights,
                    "-check", "off", "-nms"] + ([] if self.name == "lstm" else ["-batch", batch]))
        return path

    def difference(self, options, reader):
        """The largest one of what the reader computes from the files for it."""
        net, weights, outputs = self.pair(options, reader)
        return self.run(options, reader, net if options.deploy or reader == "onnxruntime" else self.with_batch(reader),
                        weights, outputs)

    def run(self, options, reader, net, weights, outputs):
        """The largest difference of what the reader computes from a pair with outputs of these names."""
        files = [str(self.folder / f"{reader}_{at}.f32") for at in range(len(outputs))]
        ask({"reader": reader, "net": str(net), "weights": str(weights), "inputs": self.inputs,
             "outputs": dict(zip(outputs, files)), "folder": str(self.folder)}, make=not options.installed)
        return max(self.compared(*each) for each in zip(self.expected.items(), files))

    def with_batch(self, reader):
        """The net with the shapes of its inputs written into it."""
        text = self.text
        for what in self.inputs.values():
            if len(what["shape"]) == 4:
                text = re.sub(r"(type:\s*\"Input\".*?shape\s*\{\s*dim:\s*)\d+", rf"\g<1>{what['shape'][0]}", text,
                              count=1, flags=re.DOTALL)
        path = self.folder / f"as_is_for_{reader}.prototxt"
        path.write_text(text)
        return path

    @staticmethod
    def compared(output, path):
        """The largest difference of the numbers in a file, as a part of the output's largest."""
        (blob, expected), numbers = output, read_floats(path)
        if blob in DETECTIONS:
            numbers, expected = in_one_order(numbers), in_one_order(expected)
        return difference(blob, expected, numbers)
