#!/usr/bin/env python3
"""scripts/get_onednn.sh, without the network: what it refuses, and that it leaves nothing behind then."""

import os
import pathlib
import subprocess
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


class GetOnednn(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="get onednn ")
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.wheels = self.work / "wheels"
        self.wheels.mkdir()
        self.target = self.work / "made/onednn"

    def get(self):
        return subprocess.run(["bash", ROOT / "scripts/get_onednn.sh", self.target], text=True, capture_output=True,
                              env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": self.wheels.as_uri()})

    def left_behind(self):
        return list((self.work / "made").glob("*")) + list((self.work / "made").glob(".*"))

    def test_a_package_that_is_not_the_pinned_one_is_not_used(self):
        for name in ("onednn_cpu_gomp", "onednn_devel_cpu_gomp"):
            with zipfile.ZipFile(self.wheels / f"{name}-2023.2.0-py2.py3-none-manylinux1_x86_64.whl", "w") as wheel:
                wheel.writestr(f"{name}-2023.2.0.data/data/lib/libdnnl.so.3.2", "something else")
                wheel.writestr(f"{name}-2023.2.0.dist-info/METADATA", f"Name: {name}\nVersion: 2023.2.0\n")
        done = self.get()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("not the one that is pinned here", done.stderr)
        self.assertEqual(self.left_behind(), [])

    def test_where_it_cannot_be_had_is_no_failure(self):
        done = self.get()
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("pip could not get oneDNN", done.stderr)
        self.assertEqual(self.left_behind(), [])

    def test_what_is_there_stays(self):
        (self.target / "lib").mkdir(parents=True)
        done = self.get()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("holds something else", done.stderr)
        (self.target / "lib/libdnnl.so.3").touch()
        done = self.get()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("already", done.stdout)


if __name__ == "__main__":
    unittest.main()
