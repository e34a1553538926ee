#!/usr/bin/env python3
"""Kills at random moments while snapshots are written: what is there afterwards is the old snapshot or the new one, whole,
in each format. ROBUSTA_KILLS says how many per format (4), ROBUSTA_SEED draws the moments."""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
KILLS = int(os.environ.get("ROBUSTA_KILLS", "4"))
SEED = int(os.environ.get("ROBUSTA_SEED", str(random.randrange(1 << 30))))
PATIENCE = 120
# Eight million weights with a history: a snapshot has 64 MB, and takes most of the time.
SOLVER = """base_lr: 0.01 lr_policy: 'fixed' momentum: 0.9 snapshot_prefix: 'toy' random_seed: 1 display: 1
max_iter: 1000000 snapshot: 1 snapshot_format: {}
net_param {{ name: 'toy'
  layer {{ name: 'data' type: 'DummyData' top: 'data' top: 'label'
          dummy_data_param {{ shape {{ dim: 1 dim: 2000 }} shape {{ dim: 1 }} }} }}
  layer {{ name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param {{ num_output: 4000 }} }}
  layer {{ name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }} }}
"""


@unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
class KilledSnapshots(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.draw = random.Random(SEED)
        self.log = ""

    def train(self, wait, snapshots=1):
        """Trains from the newest snapshot on; killed `wait` seconds after it has begun to write so many of its own. When
        it has begun each."""
        begun, lines = [], []
        env = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(self.folder)}
        with subprocess.Popen([TOOLS / "caffe", "train", "-solver", "solver.prototxt", "-snapshot", "auto"], env=env,
                              cwd=self.folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            guard = threading.Timer(PATIENCE, process.kill)
            guard.start()
            try:
                for line in process.stderr:
                    lines.append(line)
                    if "Snapshotting to" in line:
                        begun.append(time.monotonic())
                        if len(begun) == snapshots:
                            time.sleep(wait)
                            break
            finally:
                guard.cancel()
                process.kill()
                lines.append(process.stderr.read())
        self.log = "".join(lines)
        self.assertEqual(len(begun), snapshots, self.log[-3000:])
        return begun

    def states(self):
        """Iterations whose state is there."""
        return {int(found[1]) for name in os.listdir(self.folder)
                if (found := re.fullmatch(r"toy_iter_(\d+)\.solverstate(\.h5)?", name))}

    def clean(self):
        """Leaves the newest snapshot alone. Its iteration, and how many half files there were."""
        states, left = self.states(), list(self.folder.glob("toy_iter_*.tmp.*"))
        for path in left:
            path.unlink()
        for path in self.folder.glob("toy_iter_*"):
            # A model without a state is what a kill between the two leaves.
            if int(re.match(r"toy_iter_(\d+)", path.name)[1]) < max(states):
                path.unlink()
        return max(states), len(left)

    def check(self, name):
        (self.folder / "solver.prototxt").write_text(SOLVER.format(name))
        probe = subprocess.run([TOOLS / "caffe", "plan", "-solver", "solver.prototxt"], cwd=self.folder, text=True,
                               capture_output=True, check=False)
        if name == "HDF5" and ("not built in" in probe.stderr or probe.returncode == 9):
            self.skipTest("this build has no HDF5")
        begun = self.train(0, snapshots=3)
        seconds = begun[2] - begun[1]
        finished, within = self.clean()[0], 0
        for kill in range(KILLS):
            self.train(self.draw.uniform(0, seconds))
            where = f"kill {kill} of seed {SEED}: {self.log[-3000:]}"
            resumed = re.search(r"resuming from toy_iter_(\d+)\.", self.log)
            self.assertNotIn("passed over", self.log, where)
            self.assertTrue(resumed, where)
            self.assertEqual(int(resumed[1]), finished, where)
            finished, left = self.clean()
            within += left > 0
        print(f"{name}: {KILLS} kills, {within} of them within a file, snapshots up to iteration {finished}", file=sys.stderr)
        if KILLS >= 50:  # fewer may all miss, by chance
            self.assertGreater(within, 0, "no kill hit a snapshot: the test tests nothing")

    def test_protobuf(self):
        self.check("BINARYPROTO")

    def test_hdf5(self):
        self.check("HDF5")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
