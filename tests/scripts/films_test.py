#!/usr/bin/env python3
"""docs/compatibility.md, "Films": its commands are run on a film, and the layer that it shows reads what they write.

ROBUSTA_TOOLS_DIR says where the programs are. Without ffmpeg 5.1 or newer, or without the programs, the test is passed over.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
SECTION = re.search(r"^## Films\n(.*?)^## ", (ROOT / "docs/compatibility.md").read_text(), re.DOTALL | re.MULTILINE)[1]
COMMANDS = re.search(r"```sh\n(.*?)```", SECTION, re.DOTALL)[1]
LAYER = re.search(r"```\n(layer .*?)```", SECTION, re.DOTALL)[1]
CONVERT = re.search(r"`(convert_imageset [^`]*)`", SECTION)[1]


def run(folder, *words):
    environment = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(words, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=60, check=False)
    return done.returncode, done.stdout


def ffmpeg_is_new_enough():
    """Versions without a number are those of its developers, and newer."""
    if not shutil.which("ffmpeg"):
        return False
    said = subprocess.run(["ffmpeg", "-version"], text=True, capture_output=True, check=False)
    found = re.match(r"ffmpeg version n?(\d+)\.(\d+)", said.stdout)
    return not found or (int(found[1]), int(found[2])) >= (5, 1)


class FilmsTest(unittest.TestCase):
    def setUp(self):
        own = tempfile.TemporaryDirectory()
        self.addCleanup(own.cleanup)
        self.folder = pathlib.Path(own.name)
        self.succeed("ffmpeg", "-f", "lavfi", "-i", "testsrc=duration=1:size=64x48:rate=12", "film.mp4")
        self.succeed("bash", "-ec", COMMANDS)

    def succeed(self, *words):
        status, output = run(self.folder, *words)
        self.assertEqual(status, 0, output[-2000:])
        return output

    def test_every_third_frame_is_a_file_in_the_list(self):
        lines = (self.folder / "frames.txt").read_text().splitlines()
        self.assertEqual(lines, [f"frames/00000{i}.png 0" for i in range(1, 5)])
        self.assertEqual(len(list((self.folder / "frames").iterdir())), 4)

    def test_the_layer_reads_them(self):
        (self.folder / "net.prototxt").write_text(
            LAYER + 'layer { name: "silence" type: "Silence" bottom: "data" bottom: "label" }\n')
        output = self.succeed("caffe", "time", "-model", "net.prototxt", "-forward_only", "-iterations", "3")
        self.assertIn("4 3 48 64", output)
        self.assertNotIn("synthetic", output)

    def test_they_become_a_database(self):
        self.succeed("bash", "-ec", CONVERT)
        self.assertTrue((self.folder / "frames_lmdb").is_dir())


if __name__ == "__main__":
    if not ffmpeg_is_new_enough() or not (TOOLS / "caffe").exists():
        print("SKIPPED: there is no ffmpeg 5.1 or newer, or no caffe")
        sys.exit(77)
    unittest.main()
