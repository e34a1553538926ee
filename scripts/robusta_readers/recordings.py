"""The recordings of the real Caffe, layer by layer: what `caffe deploy -target READER` lets through has to compute the
same in the reader; all else it has to refuse (scripts/check_readers.py --recordings).

A recording is a net of one layer, or a small one, with inputs and parameters (NAME.prototxt, NAME.bin); one that took
its parameters from a file names that in a comment (`# weights:`). Its pair is written by deploy, run here and in the
reader on the recorded inputs. A pair that the reader refuses, or that computes something else there, is a silent
failure: deploy should have rewritten it or said so (refused it, or warned of it).
"""

import array
import collections
import math
import os
import pathlib
import re
import struct

from robusta_readers import case, library

# Those whose tests are of files and trainings.
PASSED_OVER = ("solver__", "io__", "HDF5Output__")
PATIENCE = 120  # seconds for one pair
Outcome = collections.namedtuple("Outcome", "kind text")
SAME, WARNED, REFUSED, STRICT, SILENT = KINDS = ("the same", "warned of", "refused", "refused needlessly", "SILENT")


def read_recording(path):
    """Arrays by their names: (extents, numbers)."""
    data, at, found = path.read_bytes(), 12, {}
    if data[:8] != b"CAFGOLD1":
        raise library.Failure(f"{path} is no recording")
    for _ in range(struct.unpack_from("<I", data, 8)[0]):
        length = struct.unpack_from("<I", data, at)[0]
        name, at = data[at + 4:at + 4 + length].decode(), at + 4 + length
        axes = struct.unpack_from("<I", data, at)[0]
        extents = list(struct.unpack_from(f"<{axes}I", data, at + 4))
        at += 4 + 4 * axes
        count = math.prod(extents)
        numbers = array.array("f", data[at:at + 4 * count])
        found[name], at = (extents, numbers), at + 4 * count
    return found


def inputs_and_parameters(recording):
    """By blob, and by (layer, index)."""
    inputs, parameters = {}, {}
    for name, (_, numbers) in recording.items():
        words = name.removeprefix("s0:").split(":")
        single = re.fullmatch(r"(bottom|param)_(\d+)", name)
        if single and single[1] == "bottom":
            inputs[name] = inputs[f"raw_{single[2]}"] = numbers
        elif single:
            parameters["layer", int(single[2])] = numbers
        elif words[0] == "in":
            inputs[words[1]] = numbers
        elif words[0] == "param":
            parameters[words[1], int(words[2])] = numbers
    return inputs, parameters


class Recorded:
    """The net of a recording with its weights, in a folder of its own."""

    def __init__(self, golden, name, options, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.options = folder, options
        self.source, self.weights = golden / f"{name}.prototxt", folder / "net.caffemodel"
        self.inputs, parameters = inputs_and_parameters(read_recording(golden / f"{name}.bin"))
        self.warned = False  # whether deploy has, of what it wrote last
        net = library.Net(options.library, self.source)
        if stored := re.search(r"^# weights: (\S+)$", self.source.read_text(), re.MULTILINE):
            net.load(golden / stored[1])
        for (layer, index), numbers in parameters.items():
            net.write_parameter(layer, index, numbers)
        net.save(self.weights)

    def pair(self, target):
        """Net, weights and outputs of what deploy has written; raises Failure where it refuses."""
        prefix = self.folder / f"for_{target or 'none'}"
        words = [self.options.tools / "caffe", "deploy", "-model", self.source, "-weights", self.weights, "-output",
                 prefix] + (["-target", target] if target else [])
        said = case.call_caffe(words)
        self.warned = "may compute something else" in said
        outputs = re.search(r"^outputs: (.*)$", said, re.MULTILINE)[1].split(", ")
        return pathlib.Path(f"{prefix}.prototxt"), pathlib.Path(f"{prefix}.caffemodel"), outputs

    def difference(self, reader, net, weights, outputs):
        """Of what the reader computes from a pair, from what we do."""
        ours = library.Net(self.options.library, net)
        ours.load(weights)
        inputs = {}
        for at, blob in enumerate(ours.names("input")):
            shape = ours.shape(blob)
            count = math.prod(shape)
            numbers = self.inputs.get(blob, ())
            # Of a source, whose records are not here.
            if len(numbers) != count:
                numbers = array.array("f", ((7 * place % 31) / 31 - 0.4 for place in range(count)))
            file = self.folder / f"in_{at}.f32"
            file.write_bytes(numbers.tobytes())
            ours.write(blob, numbers)
            inputs[blob] = {"file": str(file), "shape": shape}
        ours.forward()
        files = {blob: str(self.folder / f"out_{at}.f32") for at, blob in enumerate(outputs)}
        case.ask({"reader": reader, "net": str(net), "weights": str(weights), "inputs": inputs, "outputs": files,
                  "folder": str(self.folder)}, make=not self.options.installed, patience=PATIENCE)
        return max(case.difference(blob, ours.read(blob), case.read_floats(file)) for blob, file in files.items())


def attempt(recorded, reader, pair, limit):
    """Whether the reader computes the same, and what to say of it."""
    try:
        worst = recorded.difference(reader, *pair)
    except library.Failure as failure:
        return False, str(failure)
    return worst <= limit, f"{worst:.0e}"


def judge(recorded, reader, limit):
    try:
        pair = recorded.pair(case.TARGETS.get(reader, reader))
    except library.Failure as failure:
        why = str(failure).removeprefix("caffe deploy: ")
        # Whether it had to.
        try:
            same, how = attempt(recorded, reader, recorded.pair(""), limit)
        except library.Failure:
            return Outcome(REFUSED, f"for every target: {why}")
        return Outcome(STRICT if same else REFUSED, f"{why} (as it is: {how})")
    warned = recorded.warned
    same, how = attempt(recorded, reader, pair, limit)
    return Outcome(SAME if same else WARNED if warned else SILENT, how)


def names(golden):
    found = (path.stem for path in sorted(golden.glob("*.prototxt")))
    return [name for name in found if not name.startswith(PASSED_OVER) and (golden / f"{name}.bin").exists()]


def table(golden, options, readers, limits, base):
    """Prints what is not the same, and a line for each reader; returns how many have no silent failure, of how many."""
    os.chdir(golden)  # from where recordings name their files
    wanted, counts = options.nets or names(golden), {reader: collections.Counter() for reader in readers}
    for name in wanted:
        try:
            recorded = Recorded(golden, name, options, base / name)
        except library.Failure as failure:
            print(f"-- {name} is passed over: {failure}")
            continue
        for reader in readers:
            outcome = judge(recorded, reader, limits(reader))
            counts[reader][outcome.kind] += 1
            if outcome.kind != SAME:
                print(f"{reader}: {name}: {outcome.kind}: {outcome.text}", flush=True)
    print("| reader | " + " | ".join(KINDS) + " |\n|" + " --- |" * (1 + len(KINDS)))
    for reader, count in counts.items():
        print(f"| {reader} | " + " | ".join(str(count[kind]) for kind in KINDS) + " |")
    total = sum(sum(count.values()) for count in counts.values())
    return total - sum(count[SILENT] for count in counts.values()), total
