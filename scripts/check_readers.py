#!/usr/bin/env python3
"""Whether other programs that read Caffe's files compute from ours what we compute.

Each net (scripts/robusta_readers/nets.py) gets random weights and statistics, `caffe deploy -target READER` writes a
pair for each reader - a program without that action gives the net as it is, and says so -, and the reader runs it on
the same samples, in an environment of its own (scripts/robusta_readers/environments.py). Prints a table of the largest
differences as parts of the largest number of the output; a reader that computes in f32 may differ by 1e-4.

With --rules, the nets are those that break the rules of `caffe deploy -lint`, one for each, and every reader gets them
as they are and as deploy rewrites them (scripts/robusta_readers/rules.py says what is to come of that).

  scripts/check_readers.py [--rules] [--tools FOLDER] [--library FILE] [--readers A,B] [--installed] [--keep FOLDER] [NET...]

The exit code is 0 when nothing differs but what is known (LINES), 1 when something does, 77 when no reader is here.
"""

import argparse
import array
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from robusta_readers import environments, library, nets, rules  # noqa: E402 (needs the path)

LIMIT = 1e-4
PATIENCE = 600  # seconds for one pair in one reader
LIMITS = {"rknn": 2e-2}  # its simulator computes in f16
READERS = ("pycaffe", "opencv", "mnn", "openvino", "rknn", "onnxruntime")
TARGETS = {"pycaffe": "any"}
CUT_WINDOWS = ("AVE windows that are cut are divided by whole ones", 5e-2)
# What a reader cannot, as measured: the reason, and how it shows: what the failure says, or the largest difference.
LINES = {
    ("opencv", "lstm"): ("its LSTM is that of another fork", r"Wh\.cols"),
    ("opencv", "prelu"): ("a PReLU with one slope for all channels is refused", r"0 <= d && d <= CV_MAX_DIM"),
    ("mnn", "lstm"): ("its converter has no LSTM with two bottoms", r"Converted Failed"),
    ("mnn", "ssd"): ("detections have six columns, without the item", r"found has 294 numbers, not 350"),
    ("pycaffe", "cifar10_quick"): CUT_WINDOWS,
    ("rknn", "cifar10_quick"): CUT_WINDOWS,
    ("openvino", "lstm"): ("its converter has no LSTM of Caffe", r"question #38"),
    ("rknn", "lstm"): ("its loader crashes", r"'bool' object has no attribute 'all'"),
    ("rknn", "ssd"): ("its DetectionOutput has another size", r"found has \d+ numbers, not 350"),
}
SAMPLES = {"lenet": 4, "cifar10_quick": 4}  # of a batch; others: 1
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
    return done.stdout


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
        python, variables = environments.environment(reader, make=not options.installed)
        files = [str(self.folder / f"{reader}_{at}.f32") for at in range(len(outputs))]
        task = {"reader": reader, "net": str(net), "weights": str(weights), "inputs": self.inputs,
                "outputs": dict(zip(outputs, files)), "folder": str(self.folder)}
        try:
            done = subprocess.run([python, ROOT / "scripts/robusta_readers/reader_worker.py"], input=json.dumps(task),
                                  text=True, capture_output=True, check=False, cwd=self.folder,
                                  env={**os.environ, **variables}, timeout=PATIENCE)
        except subprocess.TimeoutExpired as late:
            raise library.Failure(f"does not end within {PATIENCE} s") from late
        if done.returncode != 0 or not done.stdout:
            lines = done.stderr.strip().splitlines() or [""]
            raise library.Failure(f"ends with {done.returncode}: {lines[-1][:150]}")
        outcome = json.loads(done.stdout)
        if "error" in outcome:
            raise library.Failure(outcome["error"])
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
        (blob, expected), numbers = output, array.array("f")
        numbers.frombytes(pathlib.Path(path).read_bytes())
        if blob in DETECTIONS:
            numbers, expected = in_one_order(numbers), in_one_order(expected)
        if len(numbers) != len(expected):
            raise library.Failure(f"{blob} has {len(numbers)} numbers, not {len(expected)}")
        scale = max(abs(number) for number in expected)
        worst = max(abs(a - b) for a, b in zip(numbers, expected))
        # max() passes over what is no number.
        if not all(math.isfinite(number) for number in numbers):
            raise library.Failure(f"{blob} is not finite")
        return worst / scale


def cell(case, options, reader):
    """Text of the table, and whether it is as it should be."""
    reason, sign = LINES.get((reader, case.name), ("", None))
    try:
        worst = case.difference(options, reader)
    except library.Failure as failure:
        known = isinstance(sign, str) and re.search(sign, str(failure)) is not None
        return (f"known: {reason}" if known else f"FAILED: {failure}"), known
    if worst <= LIMITS.get(reader, LIMIT):
        return f"{worst:.1e}", True
    known = isinstance(sign, float) and worst <= sign
    return (f"{worst:.1e}, known: {reason}" if known else f"{worst:.1e} DIFFERS"), known


def rule_table(options, _texts, readers, base):
    def make_case(name, text):
        return Case(name, text, options, base / name)

    return rules.table(make_case, options, readers, lambda reader: LIMITS.get(reader, LIMIT))


def net_table(options, texts, readers, base):
    """Prints the table of whole nets; returns how many of how many cells are as they should be."""
    good = total = 0
    print("| net | " + " | ".join(readers) + " |\n|" + " --- |" * (len(readers) + 1))
    for name in options.nets or texts:
        folder = base / name
        try:
            case = Case(name, texts[name], options, folder)
            cells = [cell(case, options, reader) for reader in readers]
        except library.Failure as failure:
            cells = [(f"FAILED here: {failure}", False)] * len(readers)
        print(f"| {name} | " + " | ".join(text.replace("|", "/") for text, _ in cells) + " |", flush=True)
        good, total = good + sum(holds for _, holds in cells), total + len(cells)
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return good, total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/tools", help="folder of the programs")
    parser.add_argument("--library", type=pathlib.Path, help="librobusta.so (default: of the same build)")
    parser.add_argument("--readers", default=",".join(READERS), help="some of these, separated by commas")
    parser.add_argument("--installed", action="store_true", help="only readers that are installed already")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the files in FOLDER/readers")
    parser.add_argument("--rules", action="store_true",
                        help="nets that break the rules of `caffe deploy -lint` (robusta_readers/rules.py), as they are "
                             "and rewritten; NET is then the name of a rule")
    parser.add_argument("nets", nargs="*", metavar="NET", help="names of folders of models/, or of nets.py")
    options = parser.parse_args()
    options.tools = options.tools.resolve()
    options.library = (options.library or options.tools.parent / "src/librobusta.so").resolve()
    texts = {row.rule: row.net for row in rules.RULES} if options.rules else nets.all_nets(ROOT)
    wrong = [name for name in options.nets if name not in texts]
    wrong += [name for name in options.readers.split(",") if name not in READERS]
    if wrong:
        sys.exit(f"unknown: {wrong[0]}; nets: {', '.join(texts)}; readers: {', '.join(READERS)}")
    readers = []
    if options.rules:  # of Caffe's files, which onnxruntime does not read
        options.readers = ",".join(each for each in options.readers.split(",") if each != "onnxruntime")
    for reader in options.readers.split(","):
        try:
            environments.environment(reader, make=not options.installed)
            readers.append(reader)
        except environments.Unavailable as why:
            print(f"-- {reader} is left out: {why}", flush=True)
    if not readers:
        print("SKIPPED: no reader is here")
        return 77
    listed = subprocess.run([str(options.tools / "caffe"), "deploy", "--help"], capture_output=True, text=True,
                            check=False)
    options.deploy = "-target" in listed.stdout
    print("-- files of caffe deploy" if options.deploy else "-- this caffe has no deploy: nets as they are", flush=True)
    with tempfile.TemporaryDirectory(prefix="readers-") as own:
        base = (options.keep or pathlib.Path(own)).resolve() / "readers"
        good, total = (rule_table if options.rules else net_table)(options, texts, readers, base)
    print(f"{good} of {total} as expected, {len(readers)} readers")
    return 0 if good == total else 1


if __name__ == "__main__":
    sys.exit(main())
