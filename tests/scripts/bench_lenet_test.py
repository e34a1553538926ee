"""scripts/bench_startup.py and scripts/bench_busy.py, with programs that stand for ours."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAFFE = r"""#!/bin/sh
echo "$*" >> "$CALLS"
grep -q 'source: "digits_lmdb"' net.prototxt || exit 8
last=$(sed -n 's/.*max_iter: \([0-9]*\).*/\1/p' solver.prototxt)
display=$(sed -n 's/^display: \([0-9]*\).*/\1/p' solver.prototxt)
i=0
while [ $i -lt $last ]; do echo "I1122 solver.cpp:1] Iteration $i (9 iter/s), loss = 1" >&2; i=$((i + display)); done
sleep 0.05
exit $FAILS
"""


class BenchLenetTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bench ")
        self.addCleanup(folder.cleanup)
        self.tools = pathlib.Path(folder.name)
        self.calls = self.tools / "calls"
        for name, text in (("caffe", CAFFE), ("make_digits", "#!/bin/sh\n"), ("convert_mnist_data", "#!/bin/sh\n")):
            (self.tools / name).write_text(text)
            (self.tools / name).chmod(0o755)

    def bench(self, script, *options, fails=0):
        return subprocess.run([ROOT / "scripts" / script, "--caffe", self.tools / "caffe", *options], text=True,
                              capture_output=True, env={**os.environ, "CALLS": str(self.calls), "FAILS": str(fails)})

    def trainings(self):
        return len(self.calls.read_text().splitlines())

    def test_startup(self):
        done = self.bench("bench_startup.py", "--runs", "3")
        self.assertRegex(done.stdout, r"^best 0\.\d{3} s, median 0\.\d{3} s, worst 0\.\d{3} s of 3 starts\n$", done.stderr)
        self.assertEqual(self.trainings(), 4)  # one before those that count

    def test_busy(self):
        done = self.bench("bench_busy.py", "--rounds", "2", "--iterations", "7")
        self.assertRegex(done.stdout, r"^7 iterations: idle 0\.\d{3} s, busy \d\.\d{3} s, ratio \d+\.\d\d\n$", done.stderr)
        self.assertEqual(self.trainings(), 5)

    def test_a_training_that_fails(self):
        done = self.bench("bench_startup.py", fails=3)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bench_startup.py: the training ended with exit code 3", done.stderr)
        self.assertIn("Iteration 0", done.stderr)

    def test_an_iteration_that_never_comes(self):
        (self.tools / "caffe").write_text("#!/bin/sh\necho 'Iteration 10, loss = 1' >&2\n")
        done = self.bench("bench_busy.py")
        self.assertIn("showed 0 of the iterations (0, 100)", done.stderr)

    def test_refusals(self):
        for script, options in (("bench_startup.py", ["--runs", "0"]), ("bench_busy.py", ["--rounds", "0"])):
            self.assertEqual(self.bench(script, *options).returncode, 2)
        (self.tools / "caffe").unlink()
        done = self.bench("bench_startup.py")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
