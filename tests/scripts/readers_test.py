"""scripts/check_readers.py: OpenCV computes from our files what we compute, and what differs is told."""

import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ["ROBUSTA_TOOLS_DIR"])
sys.path.insert(0, str(ROOT / "scripts"))

from robusta_readers import case, environments, library, nets, recordings, rules, wire  # noqa: E402 (needs the path)


def check(*words, readers=None):
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    if readers:
        variables["ROBUSTA_READERS_DIR"] = readers
    return subprocess.run([ROOT / "scripts/check_readers.py", "--tools", TOOLS, "--installed", *words], text=True,
                          capture_output=True, check=False, env=variables)


def make_reader(own, program):
    """An environment in the place of OpenCV's whose interpreter is this program."""
    place = pathlib.Path(own) / "opencv"
    (place / "lib/python3.11/site-packages").mkdir(parents=True)
    (place / "bin").mkdir()
    (place / "bin/python").write_text(program)
    (place / "bin/python").chmod(0o755)
    (place / "pins").write_text(repr(environments.READERS["opencv"]))


def zeros(count):
    """A reader that computes this many zeros."""
    return (f"#!{sys.executable}\nimport json, sys\ntask = json.load(sys.stdin)\n"
            f"for path in task['outputs'].values():\n    open(path, 'wb').write(bytes(4 * {count}))\nprint('{{}}')\n")


def write_recording(folder, name, layer, numbers, comment=""):
    (folder / f"{name}.prototxt").write_text(
        comment + 'layer { name: "in_0" type: "Input" top: "bottom_0" input_param { shape { dim: 1 dim: 2 dim: 1 dim: 2 } } }\n'
        f'layer {{ name: "layer" bottom: "bottom_0" top: "top_0" {layer} }}\n')
    array = struct.pack("<I8sI4I4f", 8, b"bottom_0", 4, 1, 2, 1, 2, *numbers)
    (folder / f"{name}.bin").write_bytes(b"CAFGOLD1" + struct.pack("<I", 1) + array)


class ReadersTest(unittest.TestCase):
    def test_opencv_computes_what_we_compute(self):
        try:
            environments.environment("opencv", make=False)
        except environments.Unavailable as why:
            self.skipTest(str(why))
        done = check("--readers", "opencv", "deconvolution", "ssd", "lenet")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = re.findall(r"^\| (?:deconvolution|ssd|lenet) \| \d\.\de-\d\d \|$", done.stdout, re.MULTILINE)
        self.assertEqual(len(rows), 3, done.stdout)
        self.assertTrue(done.stdout.endswith("3 of 3 as expected, 1 readers\n"), done.stdout)

    def test_without_a_reader_it_is_skipped(self):
        with tempfile.TemporaryDirectory() as empty:
            done = check("--readers", "rknn", "lenet", readers=empty)
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
        self.assertIn("rknn is left out: rknn is not installed", done.stdout)

    def test_a_reader_that_computes_something_else_is_told(self):
        with tempfile.TemporaryDirectory() as own:
            make_reader(own, zeros(4 * 10))
            done = check("--readers", "opencv", "lenet", readers=own)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("| lenet | 1.0e+00 DIFFERS |", done.stdout)

    def test_a_reader_that_hangs_is_ended_with_what_it_started(self):
        with tempfile.TemporaryDirectory() as own:
            make_reader(own, "#!/bin/sh\nsleep 3000 &\necho $! > started\nsleep 3000\n")
            with mock.patch.dict(os.environ, {"ROBUSTA_READERS_DIR": own}):
                with self.assertRaisesRegex(library.Failure, "does not end within 1 s"):
                    case.ask({"reader": "opencv", "folder": own}, make=False, patience=1)
            started = pathlib.Path("/proc", (pathlib.Path(own) / "started").read_text().strip(), "stat")
            for _ in range(1000):  # a signal takes its time
                if not started.exists() or started.read_text().split()[2] == "Z":
                    break
                time.sleep(0.01)
            else:
                self.fail("what the reader has started goes on")

    def test_what_fails_in_silence_is_told_of_a_recording(self):
        with tempfile.TemporaryDirectory() as own:
            make_reader(own, zeros(4))
            golden = pathlib.Path(own) / "golden"
            golden.mkdir()
            write_recording(golden, "ReLU__zeros", 'type: "ReLU"', (-1, -2, -3, -4))
            write_recording(golden, "ReLU__others", 'type: "ReLU"', (1, 2, 3, 4))
            write_recording(golden, "SPP__h1", 'type: "SPP" spp_param { pyramid_height: 1 }', (1, 2, 3, 4))
            done = check("--recordings", golden, "--readers", "opencv", readers=own)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("opencv: ReLU__others: SILENT: 1e+00", done.stdout)
        self.assertRegex(done.stdout, "opencv: SPP__h1: refused: .*no layer of type SPP")
        self.assertIn("| opencv | 1 | 0 | 1 | 0 | 1 |\n2 of 3 as expected", done.stdout)

    def test_weights_of_a_recording_may_be_in_a_file(self):
        with tempfile.TemporaryDirectory() as own:
            make_reader(own, zeros(4))
            golden = pathlib.Path(own) / "golden"
            golden.mkdir()
            blob = wire.message([(5, bytes(2 * 4)), (7, wire.message([(1, bytes([2]))]))])
            layer = wire.message([(1, b"layer"), (2, b"Scale"), (7, blob)])
            (golden / "zeros.caffemodel").write_bytes(wire.message([(100, layer)]))
            write_recording(golden, "Scale__ones", 'type: "Scale"', (1, 2, 3, 4))
            write_recording(golden, "Scale__of_file", 'type: "Scale"', (1, 2, 3, 4), "# weights: zeros.caffemodel\n")
            done = check("--recordings", golden, "--readers", "opencv", readers=own)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("opencv: Scale__ones: SILENT: 1e+00", done.stdout)
        self.assertIn("| opencv | 1 | 0 | 0 | 0 | 1 |\n1 of 2 as expected", done.stdout)

    def test_names_in_recordings(self):
        arrays = {"bottom_1": ([2], "b"), "param_0": ([1], "p"), "s0:in:data": ([1], "d"), "param:ip:1": ([1], "q"),
                  "top_0": ([1], "t"), "s1:in:data": ([1], "later")}
        inputs, parameters = recordings.inputs_and_parameters(arrays)
        self.assertEqual(inputs, {"bottom_1": "b", "raw_1": "b", "data": "d"})
        self.assertEqual(parameters, {("layer", 0): "p", ("ip", 1): "q"})

    def test_ncnn_wants_its_converter_before_anything_is_installed(self):
        with tempfile.TemporaryDirectory() as own:
            with mock.patch.dict(os.environ, {"ROBUSTA_READERS_DIR": own, "PATH": own, "ROBUSTA_CAFFE2NCNN": ""}):
                with self.assertRaisesRegex(environments.Unavailable, "no caffe2ncnn: build tools/caffe"):
                    environments.environment("ncnn")
                self.assertEqual(os.listdir(own), [])
                program = pathlib.Path(own) / "caffe2ncnn"
                program.touch(0o755)
                self.assertEqual(environments.settings("ncnn"), {"ROBUSTA_CAFFE2NCNN": str(program)})

    def test_every_published_net_is_given_to_readers_and_has_a_row(self):
        published = {path.parent.name for path in ROOT.glob("models/*/deploy.prototxt")}
        self.assertLessEqual({"lenet", "vgg16", "mobilenet_v2"}, published)
        self.assertEqual(set(nets.all_nets(ROOT)), published | set(nets.WRITTEN))
        table = (ROOT / "docs/readers.md").read_text()
        self.assertEqual([name for name in sorted(published) if f"\n| {name} | " not in table], [])

    def test_every_rule_has_a_net_or_a_reason(self):
        self.assertEqual(rules.forgotten(TOOLS / "caffe"), [])
        self.assertFalse({row.rule for row in rules.RULES} & set(rules.WITHOUT))
        for row in rules.RULES:
            self.assertLessEqual(set(row.breaks), {*environments.READERS, *environments.WITHIN}, row.rule)

    def test_messages_are_put_together_as_they_were(self):
        # Numbers of one and of two bytes, four and eight bytes, a string.
        message = bytes([8, 5, 16, 0xac, 2, 29, 1, 2, 3, 4, 33, 1, 2, 3, 4, 5, 6, 7, 8, 0xa2, 6, 2]) + b"it"
        fields = wire.fields(message)
        self.assertEqual([number for number, _ in fields], [1, 2, 3, 4, 100])
        self.assertEqual(fields[1][1], 300)
        self.assertEqual(wire.message(fields), message)
        with self.assertRaises(ValueError):
            wire.fields(bytes([11]))


if __name__ == "__main__":
    unittest.main()
