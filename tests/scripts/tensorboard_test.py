#!/usr/bin/env python3
"""caffe train -tensorboard, read by PyPI's tensorboard: its numbers are those of -log_json.

Wants a Python with tensorboard: the one that runs this, ROBUSTA_TENSORBOARD_PYTHON, or the environment `tensorboard` of
scripts/robusta_readers/environments.py, made of PyPI when it is first asked for. Without: skipped, 77.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.compat.proto import graph_pb2
    from tensorboard.plugins.hparams import plugin_data_pb2
except ImportError as missing:
    if os.environ.get("ROBUSTA_TENSORBOARD_INNER"):
        raise
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
    from robusta_readers import environments
    try:
        other = os.environ.get("ROBUSTA_TENSORBOARD_PYTHON") or environments.environment("tensorboard")[0]
    except environments.Unavailable as why:
        print(f"SKIPPED: {missing}; {why}")
        sys.exit(77)
    os.execve(other, [other, *sys.argv], {**os.environ, "ROBUSTA_TENSORBOARD_INNER": "1"})

NET = """name: "to/y"
layer { name: "data" type: "DummyData" top: "data" top: "label"
        dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 }
                           data_filler { type: "uniform" min: -1 max: 1 } data_filler { type: "constant" value: 1 } } }
layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
layer { name: "prob" type: "Softmax" bottom: "ip2" top: "prob" include { phase: TEST } }
"""
SOLVER = """net: "net.prototxt" base_lr: 0.125 lr_policy: "step" stepsize: 4 gamma: 0.5 momentum: 0.9 type: "Nesterov"
random_seed: 1 display: 2 max_iter: 10 test_iter: 2 test_interval: 5 snapshot_prefix: "toy" %s
"""


class Events(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "net.prototxt").write_text(NET)
        (self.folder / "solver.prototxt").write_text(SOLVER % "")

    def train(self, *flags, launcher=(), want=0):
        done = subprocess.run([*launcher, TOOLS / "caffe", "train", "-solver", "solver.prototxt", *flags],
                              cwd=self.folder, stderr=subprocess.PIPE, text=True, errors="replace", timeout=300, check=False)
        self.assertEqual(done.returncode, want, done.stderr)
        return done.stderr

    def runs(self):
        return sorted((self.folder / "board").iterdir())

    def read(self, run):
        events = EventAccumulator(str(run), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
        events.Reload()
        return events

    def logged(self):
        """{tag: {step: value}} as -log_json has them."""
        tags = {}
        for line in (self.folder / "log.json").read_text().splitlines():
            event = json.loads(line)
            kind, step = event["event"], event.get("iter")
            if kind in ("train", "test"):
                values = {f"{kind}/loss": event.get("loss")}
                values.update({f"{kind}/output/{name}": value for name, value in event["outputs"].items()})
                if kind == "train":
                    values.update({"train/lr": event["lr"], "speed/images_per_second": event["img_per_s"],
                                   "speed/iterations_per_second": event["iter_per_s"],
                                   "speed/data_wait": event["data_wait"]})
                    if "comm" in event:
                        values["speed/communication"] = event["comm"]
            elif kind == "final":
                values = {"train/loss": event["loss"]}
            else:
                continue
            for tag, value in values.items():
                if value is not None:
                    tags.setdefault(tag, {})[step] = value
        return tags

    def compare(self, events, but=()):
        logged = self.logged()
        scalars = [tag for tag in events.Tags()["scalars"] if not tag.startswith(but or "?")]
        self.assertEqual(sorted(scalars), sorted(logged))
        for tag, values in logged.items():
            found = {event.step: event.value for event in events.Scalars(tag)}
            self.assertEqual(sorted(found), sorted(values), tag)
            for step, value in values.items():
                self.assertAlmostEqual(found[step], value, delta=1e-6 * max(1, abs(value)), msg=f"{tag} at {step}")

    def test_scalars_are_those_of_the_log(self):
        self.train("-tensorboard", "board", "-log_json", "log.json")
        (run,) = self.runs()
        self.assertRegex(run.name, r"^\d{8}-\d{6}_to_y$")
        events = self.read(run)
        self.compare(events)
        self.assertEqual({e.step: e.value for e in events.Scalars("train/lr")},
                         {0: 0.125, 2: 0.125, 4: 0.0625, 6: 0.0625, 8: 0.03125})
        self.assertIn("test/output/prob[11]", events.Tags()["scalars"])
        self.assertEqual(events.Tags()["histograms"], [])

    def test_names_that_are_no_utf8_are_readable(self):
        net = NET.encode().replace(b'"ip1"', b'"ip\xe9"').replace(b'top: "loss"', b'top: "lo\xe9ss"')
        (self.folder / "net.prototxt").write_bytes(net)
        (self.folder / "solver.prototxt").write_bytes((SOLVER % "").encode().replace(b'"toy"', b'"t\xe9y"'))
        self.train("-tensorboard", "board", "-tensorboard_histograms", "3", "-log_json", "log.json")
        events = self.read(self.runs()[0])
        self.assertIn("train/output/lo\ufffdss", events.Tags()["scalars"])
        self.assertIn("weights/ip\ufffd/0", events.Tags()["histograms"])
        graph = graph_pb2.GraphDef.FromString(events.Graph().SerializeToString())
        self.assertIn("ip\ufffd", [node.name for node in graph.node])
        plugin = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
        info = plugin_data_pb2.HParamsPluginData.FromString(plugin).session_start_info
        self.assertEqual(info.hparams["snapshot_prefix"].string_value, "t\ufffdy")
        self.compare(events, "update_ratio/")

    def test_a_training_that_fails_has_ended(self):
        (self.folder / "solver.prototxt").write_text((SOLVER % "").replace("0.125", "1e30"))
        self.train("-tensorboard", "board", want=6)
        metadata = self.read(self.runs()[0]).summary_metadata["_hparams_/session_end_info"]
        info = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content).session_end_info
        self.assertEqual(info.status, 2)  # STATUS_FAILURE

    def test_the_graph_is_the_net(self):
        self.train("-tensorboard", "board")
        graph = graph_pb2.GraphDef.FromString(self.read(self.runs()[0]).Graph().SerializeToString())
        nodes = {node.name: node for node in graph.node}
        self.assertEqual({name: (node.op, list(node.input)) for name, node in nodes.items()},
                         {"data": ("DummyData", []), "ip1": ("InnerProduct", ["data"]), "relu": ("ReLU", ["ip1"]),
                          "ip2": ("InnerProduct", ["relu"]), "loss": ("SoftmaxWithLoss", ["ip2", "data:1"])})
        self.assertEqual([d.size for d in nodes["ip1"].attr["_output_shapes"].list.shape[0].dim], [4, 5])
        self.assertEqual(nodes["ip1"].attr["parameters"].i, 6 * 5 + 5)

    def test_settings_are_hyper_parameters(self):
        self.train("-tensorboard", "board")
        content = self.read(self.runs()[0]).summary_metadata["_hparams_/session_start_info"].plugin_data.content
        settings = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
        self.assertEqual(settings["base_lr"].number_value, 0.125)
        self.assertEqual(settings["type"].string_value, "Nesterov")
        self.assertEqual((settings["batch"].number_value, settings["ranks"].number_value), (4, 1))
        content = self.read(self.runs()[0]).summary_metadata["_hparams_/session_end_info"].plugin_data.content
        end = plugin_data_pb2.HParamsPluginData.FromString(content).session_end_info
        self.assertEqual(end.status, 1)  # success

    def test_histograms_of_parameters(self):
        self.train("-tensorboard", "board", "-tensorboard_histograms", "3", "-log_json", "log.json")
        events = self.read(self.runs()[0])
        self.compare(events, "update_ratio/")
        parameters = ["ip1/0", "ip1/1", "ip2/0", "ip2/1"]
        self.assertEqual(sorted(events.Tags()["histograms"]),
                         sorted([f"weights/{p}" for p in parameters] + [f"gradients/{p}" for p in parameters] +
                                [f"log10_update_ratio/{p}" for p in parameters]))
        weights = events.Histograms("weights/ip1/0")
        self.assertEqual([event.step for event in weights], [0, 3, 6, 9])
        for event in weights:
            value = event.histogram_value
            self.assertEqual((value.num, sum(value.bucket)), (30, 30))
            self.assertLess(value.min, 0)
            self.assertAlmostEqual(value.max, value.bucket_limit[-1])
        ratios = events.Scalars("update_ratio/ip2/0")
        self.assertTrue(all(0 < event.value < 1 for event in ratios), ratios)

    def test_update_ratios_are_rate_times_gradient(self):
        (self.folder / "solver.prototxt").write_text(SOLVER.replace('momentum: 0.9 type: "Nesterov"', "") % "")
        self.train("-tensorboard", "board", "-tensorboard_histograms", "1")
        events = self.read(self.runs()[0])
        weights = events.Histograms("weights/ip2/0")[0].histogram_value
        gradients = events.Histograms("gradients/ip2/0")[0].histogram_value
        expected = 0.125 * (gradients.sum_squares / weights.sum_squares) ** 0.5
        self.assertAlmostEqual(events.Scalars("update_ratio/ip2/0")[0].value, expected, delta=1e-5 * expected)

    def test_looking_does_not_change_the_training(self):
        self.train("-deterministic")
        plain = (self.folder / "toy_iter_10.caffemodel").read_bytes()
        self.train("-deterministic", "-tensorboard", "board", "-tensorboard_histograms", "2")
        self.assertEqual((self.folder / "toy_iter_10.caffemodel").read_bytes(), plain)

    def test_each_run_has_a_folder_of_its_own(self):
        for _ in range(3):
            self.train("-tensorboard", "board")
        runs = self.runs()
        self.assertEqual(len(runs), 3)
        for run in runs:
            self.assertEqual(len(list(run.iterdir())), 1)

    def test_a_resume_goes_on_counting(self):
        (self.folder / "solver.prototxt").write_text(SOLVER % "snapshot: 6")
        self.train("-tensorboard", "board")
        self.train("-tensorboard", "board", "-snapshot", "toy_iter_6.solverstate")
        steps = [[event.step for event in self.read(run).Scalars("train/lr")] for run in self.runs()]
        self.assertEqual(steps, [[0, 2, 4, 6, 8], [6, 8]])

    def test_what_cannot_be_written_is_told_before_training(self):
        (self.folder / "board").write_text("a file")
        log = self.train("-tensorboard", "board", want=7)
        self.assertIn("cannot write events for TensorBoard to board", log)
        self.assertNotIn("Iteration 0", log)
        log = self.train("-tensorboard_histograms", "5", want=1)
        self.assertIn("without -tensorboard", log)

    def test_a_full_disk_warns_once(self):
        # A file may not grow beyond some blocks: the snapshots are smaller.
        (self.folder / "solver.prototxt").write_text(SOLVER.replace("display: 2 max_iter: 10",
                                                                    "display: 1 max_iter: 100") % "")
        log = self.train("-tensorboard", "board", "-tensorboard_histograms", "1",
                         launcher=["bash", "-c", "ulimit -f 48; exec \"$@\"", "-"])
        self.assertEqual(log.count("TensorBoard sees no more of it"), 1)
        self.assertTrue((self.folder / "toy_iter_100.caffemodel").exists())
        self.assertGreater(len(self.read(self.runs()[0]).Scalars("train/loss")), 2)

    def test_rank_0_alone_writes(self):
        if not shutil.which("mpirun"):
            self.skipTest("there is no mpirun")
        environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1",
                       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
        os.environ.update(environment)
        self.train("-tensorboard", "board", "-tensorboard_histograms", "4", "-log_json", "log.json",
                   launcher=["mpirun", "-n", "2"])
        (run,) = self.runs()
        events = self.read(run)
        self.compare(events, "update_ratio/")
        self.assertIn("speed/communication", events.Tags()["scalars"])
        self.assertEqual([event.step for event in events.Histograms("gradients/ip1/0")], [0, 4, 8])


if __name__ == "__main__":
    unittest.main()
