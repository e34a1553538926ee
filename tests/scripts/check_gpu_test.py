"""scripts/check_gpu.sh: what it runs in a bundle, what it counts, and what it says of failures."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Stands for a test program: two suites, of which one fails.
TESTS = """#!/bin/sh
case $1 in
  --gtest_list_tests) printf 'Running main() from gtest_main.cc\\nGood.\\n  One\\nBad/0.  # TypeParam = int\\n  Two\\n' ;;
  *) echo "$0 $*" >> "$CALLS"; case $* in *Bad*) echo 'x.cc:1: Failure'; exit 1 ;; esac ;;
esac
"""


class CheckGpuTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="check gpu ")
        self.addCleanup(folder.cleanup)
        self.bundle = pathlib.Path(folder.name)
        self.calls = self.bundle / "calls"
        for name in ("bin", "build", "scripts"):
            (self.bundle / name).mkdir()
        for name in ("check_gpu.sh", "lib.sh"):
            shutil.copy(ROOT / "scripts" / name, self.bundle / "scripts")
        (self.bundle / "build" / "tools").symlink_to("../bin")
        for name in ("device_test", "ops_test", "layers_test"):
            self.program(name, TESTS)
        self.program("launch", "")
        self.program("caffe", "#!/bin/sh\necho 'GPU 0: a GPU'\n")

    def program(self, name, text):
        path = self.bundle / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def check(self, *steps, **environment):
        return subprocess.run([self.bundle / "scripts" / "check_gpu.sh", *steps], text=True, capture_output=True,
                              env={"PATH": os.environ["PATH"], "CALLS": str(self.calls), **environment})

    def test_runs_each_suite_by_itself_and_counts(self):
        done = self.check("query", "tests")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "4 passed, 3 failed", done.stdout)
        self.assertIn("FAILED  layers Bad/0 (exit code 1", done.stdout)
        self.assertIn("        x.cc:1: Failure", done.stdout)
        filters = [line.split()[-1] for line in self.calls.read_text().splitlines()]
        self.assertEqual(filters, 3 * ["--gtest_filter=Good.*", "--gtest_filter=Bad/0.*"])

    def test_runs_suites_beside_each_other_and_goes_on_after_a_stop(self):
        """What passed is not run again; what failed is."""
        logs = self.bundle / "kept logs"
        done = self.check("tests", CHECK_GPU_JOBS="4", CHECK_GPU_LOGS=str(logs))
        self.assertEqual(done.stdout.splitlines()[-1], "3 passed, 3 failed", done.stdout)
        self.assertEqual(len(self.calls.read_text().splitlines()), 6)
        self.calls.unlink()
        done = self.check("tests", CHECK_GPU_RESUME="yes", CHECK_GPU_JOBS="4", CHECK_GPU_LOGS=str(logs))
        self.assertEqual(done.stdout.splitlines()[-1], "3 passed, 3 failed", done.stdout)
        self.assertIn("ok      layers Good (before)", done.stdout)
        filters = [line.split()[-1] for line in self.calls.read_text().splitlines()]
        self.assertEqual(filters, 3 * ["--gtest_filter=Bad/0.*"])

    def test_ends_what_hangs_after_its_limit(self):
        self.program("layers_test", TESTS.replace("exit 1", "sleep 30"))
        start = time.monotonic()
        done = self.check("tests", CHECK_GPU_LIMIT="1")
        self.assertLess(time.monotonic() - start, 20)
        self.assertIn("FAILED  layers Bad/0 (exit code 124", done.stdout)

    def test_nets_without_tuning(self):
        self.program("caffe", '#!/bin/sh\necho "$*" >> "$CALLS"\n')
        (self.bundle / "models" / "net").mkdir(parents=True)
        (self.bundle / "models" / "net" / "train_val.prototxt").touch()
        self.assertEqual(self.check("nets", CHECK_GPU_TUNING="no").returncode, 0)
        self.assertEqual([line.split("-gpu 0")[1] for line in self.calls.read_text().splitlines()],
                         [" -autotune=false", " -autotune=false -precision bf16"])

    def test_ends_where_no_gpu_can_be_used(self):
        self.program("caffe", "#!/bin/sh\necho 'caffe: error: there is no GPU 0' >&2\nexit 9\n")
        done = self.check()
        self.assertEqual(done.returncode, 1)
        self.assertIn("caffe: error: there is no GPU 0", done.stdout)
        self.assertIn("nothing else is tried", done.stderr)
        self.assertFalse(self.calls.exists())

    def test_says_when_there_are_no_recordings(self):
        done = self.check("golden", ROBUSTA_SHARED_DIR=str(self.bundle / "shared"))
        self.assertIn("skipped: there are no recordings in ", done.stdout)
        self.assertEqual(done.returncode, 0)

    def test_runs_kernels_and_training_under_the_sanitizer(self):
        self.program("compute-sanitizer", '#!/bin/sh\necho "$*" >> "$CALLS"\n')
        self.program("launch", "")
        for name in ("caffe", "layers_test"):  # as the launcher answers
            self.program(name, f"#!/bin/sh\necho /behind/{name}\necho /libraries\n")
        (self.bundle / "data" / "digits").mkdir(parents=True)
        self.program("../data/digits/create.sh", "#!/bin/sh\n")
        (self.bundle / "models" / "lenet").mkdir(parents=True)
        (self.bundle / "models" / "lenet" / "solver.prototxt").write_text("max_iter: 3000\n")
        done = self.check("memcheck", PATH=f"{self.bundle / 'bin'}:{os.environ['PATH']}")
        self.assertEqual(done.stdout.splitlines()[-1], "5 passed, 0 failed", done.stdout)
        lines = self.calls.read_text().splitlines()
        self.assertTrue(all(line.startswith("--tool memcheck --kernel-name kns=robusta ") for line in lines), lines)
        self.assertIn(" /behind/layers_test ", lines[0])
        self.assertEqual([line.split("-gpu 0")[1] for line in lines[1:]], ["", " -precision bf16", " -precision fp16"])
        self.assertEqual((self.bundle / "build/check_gpu/brief.prototxt").read_text(), "max_iter: 6\n")

    def test_divides_what_runs_under_the_sanitizer(self):
        self.program("compute-sanitizer", '#!/bin/sh\necho "$GTEST_SHARD_INDEX/$GTEST_TOTAL_SHARDS $*" >> "$CALLS"\n')
        for name in ("caffe", "layers_test"):
            self.program(name, f"#!/bin/sh\necho /behind/{name}\necho /libraries\n")
        done = self.check("racecheck", PATH=f"{self.bundle / 'bin'}:{os.environ['PATH']}", CHECK_GPU_SHARDS="3",
                          CHECK_GPU_FILTER="*Gpu*")
        self.assertIn("ok      racecheck layers 2 of 3", done.stdout)
        lines = self.calls.read_text().splitlines()
        self.assertEqual([line.split()[0] for line in lines[:3]], ["0/3", "1/3", "2/3"])
        self.assertTrue(all(line.endswith("--gtest_filter=*Gpu*") for line in lines[:3]), lines)

    def test_knows_its_steps(self):
        done = self.check("memchek")
        self.assertEqual(done.returncode, 1)
        self.assertIn("unknown step memchek", done.stderr)
        self.assertIn("scripts/check_gpu.sh [STEP...]", self.check("--help").stdout)


if __name__ == "__main__":
    unittest.main()
