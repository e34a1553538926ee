"""scripts/gpu_visit/: all visits with the programs of this build on a fake GPU, in their time by a clock that goes as the
steps say."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ["ROBUSTA_TOOLS_DIR"])
SHARED = pathlib.Path(os.environ.get("ROBUSTA_SHARED_DIR", ROOT.parent / "shared"))
# PyTorch, where that is asked for, else this Python.
PYTHON = """#!/bin/sh
case "$1 $2" in
  *bench_torch_gpu.py\\ about) echo '{"torch": "2", "cuda": "13", "cudnn": 9, "gpu": "sim"}' ;;
  *bench_torch_gpu.py\\ link) echo 2e10 ;;
  *bench_torch_gpu.py\\ step|*bench_torch_gpu.py\\ forward) echo 5.0 ;;
  *) exec PYTHON "$@" ;;
esac
"""
# A test program with a few of its suites.
FEW_TESTS = """#!/bin/sh
case $1 in
  --gtest_list_tests) exec PROGRAM --gtest_list_tests --gtest_filter='FILTER' ;;
esac
[ -z "$GTEST_TOTAL_SHARDS" ] || exec PROGRAM --gtest_brief=1 '--gtest_filter=FILTER'
exec PROGRAM "$@"
"""
SANITIZER = """#!/bin/sh
while [ ! -x "$1" ]; do shift; done
exec "$@"
"""
# Prints what ncu prints of a program: three of our kernels, in microseconds with commas.
NCU = """#!/bin/sh
echo "==PROF== Connected to process 1"
printf '"ID","Kernel Name","gpu__time_duration.sum"\\n"","","us"\\n'
printf '"0","robusta::small","1.5"\\n"1","robusta::large","1,000.0"\\n"2","robusta::small","2.5"\\n'
"""


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class RehearsalTest(unittest.TestCase):
    """All visits, with the programs of this build on a fake GPU, from a folder that is made as a bundle is."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpu visit ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bundle = self.folder / "robusta-0-linux"
        shutil.copytree(ROOT / "scripts", self.bundle / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("models/lenet", "data/digits"):
            shutil.copytree(ROOT / name, self.bundle / name, ignore=shutil.ignore_patterns("*_lmdb", ".making*"))
        self.make_lenet_smaller()
        for name in ("bin", "lib", "build"):
            (self.bundle / name).mkdir()
        shutil.copy(ROOT / "scripts/bundle_launcher.sh", self.bundle / "bin/launch")
        (self.bundle / "build/tools").symlink_to("../bin")
        for name in ("caffe", "make_digits", "convert_mnist_data"):
            self.link(name, TOOLS / name)
        tests = TOOLS.parent / "tests"
        for name in ("golden_test", "solver_test"):
            self.link(name, tests / name)
        for name, few in (("device_test", "SimDevice*"), ("ops_test", "Gemm*"), ("layers_test", "AbsValTest*:Power*")):
            text = FEW_TESTS.replace("PROGRAM", str(tests / name)).replace("FILTER", few)
            program(self.bundle / "libexec" / name, text)
            (self.bundle / "bin" / name).symlink_to("launch")
        for name, text in (("nvidia-smi", "#!/bin/sh\necho a GPU\n"), ("compute-sanitizer", SANITIZER), ("ncu", NCU)):
            program(self.folder / "path" / name, text)
        program(self.folder / "python", PYTHON.replace("PYTHON", sys.executable))
        self.visit = self.folder / "visit"
        self.visit.mkdir()
        shutil.copy(ROOT / "scripts/gpu_visit/start.sh", self.visit)
        self.put_recordings()
        with tarfile.open(self.visit / "robusta-0-linux.tar.xz", "w:xz", preset=0) as tar:
            tar.add(self.bundle, self.bundle.name)

    def make_lenet_smaller(self):
        """Fewer digits in smaller batches: a processor stands for the GPU."""
        (self.bundle / "data/digits/create.sh").rename(self.bundle / "data/digits/create_all.sh")
        program(self.bundle / "data/digits/create.sh",
                '#!/bin/sh\nexec "$(dirname "$0")/create_all.sh" --train=2400 --test=200\n')
        for path in (self.bundle / "models/lenet").glob("*.prototxt"):
            path.write_text(path.read_text().replace("batch_size: 64", "batch_size: 16").replace("test_iter: 20", "test_iter: 2"))

    def link(self, name, path):
        (self.bundle / "libexec").mkdir(exist_ok=True)
        (self.bundle / "libexec" / name).symlink_to(path)
        (self.bundle / "bin" / name).symlink_to("launch")

    def put_recordings(self):
        some = sorted((SHARED / "golden").glob("*__*.bin"))[:2]
        with tarfile.open(self.visit / "recordings.tar.gz", "w:gz") as tar:
            for path in (path for one in some for path in (SHARED / "golden").rglob(f"{one.stem}.*")):
                tar.add(path, path.relative_to(SHARED))

    def call(self, name, machine):
        """A call on a machine that is bare; what it prints, and its exit code."""
        place = self.folder / machine
        place.mkdir()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ROBUSTA_")}
        environment |= {"PATH": f"{self.folder / 'path'}:{os.environ['PATH']}", "TMPDIR": str(place),
                        "OUT": str(place / "out"), "PYTHON": str(self.folder / "python"), "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
        done = subprocess.run(["sh", self.visit / "start.sh", name, "--rehearse", "--python",
                               self.folder / "python"], text=True, capture_output=True, env=environment)
        self.assertIn(done.returncode, (0, 3), done.stdout + done.stderr)
        shutil.copy(place / "out" / "visit.tar.gz", self.visit)
        # Nine minutes, of which the last 15 seconds are for packing.
        times = [int(line[:6]) for line in done.stdout.splitlines() if re.match(r" *\d+ s  ", line)]
        self.assertLessEqual(max(times, default=0), 540 - 15, done.stdout)
        shutil.rmtree(place)
        return done.stdout, done.returncode

    def calls_until_done(self, name):
        """Calls, each on another bare machine, until nothing is left; their number."""
        for number in range(1, 5):
            told, code = self.call(name, f"machine{name}{number}")
            if code == 0:
                self.assertRegex(told, rf"(^|\n){name}: \d+ steps done, 0 failed, 0 left; ")
                return number
        return self.fail(told)

    def test_all_visits(self):
        calls = {name: self.calls_until_done(name) for name in "ABCDE"}
        self.assertEqual(calls, {"A": 1, "B": 2, "C": 2, "D": 1, "E": 1})
        with tarfile.open(self.visit / "visit.tar.gz") as tar:
            tar.extractall(self.folder / "result", filter="data")
        result = self.folder / "result" / "results"
        row = json.loads((result / "resnet50_256_bf16.json").read_text())["rows"][0]
        self.assertEqual([who for who, _ in row["turns"]],
                         ["ours", "reduce-overhead", "ours", "eager", "ours", "compile", "ours", "max-autotune", "ours"])
        self.assertAlmostEqual(row["ratio"], row["images_per_s"]["ours"] / 200)  # 1 in 5 ms
        kernels = json.loads((result / "own_kernels.json").read_text())
        self.assertEqual([(kernel["kernel"], kernel["ns"], kernel["first"]) for kernel in kernels["kernels"]],
                         [("robusta::large", 1e6, 1), ("robusta::small", 4000, 0)])
        self.assertEqual(len(kernels["deeper"]), 2)
        self.assertEqual(json.loads((result / "faults.json").read_text())["wrong"], [])
        self.assertLess(json.loads((result / "two_ranks.json").read_text())["worst"], 1e-3)
        self.assertEqual(len(json.loads((result / "lms.json").read_text())["lms"]), 1)
        self.assertIn('"layer_times"', (result / "layer_times.json").read_text())
        marks = {path.name for path in (result / "check_gpu").glob("*.passed")}
        self.assertLessEqual({"layers_AbsValTest.log.passed", "memcheck_layers_1_of_16.log.passed",
                              "racecheck_layers_16_of_16.log.passed", "training_repeated.log.passed"}, marks)
        self.assertTrue((self.folder / "result/caches/ours/robusta/kernels").exists())
        # A further call has nothing to do.
        self.assertEqual(self.call("A", "another")[0].count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
