#!/usr/bin/env python3
"""LeNet in a control group that leaves it little memory, as batch systems and containers make them: a batch that does not
fit ends with the code of memory before memory is taken, and the batch that the error names trains."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from robusta_bench.synthetic import without_data  # noqa: E402  # pylint: disable=wrong-import-position

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", ROOT / "build" / "tools")).resolve()
MEMORY = 5
LIMIT = 300 << 20
# The folder of groups, and their files: limit, peak.
VERSIONS = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
            ("/sys/fs/cgroup", "memory.max", "memory.peak"))
SOLVER = """net: 'net.prototxt' base_lr: 0.0001 lr_policy: 'fixed' max_iter: 2 display: 1 snapshot_after_train: false
"""
SANITIZED = bool(os.environ.get("ASAN_OPTIONS") or os.environ.get("TSAN_OPTIONS"))


class Group:
    """A group of this process's own with a limit; an OSError where this machine does not let us make one."""

    def __init__(self, limit):
        folder, limit_file, self.peak_file = next(v for v in VERSIONS if os.path.exists(f"{v[0]}/cgroup.procs"))
        self.path = pathlib.Path(folder) / f"robusta-test-{os.getpid()}"
        self.path.mkdir()
        try:
            (self.path / limit_file).write_text(str(limit))
        except OSError:
            self.remove()
            raise

    def enter(self):
        (self.path / "cgroup.procs").write_text("0")

    def peak(self):
        file = self.path / self.peak_file
        return int(file.read_text()) if file.exists() else None

    def remove(self):
        self.path.rmdir()


@unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
@unittest.skipIf(SANITIZED, "sanitizers take memory of their own")
class MemoryGroup(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "solver.prototxt").write_text(SOLVER)

    def run_in_group(self, action, batch, limit=LIMIT):
        """(exit code, what it says, most bytes that the group had)"""
        try:
            group = Group(limit)
        except (OSError, StopIteration) as error:
            self.skipTest(f"no group of memory can be made here: {error}")
        (self.folder / "net.prototxt").write_text(without_data((ROOT / "models/lenet/train_val.prototxt").read_text(), batch,
                                                               1, 28))
        try:
            env = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(self.folder)}
            done = subprocess.run([TOOLS / "caffe", action, "-solver", "solver.prototxt"], cwd=self.folder, env=env, text=True,
                                  capture_output=True, timeout=300, check=False, preexec_fn=group.enter)
            return done.returncode, done.stdout + done.stderr, group.peak()
        finally:
            group.remove()

    def test_too_large_a_batch_is_refused_and_the_largest_one_trains(self):
        code, said, of_program = self.run_in_group("plan", 64)
        planned = int(re.search(r"Largest batch that fits in \d+ MiB \(the limit of the control group\): (\d+)", said)[1])
        code, said, peak = self.run_in_group("train", 8000)
        self.assertEqual(code, MEMORY, said[-3000:])
        self.assertIn("(the limit of the control group)", said)
        if peak is not None:
            # Planning takes no memory of the net's; libraries do, those of CUDA 100 MB.
            self.assertLess(peak, of_program + LIMIT // 10, "memory was taken before the error")
        largest = int(re.search(r"a batch of at most (\d+)", said)[1])
        self.assertLess(abs(planned - largest), 0.03 * largest, said)
        for batch in (largest, planned):
            code, said, peak = self.run_in_group("train", batch)
            self.assertEqual(code, 0, f"batch {batch}, peak {peak}: {said[-3000:]}")

    def test_a_group_far_larger_than_the_machine_is_no_limit(self):
        code, said, _ = self.run_in_group("plan", 64, 1 << 50)
        self.assertEqual(code, 0)
        self.assertIn("available now", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
