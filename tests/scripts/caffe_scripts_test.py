#!/usr/bin/env python3
"""The scripts under Caffe's names: tables and curves of logs, drawings of nets, pictures of one size."""

import csv
import datetime
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from robusta_files import caffe_log, svg_chart, text_proto

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"

LOG = """Log file created at: 2026/11/22 09:15:00
I1231 23:59:58.000000 4711 solver.cpp:280] Solving toy
I1231 23:59:58.500000 4711 solver.cpp:340] Iteration 0, Testing net (#0)
I1231 23:59:59.000000 4711 solver.cpp:400]     Test net output #0: accuracy = 0.25
I1231 23:59:59.000000 4711 solver.cpp:400]     Test net output #1: loss = 1.5 (* 1 = 1.5 loss)
I1231 23:59:59.250000 4711 solver.cpp:228] Iteration 0 (0 iter/s, 0.5s/5 iters), loss = 1.75
I1231 23:59:59.250000 4711 solver.cpp:244]     Train net output #0: loss = 1.75 (* 1 = 1.75 loss)
I1231 23:59:59.250000 4711 solver.cpp:244]     Train net output #1: many = 1
I1231 23:59:59.250000 4711 solver.cpp:244]     Train net output #2: many = 2
I1231 23:59:59.250000 4711 sgd_solver.cpp:106] Iteration 0, lr = 0.01
a line without a prefix, Iteration 99
I0101 00:00:01.000000 4711 solver.cpp:228] Iteration 5, loss = nan
I0101 00:00:01.000000 4711 solver.cpp:244]     Train net output #0: loss = nan (* 1 = nan loss)
I0101 00:00:01.000000 4711 solver.cpp:244]     Train net output #1: many = -1e-05
I0101 00:00:01.000000 4711 sgd_solver.cpp:106] Iteration 5, lr = 0.005
"""

NET = """name: "toy" # a net
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN } }
layer { name: "conv|1" type: "Convolution" bottom: "data" top: "c"
        convolution_param { num_output: 7, kernel_size: [ 3 ]; stride: 2 } }
layer { name: 'relu' type: 'ReLU' bottom: 'c' top: 'c' }
layer { name: "acc" type: "Accuracy" bottom: "c" top: "a" exclude { phase: TRAIN } }
"""


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def run_script(self, name, *words, want=0, env=None):
        runner = ["bash"] if name.endswith(".sh") else [sys.executable]
        done = subprocess.run([*runner, SCRIPTS / name, *map(str, words)], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=100, check=False,
                              env={**os.environ, **(env or {})})
        self.assertEqual(done.returncode, want, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done


class Absent(Scripts):
    def test_a_file_that_is_not_there_is_named(self):
        calls = (("parse_log.py", "absent", "out"), ("parse_log.sh", "absent"), ("extract_seconds.py", "absent", "out"),
                 ("plot_training_log.py", "6", "out.svg", "absent"), ("draw_net.py", "absent", "out.dot"),
                 ("download_model_binary.py", "absent"))
        for call in calls:
            with self.subTest(call[0]):
                said = self.run_script(*call, want=1).stderr
                self.assertRegex(said, r"^\w+\.py: absent(/readme\.md)?: No such file or directory(;|$)")
                self.assertNotIn("Errno", said)

    def test_the_list_of_pictures(self):
        # A module of this name stands for Pillow, which is not asked for anything before the list is read.
        (self.folder / "PIL").mkdir()
        (self.folder / "PIL/__init__.py").write_text("Image = ImageOps = object\n")
        said = self.run_script("resize_and_crop_images.py", "--input_file_list", "absent", "--output_folder", "out",
                               want=1, env={"PYTHONPATH": str(self.folder)}).stderr
        self.assertEqual(said, "resize_and_crop_images.py: absent: No such file or directory\n")


class Logs(Scripts):
    def setUp(self):
        super().setUp()
        (self.folder / "toy.log").write_text(LOG)

    def rows(self, name, delimiter=","):
        with open(self.folder / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file, delimiter=delimiter))

    def test_tables(self):
        said = self.run_script("parse_log.py", "toy.log", ".", "--verbose").stdout
        self.assertIn("toy.log.train: 2 rows", said)
        train, test = self.rows("toy.log.train"), self.rows("toy.log.test")
        self.assertEqual(list(train[0]), ["NumIters", "Seconds", "LearningRate", "loss", "many", "many_1"])
        self.assertEqual(list(train[0].values()), ["0", "1.25", "0.01", "1.75", "1.0", "2.0"])
        self.assertEqual(list(train[1].values()), ["5", "3.0", "0.005", "nan", "-1e-05", ""])
        self.assertEqual(test, [{"NumIters": "0", "Seconds": "1.0", "LearningRate": "0.01", "accuracy": "0.25",
                                 "loss": "1.5"}])

    def test_shell_form(self):
        self.run_script("parse_log.sh", "toy.log")
        tables = {name: [line.split() for line in (self.folder / name).read_text().splitlines()]
                  for name in ("toy.log.test", "toy.log.train")}
        self.assertEqual(tables["toy.log.test"], [["#Iters", "Seconds", "TestAccuracy", "TestLoss"],
                                                  ["0", "1.000000", "0.25", "1.5"]])
        self.assertEqual(tables["toy.log.train"], [["#Iters", "Seconds", "TrainingLoss", "LearningRate"],
                                                   ["0", "1.250000", "1.75", "0.01"], ["5", "3.000000", "nan", "0.005"]])
        lines = (self.folder / "toy.log.train").read_text().splitlines()
        self.assertEqual({line.index(word) for line, word in zip(lines, ("Seconds", "1.25", "3.00"))}, {8})

    def test_seconds_pass_the_end_of_a_year(self):
        self.run_script("extract_seconds.py", "toy.log", "seconds")
        self.assertEqual((self.folder / "seconds").read_text().split(),
                         ["0.500000", "1.250000", "1.250000", "3.000000", "3.000000"])

    def test_prefixes_with_a_year(self):
        self.assertEqual(caffe_log.time_of("I20261121 05:44:18.113905 27190 caffe.cpp:197] Use CPU."),
                         datetime.datetime(2026, 11, 21, 5, 44, 18, 113905))
        self.assertIsNone(caffe_log.time_of("I1399 05:44:18.113905 27190 caffe.cpp:197] no such day"))

    def test_files_that_are_no_logs(self):
        (self.folder / "noise").write_bytes(os.urandom(10000) + b"\n" + b"x" * 200000)
        for script in ("parse_log.py", "extract_seconds.py"):
            self.assertIn("no log of a training", self.run_script(script, "noise", ".", want=1).stderr)
            self.assertIn("absent", self.run_script(script, "absent", ".", want=1).stderr)

    def test_charts(self):
        for number in range(8):
            self.run_script("plot_training_log.py", number, f"{number}.svg", "toy.log")
            picture = (self.folder / f"{number}.svg").read_text()
            self.assertIn("<polyline", picture)
        self.assertIn("Test accuracy by seconds", (self.folder / "1.svg").read_text())
        self.run_script("plot_training_log.py", 8, "x.svg", "toy.log", want=1)
        (self.folder / "matplotlib.py").write_text("raise ImportError")
        said = self.run_script("plot_training_log.py", 0, "x.png", "toy.log", want=9,
                               env={"PYTHONPATH": str(self.folder)}).stderr
        self.assertIn("ends in .svg", said)

    def test_scales_are_round(self):
        self.assertEqual(svg_chart.steps(0, 1000), [0, 200, 400, 600, 800, 1000])
        self.assertNotIn("nan", svg_chart.chart("t", "x", "y", {"a": [(0, float("nan")), (1, 2)], "none": []}))


class Drawings(Scripts):
    def draw(self, *words, **more):
        (self.folder / "net.prototxt").write_text(NET)
        self.run_script("draw_net.py", "net.prototxt", "net.dot", *words, **more)
        return (self.folder / "net.dot").read_text()

    def test_colours_and_edges(self):
        text = self.draw("--rankdir", "TB")
        self.assertIn("rankdir=TB;", text)
        self.assertIn(r'label="conv\|1 (Convolution) kernel size: 3 stride: 2 pad: 0", shape=record, '
                      'style=filled, fillcolor="#FF5050"', text)
        self.assertIn('label="relu (ReLU)", shape=record, style=filled, fillcolor="#90EE90"', text)
        self.assertIn('label="c", shape=octagon, style=filled, fillcolor="#E0E0E0"', text)
        self.assertIn('layer_1 -> blob_2 [label="7"];', text)
        self.assertIn(r'label="conv\|1\n(Convolution)\nkernel size: 3\nstride: 2\npad: 0\nlr mult: 1.0, 1.0"',
                      self.draw("--display_lrm"))

    def test_phases(self):
        self.assertNotIn("acc", self.draw("--phase", "TRAIN"))
        self.assertNotIn("(Data)", self.draw("--phase", "TEST"))

    def test_broken_nets(self):
        for text in ("layer { name: ", "layer { name: }", 'name: "no end', "a {" * 5000, "a: [1, 2"):
            (self.folder / "bad").write_text(text)
            self.assertIn("bad: ", self.run_script("draw_net.py", "bad", "x.dot", want=1).stderr)
            self.assertFalse((self.folder / "x.dot").exists())

    def test_without_dot(self):
        (self.folder / "net.prototxt").write_text(NET)
        (self.folder / "bin").mkdir()
        said = self.run_script("draw_net.py", "net.prototxt", "x.png", want=9, env={"PATH": str(self.folder / "bin")})
        self.assertIn("graphviz", said.stderr)

    def test_text_forms(self):
        self.assertEqual(text_proto.parse("a: 1 a: [2, 3] b < c: 'x' \"y\" > # end\n d { }"),
                         {"a": ["1", "2", "3"], "b": [{"c": ["xy"]}], "d": [{}]})


class Pictures(Scripts):
    def test_without_pillow(self):
        (self.folder / "PIL").mkdir()
        (self.folder / "PIL/__init__.py").write_text("raise ImportError")
        said = self.run_script("resize_and_crop_images.py", "--input_file_list", "l", "--output_folder", "o", want=9,
                               env={"PYTHONPATH": str(self.folder)})
        self.assertIn("Pillow is not installed", said.stderr)

    def test_squares(self):
        try:
            from PIL import Image  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("Pillow is not installed")
        Image.new("RGB", (40, 20), (255, 0, 0)).save(self.folder / "wide one.png")
        (self.folder / "list").write_text("wide one.png 3\nabsent.png\n../evil.png\n")
        shutil.copy(self.folder / "wide one.png", self.folder / "evil.png")
        (self.folder / "in").mkdir()
        shutil.move(self.folder / "wide one.png", self.folder / "in/wide one.png")
        self.run_script("resize_and_crop_images.py", "--input_file_list", "list", "--input_folder", "in",
                        "--output_folder", "out", "--output_side_length", 10, want=3)
        with Image.open(self.folder / "out/wide one.png") as image:
            self.assertEqual(image.size, (10, 10))
        with Image.open(self.folder / "evil.png") as image:
            self.assertEqual(image.size, (40, 20))


if __name__ == "__main__":
    unittest.main()
