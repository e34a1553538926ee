#!/usr/bin/env python3
"""scripts/jobs/chain.sh with the true caffe program: a job follows one that stopped early, and none the last one.

ddlrun is a stand-in that starts the program once; tests/cluster/ runs the jobs as they are.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", ROOT / "build" / "tools"))
PATIENCE = 300  # seconds, on a busy machine too
ENDLESS = 1_000_000_000

SOLVER = """base_lr: 0.01 lr_policy: 'fixed' snapshot_prefix: 'toy' random_seed: 1 display: 1000 max_iter: {}
net_param {{ name: 'toy'
  layer {{ name: 'data' type: 'DummyData' top: 'data' top: 'label'
          dummy_data_param {{ shape {{ dim: 2 dim: 3 }} shape {{ dim: 2 }} }} }}
  layer {{ name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param {{ num_output: 2 }} }}
  layer {{ name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }} }}
"""
JOB = f'. "{ROOT}/scripts/jobs/chain.sh"\nsubmit() {{ echo "LEFT=$LEFT" >> submitted; }}\ntrain_on log submit\n'


@unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
class Chain(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "ddlrun").write_text('#!/bin/sh\nexec "$@"\n')
        (self.folder / "ddlrun").chmod(0o755)
        (self.folder / "job").write_text(JOB)
        (self.folder / "submitted").touch()
        self.env = dict(os.environ, PATH=f"{self.folder}:{TOOLS}:{os.environ['PATH']}", OMP_NUM_THREADS="1",
                        SOLVER="solver.prototxt", XDG_CACHE_HOME=str(self.folder))
        for name in ("TIME", "LEFT", "DDL_OPTIONS"):
            self.env.pop(name, None)

    def start(self, max_iter, **env):
        (self.folder / "solver.prototxt").write_text(SOLVER.format(max_iter))
        return subprocess.Popen(["bash", "job"], cwd=self.folder, env=dict(self.env, **env), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, universal_newlines=True)

    def end(self, job):
        """(exit code, what the job said, what was submitted so far)"""
        said, _ = job.communicate(timeout=PATIENCE)
        return job.returncode, said, (self.folder / "submitted").read_text().split()

    def log(self):
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""

    def await_text(self, job, text):
        until = time.monotonic() + PATIENCE
        while text not in self.log():
            self.assertTrue(job.poll() is None and time.monotonic() < until, self.log())
            time.sleep(0.05)

    def iteration(self):
        return max(int(path.stem.rpartition("_")[2]) for path in self.folder.glob("toy_iter_*.solverstate"))

    def test_a_chain_from_stop_to_stop_to_the_end(self):
        job = self.start(ENDLESS)
        self.await_text(job, "Iteration 1000,")
        job.send_signal(signal.SIGUSR1)
        goes_on = "training goes on in another job; {} more may follow\n"
        self.assertEqual(self.end(job), (0, goes_on.format(9), ["LEFT=9"]), self.log())

        first = self.iteration()
        said = self.end(self.start(ENDLESS, TIME="2", LEFT="9"))
        self.assertEqual(said, (0, goes_on.format(8), ["LEFT=9", "LEFT=8"]), self.log())
        self.assertIn(f"resuming from toy_iter_{first}.solverstate", self.log())

        last = self.iteration() + 20
        self.assertEqual(self.end(self.start(last, LEFT="8")), (0, "training is done\n", ["LEFT=9", "LEFT=8"]), self.log())
        self.assertEqual(self.iteration(), last)

        # Submitted by hand once more: there is nothing left to do.
        self.assertEqual(self.end(self.start(last)), (0, "training is done\n", ["LEFT=9", "LEFT=8"]), self.log())

    def test_a_request_to_end_ends_the_chain(self):
        job = self.start(ENDLESS)
        self.await_text(job, "Iteration 1000,")
        job.send_signal(signal.SIGTERM)
        self.assertEqual(self.end(job), (0, "training is not done, and no job follows (LEFT=0)\n", []), self.log())
        self.assertEqual(len(list(self.folder.glob("toy_iter_*.solverstate"))), 1)

    def test_no_job_follows_an_error(self):
        self.assertEqual(self.end(self.start('"many"')), (2, "training failed (exit code 2); see log\n", []), self.log())


if __name__ == "__main__":
    unittest.main()
