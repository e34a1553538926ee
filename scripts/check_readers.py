#!/usr/bin/env python3
"""Whether other programs that read Caffe's files compute from ours what we compute.

Each net (scripts/robusta_readers/nets.py) gets random weights and statistics, `caffe deploy -target READER` writes a
pair for each reader - a program without that action gives the net as it is, and says so -, and the reader runs it on
the same samples, in an environment of its own (scripts/robusta_readers/environments.py). Prints a table of the largest
differences as parts of the largest number of the output; a reader that computes in f32 may differ by 1e-4.

With --rules, the nets are those that break the rules of `caffe deploy -lint`, one for each, and every reader gets them
as they are and as deploy rewrites them (scripts/robusta_readers/rules.py says what is to come of that).

With --recordings FOLDER, they are the recordings of the real Caffe: what deploy writes has to compute the same in the
reader, or deploy has to refuse it (scripts/robusta_readers/recordings.py).

  scripts/check_readers.py [--rules | --recordings FOLDER] [--tools FOLDER] [--library FILE] [--readers A,B] [--installed]
    [--keep FOLDER] [NET...]

The exit code is 0 when nothing differs but what is known (LINES), 1 when something does, 77 when no reader is here.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from robusta_readers import environments, library, nets, recordings, rules  # noqa: E402 (needs the path)
from robusta_readers.case import Case  # noqa: E402

LIMIT = 1e-4
RECORDED_LIMIT = 5e-4  # MNN differs by more than 1e-4 in a LeNet; what is computed wrongly, by 1e-2 and more
LIMITS = {"rknn": 2e-2}  # its simulator computes in f16
READERS = ("pycaffe", "tpu-mlir", "opencv", "mnn", "openvino", "rknn", "ncnn", "onnxruntime")
CUT_WINDOWS = ("AVE windows that are cut are divided by whole ones", 5e-2)
# What a reader cannot, as measured: the reason, and how it shows: what the failure says, or the largest difference.
LINES = {
    ("opencv", "lstm"): ("deploy refuses an LSTM", r"OpenCV has no layer of type LSTM"),
    ("mnn", "lstm"): ("deploy refuses an LSTM", r"MNN has no layer of type LSTM"),
    ("ncnn", "lstm"): ("deploy refuses an LSTM", r"ncnn has no layer of type LSTM"),
    ("ncnn", "ssd"): ("detections have six columns, without the item", r"found has 294 numbers, not 350"),
    ("mnn", "ssd"): ("detections have six columns, without the item", r"found has 294 numbers, not 350"),
    ("pycaffe", "cifar10_quick"): CUT_WINDOWS,
    ("tpu-mlir", "cifar10_quick"): CUT_WINDOWS,
    ("rknn", "cifar10_quick"): CUT_WINDOWS,
    ("openvino", "lstm"): ("deploy refuses an LSTM", r"OpenVINO has no layer of type LSTM"),
    ("rknn", "lstm"): ("deploy refuses an LSTM", r"RKNN has no layer of type LSTM"),
    ("rknn", "ssd"): ("its DetectionOutput has another size", r"found has \d+ numbers, not 350"),
}


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


def recording_table(options, _texts, readers, base):
    return recordings.table(options.recordings.resolve(), options, readers,
                            lambda reader: max(RECORDED_LIMIT, LIMITS.get(reader, LIMIT)), base)


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
    parser.add_argument("--recordings", type=pathlib.Path, metavar="FOLDER",
                        help="the recordings there, one by one; NET is then the name of one")
    parser.add_argument("nets", nargs="*", metavar="NET", help="names of folders of models/, or of nets.py")
    options = parser.parse_args()
    options.tools = options.tools.resolve()
    options.library = (options.library or options.tools.parent / "src/librobusta.so").resolve()
    table = rule_table if options.rules else recording_table if options.recordings else net_table
    texts = {row.rule: row.net for row in rules.RULES} if options.rules else nets.all_nets(ROOT)
    if options.recordings:
        texts = dict.fromkeys(recordings.names(options.recordings))
        if not texts:
            sys.exit(f"there are no recordings in {options.recordings}")
    wrong = [name for name in options.nets if name not in texts]
    wrong += [name for name in options.readers.split(",") if name not in READERS]
    if wrong:
        sys.exit(f"unknown: {wrong[0]}; nets: {', '.join(texts)}; readers: {', '.join(READERS)}")
    readers = []
    if table is not net_table:  # of Caffe's files, which onnxruntime does not read
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
        good, total = table(options, texts, readers, base)
    print(f"{good} of {total} as expected, {len(readers)} readers")
    return 0 if good == total else 1


if __name__ == "__main__":
    sys.exit(main())
