#!/usr/bin/env python3
"""caffe train under PyTorch's own torchrun: by each of its ways to meet, with the weights that mpirun gives.

Skipped (exit code 77) without torchrun in PATH that starts, or without mpirun.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import start_ranks  # noqa: E402

CAFFE = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve() / "caffe"
PATIENCE = 120
TRAIN = [str(CAFFE), "train", "-solver", "solver.prototxt"]
NET = """layer { name: "data" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 8 dim: 20 } shape { dim: 8 dim: 1 } data_filler { type: "gaussian" } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 1 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
"""


def starts():
    """Whether there is one; that of old releases takes --no_python alone."""
    if not shutil.which("torchrun") or not shutil.which("mpirun"):
        return False
    asked = subprocess.run(["torchrun", "--help"], capture_output=True, text=True, timeout=PATIENCE)
    return asked.returncode == 0 and "--no-python" in asked.stdout


class Torchrun(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "net.prototxt").write_text(NET)
        self.solver(20)

    def solver(self, iterations):
        (self.folder / "solver.prototxt").write_text(
            f'net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed" max_iter: {iterations} random_seed: 1 '
            'snapshot_prefix: "a"')

    def torchrun(self, *flags):
        process = subprocess.Popen(["torchrun", "--no-python", *flags, *TRAIN], cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                   env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.addCleanup(process.stdout.close)
        return process

    def weights(self, *processes):
        for process in processes:
            log = process.communicate(timeout=PATIENCE)[0]
            self.assertEqual(process.returncode, 0, log)
        model = self.folder / "a_iter_20.caffemodel"
        found = model.read_bytes()
        model.unlink()
        return found

    def test_each_way_to_meet_has_the_weights_of_mpirun(self):
        by_mpi = subprocess.Popen(["mpirun", "--bind-to", "none", "-n", "2", *TRAIN], cwd=self.folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env={**os.environ, "OMP_NUM_THREADS": "1"})
        want = self.weights(by_mpi)
        port = str(start_ranks.free_port())
        self.assertEqual(self.weights(self.torchrun("--nproc-per-node", "2")), want)
        self.assertEqual(self.weights(self.torchrun("--standalone", "--nproc-per-node", "2")), want)
        nodes = [self.torchrun("--nnodes", "2", "--node-rank", str(node), "--nproc-per-node", "1", "--master-addr",
                               "127.0.0.1", "--master-port", port) for node in range(2)]
        self.assertEqual(self.weights(*nodes), want)
        nodes = [self.torchrun("--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}",
                               "--rdzv-id", "7", "--nproc-per-node", "1") for _ in range(2)]
        self.assertEqual(self.weights(*nodes), want)

    def test_a_killed_rank_is_named_and_all_end(self):
        self.solver(100_000_000)
        process = self.torchrun("--nproc-per-node", "2")
        ranks = []
        for _ in range(PATIENCE * 10):
            found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True)
            ranks = found.stdout.split()
            if len(ranks) == 2:
                break
            time.sleep(0.1)
        time.sleep(2)  # it trains
        os.kill(int(ranks[1]), signal.SIGKILL)
        log = process.communicate(timeout=PATIENCE)[0]
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("has died: its process is gone without a word", log)
        self.assertIn("All 2 ranks end with code 8", log)


if __name__ == "__main__":
    if not starts():
        print("SKIPPED: no torchrun (PyTorch 2) or no mpirun in PATH")
        sys.exit(77)
    unittest.main(verbosity=2)
