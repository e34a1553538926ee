#!/usr/bin/env python3
"""caffe find_lr: the rates, the losses, the suggestion; and that nothing of the training is written."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()

# y = the sum of 20 numbers: a parabola, on which gradient descent diverges beyond a rate that is known.
NET = """name: "line"
layer { name: "data" type: "DummyData" top: "x" dummy_data_param { shape { dim: 64 dim: 20 }
        data_filler { type: "gaussian" std: 1 } } }
layer { name: "one" type: "Reduction" bottom: "x" top: "y" reduction_param { operation: SUM axis: 1 } }
layer { name: "column" type: "Reshape" bottom: "y" top: "want" reshape_param { shape { dim: 64 dim: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 1 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "want" top: "loss" }
"""
SOLVER = """net: "net.prototxt" base_lr: 0.5 lr_policy: "step" stepsize: 3 gamma: 0.1 max_iter: 1000 random_seed: 1
warmup_iter: 5 warmup_start_lr: 0.25 display: 1 snapshot: 1 snapshot_prefix: "line" test_iter: 1 test_interval: 1
"""


@unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
class FindRate(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "net.prototxt").write_text(NET)
        (self.folder / "solver.prototxt").write_text(SOLVER)

    def find(self, *words, want=0):
        done = subprocess.run([TOOLS / "caffe", "find_lr", "-solver", "solver.prototxt", *words], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False,
                              env={**os.environ, "XDG_CACHE_HOME": "/tmp/find_lr_cache"})
        self.assertEqual(done.returncode, want, done.stderr)
        return done

    def test_suggests_a_rate_that_learns(self):
        said = self.find("-from", "1e-5", "-to", "100", "-iterations", "120", "-json", "rates.json", "-csv", "rates.csv")
        found = json.loads((self.folder / "rates.json").read_text())
        # Each of 20 directions has a curvature of about 1: it diverges from about 2 on.
        self.assertGreater(found["suggestion"], 0.01)
        self.assertLess(found["suggestion"], 1.5)
        self.assertLess(found["suggestion"], found["least_loss_at"])
        self.assertIn(f"Suggested base_lr:          {found['suggestion']:.6g}", said.stdout)
        self.assertIn("then it diverged", said.stdout)
        rows = [line.split(",") for line in (self.folder / "rates.csv").read_text().splitlines()]
        self.assertEqual(rows[0], ["rate", "loss", "smoothed_loss"])
        self.assertEqual(len(rows) - 1, len(found["iterations"]))
        rates = [float(row[0]) for row in rows[1:]]
        for i, rate in enumerate(rates):
            self.assertAlmostEqual(rate, 1e-5 * (1e7 ** (i / 119)), delta=1e-4 * rate)

    def test_writes_nothing_of_the_training(self):
        before = sorted(path.name for path in self.folder.iterdir())
        self.find("-iterations", "20", "-tensorboard", "board", "-log_json", "log.json", "-timeline", "t.json")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)

    def test_runs_100_iterations_unless_told_otherwise(self):
        self.find("-json", "rates.json", "-to", "1e-3")
        found = json.loads((self.folder / "rates.json").read_text())
        self.assertEqual(len(found["iterations"]), 100)
        self.assertAlmostEqual(found["iterations"][-1]["rate"], 1e-3, delta=1e-7)

    def test_says_where_there_is_nothing_to_suggest(self):
        (self.folder / "net.prototxt").write_text(NET.replace("num_output: 1 }", "num_output: 1 } param { lr_mult: 0 } "
                                                              "param { lr_mult: 0 }").replace("gaussian", "constant"))
        self.assertIn("No suggestion", self.find("-iterations", "20").stdout)

    def test_a_signal_ends_it_with_what_was_found(self):
        (self.folder / "net.prototxt").write_text(NET.replace("dim: 64 dim: 20", "dim: 20000 dim: 20")
                                                  .replace("dim: 64 dim: 1 ", "dim: 20000 dim: 1 "))
        for number in (signal.SIGINT, signal.SIGTERM):
            (self.folder / "rates.json").unlink(missing_ok=True)
            before = sorted(path.name for path in self.folder.iterdir())
            words = ["-from", "1e-7", "-to", "1e-3", "-iterations", "100000", "-json", "rates.json", "-csv", "rates.csv"]
            with subprocess.Popen([TOOLS / "caffe", "find_lr", "-solver", "solver.prototxt", *words], cwd=self.folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "XDG_CACHE_HOME": "/tmp/find_lr_cache"}) as finding:
                for line in finding.stderr:  # until the set-up is through
                    if "Solver scaffolding done" in line:
                        break
                time.sleep(2)
                finding.send_signal(number)
                said, log = finding.communicate(timeout=120)
            self.assertEqual(finding.returncode, 0, log)
            self.assertIn("then it was stopped", said)
            found = json.loads((self.folder / "rates.json").read_text())
            self.assertGreater(len(found["iterations"]), 0)
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                             sorted({*before, "rates.json", "rates.csv"}))

    def test_a_wall_time_that_is_over_leaves_nothing_to_say(self):
        said = self.find("-iterations", "100000", "-from", "1e-7", "-to", "1e-3", "-max_walltime", "1").stdout
        self.assertIn("then it was stopped", said)

    def test_rates_that_are_too_great_at_once_want_smaller_ones(self):
        said = self.find("-from", "1000", "-to", "10000", "-iterations", "20").stdout
        self.assertIn("Try a smaller -from", said)
        self.assertIn("then it diverged", said)

    def test_what_makes_no_range_is_refused(self):
        for words in (["-from", "1", "-to", "0.1"], ["-from", "0"], ["-iterations", "2"], ["-snapshot", "auto"],
                      ["-from", "nan"], ["-to", "inf"], ["-from", "1e-46"], ["-to", "1e39"]):
            self.assertTrue(self.find(*words, want=1).stderr.count("error"), words)
        self.find("-csv", "no_folder/x", want=7)


if __name__ == "__main__":
    unittest.main()
