#!/usr/bin/env python3
"""Pairs of `caffe deploy` in OpenCV's dnn, and models of `caffe export -onnx` in onnxruntime: some, for every build; and
what `caffe deploy -lint` says that OpenCV does not read.

Both programs are taken from where scripts/check_readers.py keeps them; where they are not there, from an environment in
the build folder, made once from PyPI. Without a network, or a Python of their version: skipped, 77.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
sys.path.insert(0, str(ROOT / "scripts"))

from robusta_readers import environments  # noqa: E402 (needs the path)

READERS = ("opencv", "onnxruntime")
NETS = ("deconvolution", "lenet", "squeezenet")
BREAK_OPENCV = ("float-arrays", "floor-pooling", "known-fields", "not-transposed", "lrn-k")


def find_readers():
    if not (TOOLS.parent / "src/librobusta.so").exists():
        raise environments.Unavailable("librobusta.so is not built")
    if all(environments.installed(reader) for reader in READERS):
        return
    os.environ["ROBUSTA_READERS_DIR"] = str(TOOLS.parent / "readers")
    os.environ.setdefault("PIP_RETRIES", "0")  # without a network, a skip should not take minutes
    os.environ.setdefault("PIP_TIMEOUT", "10")
    environments.INSTALLING = 200  # seconds for each of both: less than ctest waits
    for reader in READERS:
        environments.environment(reader)


def check(*words):
    return subprocess.run([ROOT / "scripts/check_readers.py", "--tools", TOOLS, "--installed", *words], text=True,
                          capture_output=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})


class SmallReadersTest(unittest.TestCase):
    def test_what_we_compute_is_computed_there(self):
        done = check("--readers", ",".join(READERS), *NETS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = re.findall(r"^\| (\w+) \| \d\.\de-\d\d \| \d\.\de-\d\d \|$", done.stdout, re.MULTILINE)
        self.assertEqual(tuple(rows), NETS, done.stdout)

    def test_what_breaks_opencv_is_told_and_mended(self):
        done = check("--rules", "--readers", "opencv", *BREAK_OPENCV)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = re.findall(r"^\| ([a-z-]+) \| breaks \(.*\), then \de[-+]\d\d \|$", done.stdout, re.MULTILINE)
        self.assertEqual(set(rows), set(BREAK_OPENCV), done.stdout)


if __name__ == "__main__":
    try:
        find_readers()
    except environments.Unavailable as why:
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main()
