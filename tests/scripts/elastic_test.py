#!/usr/bin/env python3
"""caffe train by ranks that come and go on one host (-elastic): who is lost, who comes in, and how it ends."""

import os
import pathlib
import re
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
USAGE, COMMUNICATION = 1, 8  # exit codes
PATIENCE = 60
ENDLESS = 100_000_000
NET = """layer { name: "data" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 24 dim: 2000 } shape { dim: 24 dim: 1 } data_filler { type: "gaussian" } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 1 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
"""


class Elastic(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "net.prototxt").write_text(NET)
        self.port = str(start_ranks.free_port())
        self.log = self.folder / "log"
        self.solve(ENDLESS)

    def solve(self, iterations, name="solver.prototxt", more=""):
        (self.folder / name).write_text(
            f'net: "net.prototxt" base_lr: 0.0001 lr_policy: "fixed" max_iter: {iterations} display: 100 momentum: 0.9 '
            f'random_seed: 1 snapshot_after_train: false snapshot_prefix: "state" {more}')

    def start(self, rank, ranks=3, bounds="1:3", solver="solver.prototxt", flags=(), **environment):
        command = [CAFFE, "train", "-solver", solver, "-ddl", f"-elastic {bounds} -timeout 5", *flags]
        place = {name: value for name, value in os.environ.items() if name not in ("TF_CONFIG", "ROBUSTA_TOKEN")}
        place |= {"OMP_NUM_THREADS": "1", "RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
                  "MASTER_PORT": self.port, "ROBUSTA_TOKEN": "a-secret", "ROBUSTA_FLAP_SECONDS": "0"}
        with self.log.open("a") as log:
            process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT,
                                       env={**place, **environment})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def text(self):
        return self.log.read_text()

    def story(self):
        """What ended the wait for something else: the lines about ranks, and the last ones."""
        told = [line for line in self.text().splitlines() if re.search("Elastic|error", line)]
        return "\n".join(told) + self.text()[-1000:]

    def await_text(self, pattern, count=1):
        last = time.monotonic() + PATIENCE
        while len(re.findall(pattern, self.text())) < count:
            self.assertLess(time.monotonic(), last, f"no {pattern} in\n{self.story()}")
            time.sleep(0.05)

    def end(self, process, code):
        process.wait(timeout=PATIENCE)
        self.assertEqual(process.returncode, code, self.story())

    def stop(self, processes):
        """As an engine does: a snapshot, and all end well."""
        processes[0].send_signal(signal.SIGUSR1)
        for process in processes:
            self.end(process, 0)

    def test_ranks_are_lost_and_come_in(self):
        ranks = [self.start(rank) for rank in range(3)]
        self.await_text("generation 1 of 3 ranks")
        self.await_text("Iteration 200")
        ranks[2].kill()
        self.await_text(r"generation 2 of 2 ranks, .*: from iteration [1-9]")
        self.await_text(r"Elastic: rank 2 on \S+ \(pid \d+\) has died")
        ranks[2] = self.start(2)
        self.await_text("generation 3 of 3 ranks")
        ranks[0].kill()
        self.await_text("generation 4 of 2 ranks")
        ranks[0] = self.start(0)
        self.await_text("generation 5 of 3 ranks")
        self.assertEqual(len(re.findall("generation 1 of", self.text())), 1, "no second job was founded")
        ranks[1].kill()
        ranks[2].kill()
        self.await_text("generation 6 of 1 rank,")
        self.stop(ranks[:1])

    def test_a_stopped_rank_is_found_and_left_behind(self):
        ranks = [self.start(rank) for rank in range(3)]
        self.await_text("Iteration 200")
        ranks[1].send_signal(signal.SIGSTOP)
        self.await_text("generation 2 of 2 ranks")
        self.end(ranks[1], -signal.SIGKILL)
        self.stop([ranks[0], ranks[2]])

    def test_training_comes_to_its_end(self):
        self.solve(3000, more='snapshot: 1000')
        ranks = [self.start(rank, flags=["-batch", "global"]) for rank in range(3)]
        self.await_text("Iteration 500")
        ranks[1].kill()
        for rank in (0, 2):
            self.end(ranks[rank], 0)
        self.assertEqual(len(re.findall("Optimization Done", self.text())) > 0, True)
        self.assertTrue((self.folder / "state_iter_3000.solverstate").exists())
        self.assertFalse((self.folder / "state.lock").exists())

    def test_as_many_train_as_divide_the_global_batch(self):
        ranks = [self.start(rank, 6, "1:6", flags=["-batch", "global"]) for rank in range(6)]
        self.await_text("generation 1 of 6 ranks")
        self.await_text("Iteration 100")
        ranks[5].kill()
        self.await_text("generation 2 of 4 ranks")
        ranks[5] = self.start(5, 6, "1:6", flags=["-batch", "global"])
        self.await_text("generation 3 of 6 ranks")
        self.stop(ranks)

    def test_who_stands_by_ends_with_the_job(self):
        ranks = [self.start(rank, 2, "1:2") for rank in range(2)]
        self.await_text("Iteration 100")
        spare = self.start(7, 2, "1:2")
        time.sleep(1)
        self.stop([*ranks, spare])

    def test_too_few_write_what_they_have(self):
        ranks = [self.start(rank, bounds="3:3", ROBUSTA_MEETING_SECONDS="3") for rank in range(3)]
        self.await_text("Iteration 200")
        ranks[2].kill()
        for rank in (0, 1):
            self.end(ranks[rank], COMMUNICATION)
        states = list(self.folder.glob("state_iter_*.solverstate"))
        self.assertEqual(len(states), 1, self.text()[-2000:])
        self.log.write_text("")
        ranks = [self.start(rank, bounds="3:3", flags=["-snapshot", "auto"]) for rank in range(3)]
        self.await_text(f"Resuming from {states[0].name}")
        self.stop(ranks)

    def test_a_host_that_flaps_is_kept_out(self):
        ranks = [self.start(rank, ROBUSTA_FLAP_SECONDS="600") for rank in range(3)]
        for lost in range(3):
            self.await_text(r"generation \d+ of 3 ranks", lost + 1)
            ranks[2].kill()
            self.await_text(r"generation \d+ of 2 ranks", lost + 1)
            ranks[2] = self.start(2, ROBUSTA_FLAP_SECONDS="600")
        self.end(ranks[2], COMMUNICATION)
        self.assertIn("was lost 3 times: it is kept out from now on", self.text())
        self.assertIn("was lost 3 times and is kept out of this job", self.text())
        self.stop(ranks[:2])

    def test_a_new_rank_that_cannot_train_ends_nobody_else(self):
        ranks = [self.start(rank, 2) for rank in range(2)]
        self.await_text("generation 1 of 2 ranks")
        self.solve(ENDLESS, "other.prototxt", more="weight_decay: 0.1")
        other = self.start(2, solver="other.prototxt")
        self.end(other, COMMUNICATION)
        self.await_text("generation 3 of 2 ranks")
        self.stop(ranks)

    def test_an_error_of_its_own_ends_the_job(self):
        self.solve(ENDLESS, more="lr_policy2: 1")
        for rank in [self.start(rank) for rank in range(3)]:
            self.end(rank, 2)

    def test_mpi_cannot(self):
        environment = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}
        process = self.start(0, 2, **environment)
        self.end(process, USAGE)
        self.assertIn("-elastic", self.text())
        self.assertIn("MPI ends the job when a rank dies", self.text())


if __name__ == "__main__":
    unittest.main()
