#!/usr/bin/env python3
"""Logs of real trainings, and what reports make of them: both kinds of log tell the same."""

import json
import os
import re
import shutil
import subprocess
import unittest

from report_test import TOOLS, Folder

NET = """name: "toy"
layer { name: "data" type: "DummyData" top: "data" top: "label"
        dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 }
                           data_filler { type: "uniform" min: -1 max: 1 } data_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" include { phase: TEST } }
"""
# test_compute_loss: the line "Test loss".
SOLVER = """net: "net.prototxt" base_lr: 0.125 lr_policy: "fixed" random_seed: 1 display: 2 max_iter: %d
test_iter: 2 test_interval: 4 test_compute_loss: true snapshot: 6 snapshot_prefix: "toy"
"""
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}


class OwnLogs(Folder):
    def train(self, *words, launcher=(), iterations=10, more=""):
        (self.folder / "net.prototxt").write_text(NET)
        (self.folder / "solver.prototxt").write_text(SOLVER % iterations + more)
        with open(self.folder / "run.log", "a", encoding="utf-8") as log:
            done = subprocess.run([*launcher, TOOLS / "caffe", "train", "-solver", "solver.prototxt", "-log_json",
                                   "run.json", *words], cwd=self.folder, stderr=log, timeout=120, check=False,
                                  env={**os.environ, **MPI})
        self.assertEqual(done.returncode, 0, (self.folder / "run.log").read_text()[-2000:])

    def report(self):
        """(the run of the events, the run of the log for people, the events of both)"""
        self.caffe("report", "run.json", "run.log")
        page = (self.folder / "report.html").read_bytes()
        data = json.loads(re.search(rb'id="data">(.*?)</script>', page, re.S).group(1))
        self.assertEqual([run["name"] for run in data["runs"]], ["run.json", "run.log"])
        return (*data["runs"], data["events"])

    def compare(self, events, text):
        for tag, series in events["series"].items():
            if tag.startswith("speed/") or tag.startswith("communication/"):
                continue
            self.assertEqual(series["iter"], text["series"][tag]["iter"], tag)
            for a, b in zip(series["value"], text["series"][tag]["value"]):
                self.assertAlmostEqual(a, b, delta=1e-4 * abs(a), msg=tag)

    def test_both_logs_tell_the_same(self):
        self.train()
        events, text, _ = self.report()
        self.compare(events, text)
        for tag in ("train/loss", "test/loss", "test/output/prob[3]"):
            self.assertIn(tag, events["series"])
        self.assertEqual(events["series"]["test/loss"]["iter"], [0, 4, 8])

    def test_a_resumed_training_is_one_run_in_both(self):
        self.train()
        self.train("-snapshot", "toy_iter_6.solverstate", iterations=14)
        events, text, happened = self.report()
        self.assertEqual(events["series"]["train/loss"]["iter"], [0, 2, 4, 6, 8, 10, 12, 14])
        self.compare(events, text)
        self.assertEqual([(e["run"], e["iter"]) for e in happened if e["kind"] == "resume"], [(0, 6), (1, 6)])
        self.assertEqual(events["repeat"].count("caffe train"), 2)
        self.assertIn("-snapshot toy_iter_6.solverstate", events["repeat"])

    def test_warnings_are_in_both(self):
        self.train(more="disabled_update: true\n")
        logged = [line.split("] ", 1)[1] for line in (self.folder / "run.log").read_text().splitlines()
                  if re.match(r"W\d{4}", line)]
        self.assertTrue(any("no parameter is updated" in line for line in logged), logged)
        events = [json.loads(line) for line in (self.folder / "run.json").read_text().splitlines()]
        self.assertEqual(events[0]["event"], "start")
        self.assertEqual([e["message"] for e in events if e["event"] == "warning"], list(dict.fromkeys(logged)))

    def test_a_launcher_is_a_part_of_the_command(self):
        if not shutil.which("mpirun"):
            self.skipTest("there is no mpirun")
        self.train()
        self.assertNotIn("mpirun", self.report()[0]["repeat"])
        (self.folder / "run.json").unlink()
        (self.folder / "run.log").unlink()
        self.train(launcher=["mpirun", "-n", "2"])
        self.assertRegex(self.report()[0]["repeat"], r"(?m)^(\S*/)?mpirun -n 2 \S*caffe train -solver solver\.prototxt")


if __name__ == "__main__":
    unittest.main()
