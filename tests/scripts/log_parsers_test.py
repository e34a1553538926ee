#!/usr/bin/env python3
"""Our log, read as BVLC's parse_log.py and extract_seconds.py read Caffe's.

What those look for is written down here from the forms of Caffe's log: the prefix `Lmmdd hh:mm:ss.uuuuuu pid file:line] `
without a year, "Solving", "Iteration N", "lr = v" and the outputs of train and test nets.
"""

import datetime
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

CAFFE = pathlib.Path(os.environ["ROBUSTA_TOOLS_DIR"]) / "caffe"

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
ITERATION = re.compile(r"Iteration (\d+)")
LOSS = re.compile(r"Iteration (\d+).*, loss = (" + NUMBER + ")")
RATE = re.compile(r"lr = (" + NUMBER + ")")
OUTPUT = re.compile(r"(Train|Test) net output #(\d+): (\S+) = (" + NUMBER + ")")

NET = """
name: "toy"
layer { name: "data" type: "DummyData" top: "data" top: "label"
  dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 }
    data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
"""
SOLVER = """
net: "net.prototxt" base_lr: 0.01 lr_policy: "inv" gamma: 0.0001 power: 0.75 momentum: 0.9 random_seed: 1
display: 5 max_iter: 20 test_iter: 2 test_interval: 10 snapshot_prefix: "toy"
"""


def time_of(line, year):
    """As extract_seconds.py takes it: two digits each of month and day after the letter, then the time."""
    day, clock = line.split()[:2]
    month, day = int(day[1:3]), int(day[3:])
    hours, minutes, seconds = clock.split(":")
    whole, micros = seconds.split(".")
    return datetime.datetime(year, month, day, int(hours), int(minutes), int(whole), int(micros))


def parse(lines, year):
    """Rows as parse_log.py makes them: one per iteration and phase, with the seconds since "Solving"."""
    start = time_of(next(line for line in lines if "Solving" in line), year)
    rows, losses, iteration, rate = {}, {}, None, None
    for line in lines:
        found = ITERATION.search(line)
        if found:
            iteration = int(found.group(1))
        if iteration is None:
            continue
        if LOSS.search(line):
            losses[int(LOSS.search(line).group(1))] = float(LOSS.search(line).group(2))
        if RATE.search(line):
            rate = float(RATE.search(line).group(1))
            rows.get(("Train", iteration), {})["LearningRate"] = rate
        found = OUTPUT.search(line)
        if found:
            row = rows.setdefault((found.group(1), iteration), {})
            row["Seconds"] = (time_of(line, year) - start).total_seconds()
            row[found.group(3)] = float(found.group(4))
    return rows, losses


class LogParsersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "net.prototxt").write_text(NET)
            pathlib.Path(folder, "solver.prototxt").write_text(SOLVER)
            done = subprocess.run([CAFFE, "train", "-solver=solver.prototxt", "-autotune=false"], cwd=folder,
                                  capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS="1"), timeout=120)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.lines = done.stderr.splitlines()
        cls.year = datetime.datetime.now().year

    def test_every_line_of_the_log_has_caffes_prefix(self):
        prefix = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w./]+:\d+\] ")
        logged = [line for line in self.lines if re.match(r"^[IWEF]\d", line)]
        self.assertGreater(len(logged), 20)
        for line in logged:
            self.assertRegex(line, prefix)
        for word in ("Iteration", "net output", "Solving", "lr ="):
            for line in self.lines:
                if word in line:
                    self.assertRegex(line, prefix)

    def test_rows_of_training(self):
        rows, losses = parse(self.lines, self.year)
        for iteration in (0, 5, 10, 15):
            row = rows[("Train", iteration)]
            self.assertGreater(row["loss"], 0)
            self.assertAlmostEqual(row["LearningRate"], 0.01 * (1 + 0.0001 * iteration) ** -0.75, places=7)
            self.assertGreaterEqual(row["Seconds"], 0)
            self.assertLess(row["Seconds"], 120)
            self.assertGreater(losses[iteration], 0)
        self.assertIn(20, losses)

    def test_rows_of_tests(self):
        rows, _ = parse(self.lines, self.year)
        for iteration in (0, 10, 20):
            row = rows[("Test", iteration)]
            self.assertTrue(0 <= row["accuracy"] <= 1)
            self.assertGreater(row["loss"], 0)
            self.assertGreaterEqual(row["Seconds"], 0)

    def test_a_prefix_with_the_year_would_not_do(self):
        # What glog writes by itself: the month would be 20.
        with self.assertRaises(ValueError):
            time_of("I20261122 09:15:02.123456 77 solver.cpp:5] Solving toy", 2026)


if __name__ == "__main__":
    unittest.main()
