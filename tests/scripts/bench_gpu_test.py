"""scripts/bench_gpu.py: who is measured when, what becomes of it when the time is up, and going on after that."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Stands for our program and for a Python with PyTorch: tells of its calls, and gives the next of its numbers.
STANDS_IN = """#!{python}
import json, os, pathlib, sys, time
name = pathlib.Path(sys.argv[0]).name
if sys.argv[1] == "device_query" or "about" in sys.argv:
    print(json.dumps(dict(torch="2", cuda="13", cudnn=9, gpu="a GPU")) if name == "torch" else "GPU 0: a GPU")
    sys.exit()
words = sys.argv[1:] if name == "caffe" else json.loads(sys.argv[3])
net = pathlib.Path(words[2]).stem if name == "caffe" else words[0]
who = "ours" if name == "caffe" else words[4]
with open(os.environ["CALLS"], "a") as calls:
    print(net, who, *(["forward"] if "-forward_only" in words or sys.argv[2] == "forward" else []), file=calls)
numbers = json.loads(os.environ.get("NUMBERS", "{{}}"))
made = sum(line.split()[:2] == [net, who] for line in pathlib.Path(os.environ["CALLS"]).read_text().split("\\n"))
number = numbers.get(who, [10])[min(made, len(numbers.get(who, [10]))) - 1]
if number is None:
    sys.exit("RuntimeError: no such mode")
if number < 0:
    time.sleep(60)
what = "Forward pass" if "-forward_only" in words else "Iteration"
print(f"Average {{what}}: {{number}} ms." if name == "caffe" else number)
"""


class BenchGpuTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bench gpu ")
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.calls = self.work / "calls"
        for name in ("caffe", "torch"):
            path = self.work / name
            path.write_text(STANDS_IN.format(python=sys.executable))
            path.chmod(0o755)

    def bench(self, *arguments, code=0, **numbers):
        """Its result, and the calls that it made."""
        self.calls.write_text("")
        line = [ROOT / "scripts/bench_gpu.py", "--caffe", self.work / "caffe", "--python", self.work / "torch",
                "--precisions", "bf16", "--batches", "100", "--json", self.work / "result.json", *arguments]
        done = subprocess.run(line, text=True, capture_output=True,
                              env={"PATH": os.environ["PATH"], "CALLS": str(self.calls),
                                   "NUMBERS": json.dumps({name.replace("_", "-"): number
                                                          for name, number in numbers.items()})})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads((self.work / "result.json").read_text()), self.calls.read_text().splitlines()

    def test_measures_a_row_whole_and_turn_about(self):
        result, calls = self.bench("--nets", "resnet50,vgg16", "--modes", "reduce-overhead,eager",
                                   ours=[8, 20, 10], reduce_overhead=[20], eager=[25])
        turns = ["ours", "reduce-overhead", "ours", "eager", "ours"]
        self.assertEqual(calls, [f"{net} {who}" for net in ("resnet50", "vgg16") for who in turns])
        row = result["rows"][0]
        # Batches of 100 in 8, 20 and 10 ms, of which 10 is the median, against 20 of the better mode.
        self.assertEqual(row["images_per_s"], {"ours": 10000, "reduce-overhead": 5000, "eager": 4000})
        self.assertEqual((row["best"], row["ratio"]), ("reduce-overhead", 2))

    def test_passes_forward_have_rows_of_their_own(self):
        arguments = ("--nets", "resnet50", "--modes", "graphs", "--resume")
        self.bench("--nets", "resnet50", "--modes", "eager", "--resume", ours=[10], eager=[20])
        result, calls = self.bench(*arguments, "--inference", ours=[2, 4], graphs=[6])
        self.assertEqual(calls, ["resnet50 ours forward", "resnet50 graphs forward", "resnet50 ours forward"])
        self.assertEqual([row["work"] for row in result["rows"]], ["training", "inference"])
        self.assertEqual(result["rows"][1]["images_per_s"], {"ours": 37500, "graphs": 100 / 6 * 1000})
        self.assertEqual(result["rows"][0]["images_per_s"], {"ours": 10000, "eager": 5000})

    def test_what_fails_is_left_out_of_later_turns(self):
        result, calls = self.bench("--nets", "vgg16", "--modes", "max-autotune,eager", max_autotune=[None])
        self.assertEqual(calls, [f"vgg16 {who}" for who in ("ours", "max-autotune", "ours", "eager", "ours")])
        self.assertIn("no such mode", result["rows"][0]["failed"]["max-autotune"])
        self.assertEqual(result["rows"][0]["ratio"], 1)

    def test_what_can_measure_nothing_has_failed_when_it_goes_on(self):
        line = [ROOT / "scripts/bench_gpu.py", "--caffe", self.work / "absent"]
        self.assertEqual(subprocess.run(line, stdout=subprocess.DEVNULL).returncode, 0)
        self.assertEqual(subprocess.run([*line, "--resume"], stdout=subprocess.DEVNULL).returncode, 1)

    def test_says_when_ours_failed(self):
        result, calls = self.bench("--nets", "vgg16", "--modes", "eager", ours=[None], code=1)
        self.assertEqual(calls, ["vgg16 ours", "vgg16 eager"])
        self.assertNotIn("ratio", result["rows"][0])

    def test_goes_on_where_the_time_was_up(self):
        """The first row is whole, and of what is there nothing is measured again."""
        # Nothing but the first measurement of eager takes any time: it is ended after five seconds.
        arguments = ("--nets", "resnet50,vgg16", "--modes", "reduce-overhead,eager")
        result, calls = self.bench(*arguments, "--resume", "--seconds", "5", eager=[-1], code=3)
        self.assertEqual(calls, ["resnet50 ours", "resnet50 reduce-overhead", "resnet50 ours", "resnet50 eager"])
        self.assertEqual(result["rows"][0]["ratio"], 1)
        self.assertEqual(result["rows"][0]["failed"], {})
        result, calls = self.bench(*arguments, "--resume")
        self.assertEqual(calls, ["resnet50 eager", "resnet50 ours"] +
                         [f"vgg16 {who}" for who in ("ours", "reduce-overhead", "ours", "eager", "ours")])
        self.assertEqual([row["ratio"] for row in result["rows"]], [1, 1])
        self.assertEqual(self.bench(*arguments, "--resume")[1], [])


if __name__ == "__main__":
    unittest.main()
