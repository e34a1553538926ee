"""LeNet on a few synthetic digits, and when its log says what."""

import pathlib
import re
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOLVER = """net: "net.prototxt"
base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005
lr_policy: "inv" gamma: 0.0001 power: 0.75
display: {display} max_iter: {iterations} snapshot_after_train: false
random_seed: 1 solver_mode: CPU
"""
TRAINING_DIGITS = 6400


class BenchError(Exception):
    """What cannot be measured, and why."""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{pathlib.Path(command[0]).name} ended with exit code {done.returncode}:\n{done.stderr[-2000:]}")


class Training:
    """A training that shows iterations 0, `display`, ... and ends after `iterations`; it never tests.

    `caffe` is the program, in a folder with the tools that make the digits; `folder` is empty and takes its files.
    """

    def __init__(self, caffe, folder, iterations, display):
        self.caffe, self.folder = pathlib.Path(caffe).resolve(), pathlib.Path(folder)
        tools = self.caffe.parent
        run(tools / "make_digits", self.folder, f"--train={TRAINING_DIGITS}", "--test=100")
        run(tools / "convert_mnist_data", self.folder / "train-images-idx3-ubyte", self.folder / "train-labels-idx1-ubyte",
            self.folder / "digits_lmdb", "--backend=lmdb")
        net = (ROOT / "models/lenet/train_val.prototxt").read_text()
        (self.folder / "net.prototxt").write_text(re.sub(r'source: "[^"]*"', 'source: "digits_lmdb"', net))
        (self.folder / "solver.prototxt").write_text(SOLVER.format(display=display, iterations=iterations))

    def seconds_until(self, *iterations):
        """Runs it once. Seconds from its start to the lines of these iterations, which are shown in this order."""
        start, seen, text = time.perf_counter(), [], []
        with subprocess.Popen([self.caffe, "train", "-solver", "solver.prototxt"], cwd=self.folder, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            for line in process.stderr:
                text.append(line)
                if len(seen) < len(iterations) and re.search(rf"\bIteration {iterations[len(seen)]}\b", line):
                    seen.append(time.perf_counter() - start)
        if process.returncode or len(seen) < len(iterations):
            raise BenchError(f"the training ended with exit code {process.returncode} and showed {len(seen)} of the "
                             f"iterations {iterations}:\n{''.join(text)[-2000:]}")
        return seen
