#!/usr/bin/env python3
"""caffe train by ranks that no MPI starts: what happens when one is missing, is killed, or is a stranger's."""

import json
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
COMMUNICATION = 8  # exit code
PATIENCE = 60
NET = """layer { name: "data" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 8 dim: 20 } shape { dim: 8 dim: 1 } data_filler { type: "gaussian" } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 1 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
"""


def without_ranks():
    return {name: value for name, value in os.environ.items()
            if name not in ("WORLD_SIZE", "RANK", "TF_CONFIG", "ROBUSTA_TOKEN")}


class Meeting(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "net.prototxt").write_text(NET)
        self.port = str(start_ranks.free_port())

    def command(self, iterations):
        (self.folder / "solver.prototxt").write_text(
            f'net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed" max_iter: {iterations} display: 100 '
            'random_seed: 1 snapshot_after_train: false')
        return [CAFFE, "train", "-solver", "solver.prototxt", "-ddl", "-timeout 5"]

    def start(self, rank, ranks=2, iterations=20, more=(), **environment):
        process = subprocess.Popen(
            [*self.command(iterations), *more], cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**without_ranks(), "OMP_NUM_THREADS": "1", "RANK": str(rank), "WORLD_SIZE": str(ranks),
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": self.port, "XDG_CONFIG_HOME": str(self.folder / "config"),
                 **environment})
        self.addCleanup(process.kill)
        return process

    def said(self, process, code):
        log = process.communicate(timeout=PATIENCE)[0]
        self.assertEqual(process.returncode, code, log)
        return log

    def test_two_train_together(self):
        second, first = self.start(1), self.start(0)
        self.assertIn("2 ranks", self.said(first, 0))
        self.assertEqual(self.said(second, 0), "", "one log for the job")

    def test_who_is_missing_is_named(self):
        ranks = [self.start(rank, 4, ROBUSTA_MEETING_SECONDS="1") for rank in (0, 2)]
        for rank in ranks:
            self.assertIn("ranks 1, 3 of 4 did not come", self.said(rank, COMMUNICATION))

    def test_a_lost_rank_ends_with_the_code_that_an_engine_starts_again(self):
        more = ["-restart_code", "138"]
        first, second = (self.start(rank, iterations=100_000_000, more=more) for rank in (0, 1))
        for line in first.stdout:
            if "Iteration 100" in line:
                break
        second.send_signal(signal.SIGKILL)
        self.assertIn("All 2 ranks end with code 138.", self.said(first, 138))
        alone = self.start(1, ROBUSTA_MEETING_SECONDS="1", more=more)
        self.assertIn("does not reach rank 0", self.said(alone, 138))

    def test_a_killed_rank_is_named(self):
        first, second = self.start(0, iterations=100_000_000), self.start(1, iterations=100_000_000)
        for line in first.stdout:
            if "Iteration 100" in line:
                break
        second.send_signal(signal.SIGKILL)
        began = time.monotonic()
        log = self.said(first, COMMUNICATION)
        self.assertLess(time.monotonic() - began, 15)
        self.assertIn("rank 1", log)

    def test_an_error_of_one_ends_all(self):
        """Where nobody watches the ranks, too."""
        other = self.folder / "other"
        other.mkdir()
        command = self.command(1_000_000_000)[:-1] + ["-timeout 0"]
        place = {**without_ranks(), "OMP_NUM_THREADS": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": self.port, "XDG_CONFIG_HOME": str(self.folder / "config")}
        ranks = [subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env={**place, "RANK": str(rank)})
                 for rank, folder in enumerate((self.folder, other))]
        for rank in ranks:
            self.addCleanup(rank.kill)
        logs = [self.said(rank, 2) for rank in ranks]
        self.assertIn("solver.prototxt", "".join(logs))

    def test_settings_are_checked(self):
        self.assertIn("ROBUSTA_MEETING_SECONDS=nonsense", self.said(self.start(1, ROBUSTA_MEETING_SECONDS="nonsense"), 1))

    def test_ranks_share_their_users_secret(self):
        secret = self.folder / "config" / "robusta" / "token"
        ranks = [self.start(rank, 8) for rank in range(8)]
        for rank in ranks:
            self.said(rank, 0)
        self.assertEqual(secret.stat().st_mode & 0o777, 0o600)
        self.assertRegex(secret.read_text(), "^[0-9a-f]{32}$")
        self.assertEqual(list(secret.parent.iterdir()), [secret])
        secret.chmod(0o640)
        self.assertIn("is not this user's alone", self.said(self.start(0), COMMUNICATION))

    def test_another_secret_keeps_out(self):
        first = self.start(0, ROBUSTA_MEETING_SECONDS="2")
        other = self.start(1, ROBUSTA_TOKEN="another", ROBUSTA_MEETING_SECONDS="2")
        self.assertIn("no answer", self.said(other, COMMUNICATION))
        self.assertIn("rank 1 of 2 did not come", self.said(first, COMMUNICATION))

    def test_without_a_home_a_secret_has_to_be_given(self):
        self.assertIn("ROBUSTA_TOKEN is not set, nor is HOME",
                      self.said(self.start(0, XDG_CONFIG_HOME="", HOME=""), COMMUNICATION))

    def test_the_cluster_of_tensorflow(self):
        cluster = {"worker": [f"127.0.0.1:{self.port}", "127.0.0.1:9"]}
        ranks = [self.start(0, 1, TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}}))
                 for index in range(2)]
        self.assertIn("2 ranks", self.said(ranks[0], 0))
        self.said(ranks[1], 0)

    def test_parameter_servers_of_tensorflow(self):
        cluster = {"worker": [f"127.0.0.1:{self.port}", "127.0.0.1:9"], "ps": ["127.0.0.1:8"]}
        tasks = [("worker", 0), ("worker", 1), ("ps", 0)]

        def job(*more):
            return [self.start(0, 1, more=more, TF_CONFIG=json.dumps(
                {"cluster": cluster, "task": {"type": kind, "index": index}})) for kind, index in tasks]
        ranks = job()
        self.assertIn("1 server holds the parameters for 2 groups, all in step", self.said(ranks[0], 0))
        for rank in ranks[1:]:
            self.said(rank, 0)
        apart = job("-ddl", "-timeout 5 -max_staleness 1")
        self.assertIn("gradients up to 1 rounds late", self.said(apart[0], 0))
        for rank in apart[1:]:
            self.said(rank, 0)
        for rank in job("-n_server", "2"):
            self.assertIn("TF_CONFIG names 1 parameter server, and -n_server or -servers 2", self.said(rank, 1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
