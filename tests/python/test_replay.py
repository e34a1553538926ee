"""The recordings of the real Caffe through the module, by the script that made sure of them with pycaffe itself.

It lies with the recordings (ROBUSTA_SHARED_DIR, else ../shared), and is run as it is.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

SHARED = pathlib.Path(os.environ.get("ROBUSTA_SHARED_DIR", pathlib.Path(__file__).resolve().parents[3] / "shared"))
GOLDEN = SHARED / "golden"


def test_recordings_of_the_real_caffe(running_caffe, tmp_path):
    script = GOLDEN / "replay.py"
    if not script.exists():
        pytest.skip(f"there are no recordings in {GOLDEN}")
    shutil.copytree(GOLDEN, tmp_path / "golden")  # some nets write files
    done = subprocess.run([sys.executable, script, tmp_path / "golden"], stdout=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    counts = re.search(r"^passed (\d+) failed (\d+)$", done.stdout, re.M)
    assert counts and int(counts[1]) > 0 and int(counts[2]) == 0 and done.returncode == 0, done.stdout
