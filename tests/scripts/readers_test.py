"""scripts/check_readers.py: OpenCV computes from our files what we compute, and what differs is told."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ["ROBUSTA_TOOLS_DIR"])
sys.path.insert(0, str(ROOT / "scripts"))

from robusta_readers import environments, nets, rules, wire  # noqa: E402 (needs the path)


def check(*words, readers=None):
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    if readers:
        variables["ROBUSTA_READERS_DIR"] = readers
    return subprocess.run([ROOT / "scripts/check_readers.py", "--tools", TOOLS, "--installed", *words], text=True,
                          capture_output=True, check=False, env=variables)


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
            # In the place of OpenCV an interpreter that leaves zeros.
            place = pathlib.Path(own) / "opencv"
            (place / "lib/python3.11/site-packages").mkdir(parents=True)
            (place / "bin").mkdir()
            python = place / "bin/python"
            python.write_text(f"#!{sys.executable}\nimport json, sys\ntask = json.load(sys.stdin)\n"
                              "for path in task['outputs'].values():\n    open(path, 'wb').write(bytes(4 * 10 * 4))\n"
                              "print('{}')\n")
            python.chmod(0o755)
            (place / "pins").write_text(repr(environments.READERS["opencv"]))
            done = check("--readers", "opencv", "lenet", readers=own)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("| lenet | 1.0e+00 DIFFERS |", done.stdout)

    def test_there_are_twelve_nets(self):
        self.assertEqual(len(nets.all_nets(ROOT)), 12)

    def test_every_rule_has_a_net_or_a_reason(self):
        self.assertEqual(rules.forgotten(TOOLS / "caffe"), [])
        self.assertFalse({row.rule for row in rules.RULES} & set(rules.WITHOUT))
        for row in rules.RULES:
            self.assertLessEqual(set(row.breaks), set(environments.READERS), row.rule)

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
