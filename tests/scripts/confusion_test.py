#!/usr/bin/env python3
"""caffe test -confusion -top_losses: counts and losses of samples are those that the net's own layers average."""

import base64
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
CLASSES, SAMPLES, BATCH = 3, 24, 4
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}

NET = """name: "colors"
layer { name: "data" type: "ImageData" top: "data" top: "label" transform_param { scale: 0.00390625 }
        image_data_param { source: "list.txt" batch_size: %d } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param { num_output: %d weight_filler { type: "xavier" } } }
%s
"""
LOSS = 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }\n'
ACCURACY = 'layer { name: "accuracy" type: "Accuracy" bottom: "%s" bottom: "label" top: "accuracy" }\n'
SOLVER = """net: "net.prototxt" base_lr: 0.005 lr_policy: "fixed" max_iter: 12 snapshot_prefix: "colors" random_seed: 3
"""


def bmp(red, green, blue, dice, side=8):
    """A picture of about that color."""
    rows = bytes(max(0, min(255, c + dice.randrange(-160, 160))) for _ in range(side * side) for c in (blue, green, red))
    head = struct.pack("<IiiHHIIiiII", 40, side, side, 1, 24, 0, len(rows), 2835, 2835, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54) + head + rows


@unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
class Confusion(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        dice = random.Random(7)
        self.labels = [dice.randrange(CLASSES) for _ in range(SAMPLES)]
        lines = []
        for i, label in enumerate(self.labels):
            color = [200 if channel == label else 80 for channel in range(3)]
            (self.folder / f"{i}.bmp").write_bytes(bmp(*color, dice))
            lines.append(f"{i}.bmp {label}\n")
        (self.folder / "list.txt").write_text("".join(lines))
        self.net(LOSS + ACCURACY % "ip")
        (self.folder / "solver.prototxt").write_text(SOLVER)
        self.caffe("train", "-solver", "solver.prototxt")

    def net(self, layers):
        (self.folder / "net.prototxt").write_text(NET % (BATCH, CLASSES, layers))

    def caffe(self, *words, launcher=(), want=0):
        done = subprocess.run([*launcher, TOOLS / "caffe", *words], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=300, check=False, env={**os.environ, **MPI})
        self.assertEqual(done.returncode, want, done.stderr)
        return done

    def score(self, *words, batches=SAMPLES // BATCH, **more):
        """The log, the tables, the events by kind."""
        (self.folder / "test.json").unlink(missing_ok=True)
        done = self.caffe("test", "-model", "net.prototxt", "-weights", "colors_iter_12.caffemodel", "-iterations",
                          str(batches), "-log_json", "test.json", *words, **more)
        path = self.folder / "test.json"
        events = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return done.stderr, done.stdout, {event["event"]: event for event in events}

    def logged(self, log, name):
        return float(re.findall(rf"\] {name}(?: =|:) ([-\d.e]+)", log)[-1])

    def test_counts_and_losses_are_those_of_the_net(self):
        log, tables, events = self.score("-confusion", "-top_losses", "100")
        matrix, samples = events["confusion"]["matrix"], events["top_losses"]["samples"]
        self.assertEqual([sum(row) for row in matrix], [self.labels.count(c) for c in range(CLASSES)])
        right = sum(matrix[c][c] for c in range(CLASSES))
        self.assertAlmostEqual(right / SAMPLES, self.logged(log, "accuracy"), places=5)
        self.assertGreater(SAMPLES, right)  # else a transposed matrix would pass
        self.assertEqual(len(samples), SAMPLES)
        self.assertAlmostEqual(sum(s["loss"] for s in samples) / SAMPLES, self.logged(log, "loss"), places=5)
        self.assertEqual([s["loss"] for s in samples], sorted((s["loss"] for s in samples), reverse=True))
        for sample in samples:
            self.assertTrue(sample["record"].startswith(f"{sample['sample']}.bmp"), sample["record"])
            self.assertEqual(sample["label"], self.labels[sample["sample"]])
            self.assertTrue(base64.b64decode(sample["png"]).startswith(b"\x89PNG"))
        counted = [[0] * CLASSES for _ in range(CLASSES)]
        for sample in samples:
            counted[sample["label"]][sample["prediction"]] += 1
        self.assertEqual(counted, matrix)
        self.assertIn(f"{SAMPLES} labels", tables)
        self.assertRegex(tables, r"\n +1" + "".join(rf" +{count}" for count in matrix[1]) + r" +[01]\.\d{4}\n")

    def test_probabilities_are_taken_as_they_are(self):
        _, _, plain = self.score("-top_losses", "5")
        self.net('layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }\n' + ACCURACY % "prob")
        _, _, events = self.score("-top_losses", "5")
        for a, b in zip(plain["top_losses"]["samples"], events["top_losses"]["samples"]):
            self.assertEqual(a["sample"], b["sample"])
            self.assertAlmostEqual(a["loss"], b["loss"], places=4)
        self.assertNotIn("confusion", events)

    def test_the_largest_alone_are_kept(self):
        _, _, all_of_them = self.score("-top_losses", "100")
        _, tables, some = self.score("-top_losses", "5")
        self.assertEqual(some["top_losses"]["samples"], all_of_them["top_losses"]["samples"][:5])
        self.assertEqual(len(tables.splitlines()), 6)

    def test_ranks_find_the_same(self):
        if not shutil.which("mpirun"):
            self.skipTest("there is no mpirun")
        _, _, one = self.score("-confusion", "-top_losses", "7")
        _, _, two = self.score("-confusion", "-top_losses", "7", launcher=["mpirun", "-n", "4"])
        self.assertEqual(two["confusion"]["matrix"], one["confusion"]["matrix"])
        for a, b in zip(one["top_losses"]["samples"], two["top_losses"]["samples"]):
            self.assertEqual((a["sample"], a["record"], a["png"]), (b["sample"], b["record"], b["png"]))
            self.assertAlmostEqual(a["loss"], b["loss"], places=5)

    def test_a_record_counts_once(self):
        _, _, once = self.score("-confusion", "-top_losses", "100")
        launchers = [[], ["mpirun", "-n", "4"]] if shutil.which("mpirun") else [[]]
        for launcher in launchers:
            _, tables, more = self.score("-confusion", "-top_losses", "100", batches=9, launcher=launcher)
            self.assertEqual(more["confusion"]["matrix"], once["confusion"]["matrix"])
            self.assertEqual(len(more["top_losses"]["samples"]), SAMPLES)
            self.assertIn("12 samples are of records that had come before", tables)
        (self.folder / "list.txt").write_text("".join(f"{i}.bmp {self.labels[i]}\n" for i in range(10)))
        _, tables, events = self.score("-confusion", "-top_losses", "100", batches=3)
        self.assertEqual(sum(map(sum, events["confusion"]["matrix"])), 10)
        self.assertEqual(len({s["record"] for s in events["top_losses"]["samples"]}), 10)
        self.assertNotIn("that had come before", self.score("-confusion", batches=2)[1])

    def test_scores_that_are_no_numbers_are_no_class(self):
        log = 'layer { name: "log" type: "Log" bottom: "ip" top: "n" log_param { shift: -1e6 } }\n'
        self.net(log + LOSS.replace('bottom: "ip"', 'bottom: "n"'))
        _, tables, events = self.score("-confusion", "-top_losses", "100")
        self.assertEqual(sum(map(sum, events["confusion"]["matrix"])), 0)
        self.assertIn(f"{SAMPLES} labels are left out: their scores are not numbers", tables)
        for sample in events["top_losses"]["samples"]:
            self.assertEqual((sample["loss"], sample["prediction"]), (None, -1))

    def test_the_scores_stay_what_they_are(self):
        plain, _, _ = self.score()
        looked, _, _ = self.score("-confusion", "-top_losses", "3")
        for name in ("loss", "accuracy"):
            self.assertAlmostEqual(self.logged(plain, name), self.logged(looked, name), places=5)

    def test_a_net_without_labels_is_refused(self):
        self.net('layer { name: "quiet" type: "Silence" bottom: "label" }\n')
        done = self.caffe("test", "-model", "net.prototxt", "-weights", "colors_iter_12.caffemodel", "-confusion", want=2)
        self.assertIn("no layer of the net compares scores with labels", done.stderr)
        done = self.caffe("test", "-model", "net.prototxt", "-weights", "x", "-top_losses", "-1", want=1)
        self.assertIn("-top_losses -1", done.stderr)


if __name__ == "__main__":
    unittest.main()
