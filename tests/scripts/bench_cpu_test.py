"""scripts/bench_cpu.py with programs that stand for ours and for PyTorch."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# In bf16 it takes half of the time.
CAFFE = r"""#!/bin/sh
if [ "$1" = device_query ]; then echo "  peaks: f32 200.5 GFLOP/s, AMX 1000.0 GFLOP/s, memory 24.3 GB/s"; exit; fi
echo "$*" >> "$CALLS"
case "$*" in *"-precision bf16"*) step=20 ;; *) step=40 ;; esac
echo "Average Forward-Backward: $step ms."
echo "Average Update: 0 ms."
echo "Average Forward pass: 10 ms."
"""
# Compiled it is faster, in one of the memory formats; the other one does not compile.
PYTORCH = r"""#!/bin/sh
if [ "$1" = -c ]; then echo 9.9; exit; fi
case "$*" in
  *channels_last*"--mode compiled"*) echo "no C++ compiler" >&2; exit 1 ;;
  *"--mode compiled"*) echo 50 ;;
  *) echo 80 ;;
esac
"""


class BenchCpuTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bench ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "caffe").write_text(CAFFE)
        (self.folder / "python").write_text("#!/bin/sh\nexit 1\n")  # has no PyTorch
        for program in ("caffe", "python"):
            (self.folder / program).chmod(0o755)

    def bench(self, *options):
        command = [sys.executable, ROOT / "scripts/bench_cpu.py", "--quick", "--caffe", self.folder / "caffe",
                   "--python", self.folder / "python", "--json", self.folder / "rows", *options]
        return subprocess.run(command, text=True, capture_output=True, check=False,
                              env={**os.environ, "CALLS": str(self.folder / "calls")})

    def test_a_row_for_each_precision(self):
        done = self.bench("--nets", "lenet,squeezenet", "--precisions", "f32,bf16")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads((self.folder / "rows").read_text())
        rows = [(row["net"], row["precision"], row["ours_images_per_s"]) for row in result["rows"]]
        self.assertEqual(rows, [("lenet", "f32", 1600), ("lenet", "bf16", 3200),
                                ("squeezenet", "f32", 400), ("squeezenet", "bf16", 800)])
        self.assertEqual(result["peaks"], {"f32": 200.5, "AMX": 1000, "memory": 24.3})
        self.assertRegex(done.stdout, r"peaks: f32 20\d GFLOP/s, AMX 1000 GFLOP/s, memory 24 GB/s")
        self.assertRegex(done.stdout, r"squeezenet +16 +training +bf16 +800\.0")

    def test_f32_alone_unless_told_otherwise(self):
        self.assertEqual(self.bench("--nets", "lenet").returncode, 0)
        calls = (self.folder / "calls").read_text().splitlines()
        self.assertEqual(len(calls), 1)
        self.assertIn("-precision f32", calls[0])

    def test_the_best_of_pytorchs_ways_counts(self):
        (self.folder / "python").write_text(PYTORCH)
        done = self.bench("--nets", "lenet", "--phases", "training,inference", "--modes", "eager,compiled")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads((self.folder / "rows").read_text())["rows"]
        self.assertEqual([(row["phase"], row["torch_how"], row["ratio"]) for row in rows],
                         [("training", "compiled contiguous f32", 50 / 40), ("inference", "compiled contiguous f32", 5)])
        self.assertEqual([list(row["ms"]) for row in rows], 2 * [["f32", "eager contiguous f32", "eager channels_last f32",
                                                                  "compiled contiguous f32"]])
        self.assertIn("lenet, PyTorch compiled channels_last f32: left out (no C++ compiler)", done.stdout)

    def test_without_compiling_unless_told_otherwise(self):
        (self.folder / "python").write_text(PYTORCH)
        self.assertEqual(self.bench("--nets", "lenet").returncode, 0)
        rows = json.loads((self.folder / "rows").read_text())["rows"]
        self.assertEqual([row["torch_how"] for row in rows], ["eager contiguous f32"])

    def test_unknown_precision(self):
        done = self.bench("--precisions", "f16")
        self.assertEqual(done.returncode, 2)
        self.assertIn("argument --precisions: unknown: f16 (known: f32, bf16)", done.stderr)


if __name__ == "__main__":
    unittest.main()
