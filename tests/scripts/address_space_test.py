#!/usr/bin/env python3
"""LeNet under `ulimit -v` from far too little to enough, alone and as one rank of two: it trains, or ends with the code of
memory and a report; no library crashes for want of memory on the way. Nor does any other program crash or wait for ever."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from robusta_bench.synthetic import without_data  # noqa: E402  # pylint: disable=wrong-import-position

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", ROOT / "build" / "tools")).resolve()
MEMORY, NOT_LOADED = 5, 127  # the loader itself fails where the libraries alone are larger, CUDA's above all
SOLVER = """net: 'net.prototxt' base_lr: 0.01 lr_policy: 'fixed' max_iter: 3 display: 1 snapshot_after_train: false
test_iter: 1 test_interval: 1000 test_initialization: false
"""
LIMITED = '[ "${OMPI_COMM_WORLD_RANK:-1}" != 1 ] || ulimit -v "$1"\nshift\nexec "$@"\n'
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", "OMP_NUM_THREADS": "1"}
SANITIZED = bool(os.environ.get("ASAN_OPTIONS") or os.environ.get("TSAN_OPTIONS"))


@unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
@unittest.skipIf(SANITIZED, "sanitizers take terabytes of addresses")
class AddressSpace(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        net = (ROOT / "models/lenet/train_val.prototxt").read_text()
        (self.folder / "net.prototxt").write_text(without_data(net, 64, 1, 28))
        (self.folder / "solver.prototxt").write_text(SOLVER)
        (self.folder / "limited.sh").write_text(LIMITED)

    def train(self, mebibytes, *launcher, **environment):
        exit_file = self.folder / "exit"
        exit_file.unlink(missing_ok=True)
        words = [*launcher, "bash", "limited.sh", str(mebibytes << 10), TOOLS / "caffe", "train", "-solver", "solver.prototxt"]
        env = {**os.environ, **SETTINGS, "XDG_CACHE_HOME": str(self.folder), "ROBUSTA_EXIT_FILE": str(exit_file),
               **environment}
        done = subprocess.run(words, cwd=self.folder, env=env, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stderr, exit_file.read_text() if exit_file.exists() else ""

    def test_alone(self):
        codes = []
        for mebibytes in (*range(340, 800, 40), 4000):
            code, said, _ = self.train(mebibytes)
            codes.append(code)
            self.assertIn(code, (0, MEMORY, NOT_LOADED), f"{mebibytes} MiB: {said[-2000:]}")
            if code == MEMORY:
                self.assertIn("caffe: error: ", said)
        self.assertEqual(codes[-1], 0)
        self.assertNotEqual(codes[0], 0)

    def test_small_stacks(self):
        for kibibytes in (64, 128, 255, 256, 512):
            done = subprocess.run(["bash", "-c", f'ulimit -s {kibibytes}; exec "$@"', "bash", TOOLS / "caffe", "train",
                                   "-solver", "solver.prototxt"], cwd=self.folder, capture_output=True, text=True,
                                  timeout=120, check=False, env={**os.environ, "XDG_CACHE_HOME": str(self.folder)})
            self.assertEqual(done.returncode, MEMORY if kibibytes < 256 else 0, f"{kibibytes} KiB: {done.stderr[-2000:]}")
            self.assertEqual("a stack of less than 256 KiB is too small to start with; raise `ulimit -s`" in done.stderr,
                             kibibytes < 256)

    def test_threads_of_openmp(self):
        for variables, code, part in (({"OMP_NUM_THREADS": "1000"}, MEMORY, "999 further threads"),
                                      ({"OMP_NUM_THREADS": "2", "OMP_STACKSIZE": "99999G"}, MEMORY, "OMP_STACKSIZE"),
                                      ({"OMP_NUM_THREADS": "1000000"}, 1, "asks for 1000000 threads"),
                                      ({"OMP_NUM_THREADS": "2", "OMP_STACKSIZE": "4M"}, 0, "")):
            ended, said, _ = self.train(4000, **variables)
            self.assertEqual(ended, code, f"{variables}: {said[-2000:]}")
            self.assertIn(part, said)

    def test_all_programs(self):
        for program in sorted(TOOLS.iterdir()):
            if program.is_dir() or not os.access(program, os.X_OK):
                continue
            for mebibytes in (*range(40, 400, 60), 4000):
                if mebibytes << 20 < program.stat().st_size + (16 << 20):
                    continue  # the system has no room for the program itself (with code for GPUs) and kills it at exec
                words = ["bash", "limited.sh", str(mebibytes << 10), program, "--version"]
                done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
                said = f"{program.name}, {mebibytes} MiB: {done.returncode} {done.stderr[-2000:]}"
                self.assertIn(done.returncode, (0, 1, MEMORY, NOT_LOADED), said)
                if mebibytes == 4000:
                    self.assertIn(done.returncode, (0, 1), said)  # make_digits has no --version
                if done.returncode == MEMORY:
                    self.assertIn(f"{program.name}: ", done.stderr)

    def test_one_rank_of_two(self):
        if not shutil.which("mpirun"):
            self.skipTest("there is no mpirun")
        codes = []
        for mebibytes in range(400, 760, 40):
            code, said, ended = self.train(mebibytes, "mpirun", "-n", "2")
            if "find each other" in said or "has no MPI" in said:
                self.skipTest("this build has no MPI")
            if "MPI_INIT" in said:  # MPI itself finds no memory to start, and ends the job in its own way
                continue
            self.assertNotIn("ignal", said, f"{mebibytes} MiB: {said[-3000:]}")
            if code not in (0, NOT_LOADED):
                self.assertTrue(ended.startswith(f"{MEMORY} 1 "), f"{mebibytes} MiB: {ended} {said[-3000:]}")
            codes.append(code)
        if set(codes) <= {NOT_LOADED}:
            self.skipTest("the libraries alone need more than all limits")
        self.assertIn(MEMORY, codes)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
