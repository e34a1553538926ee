"""LeNet on synthetic digits, as the steps of a visit train it."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_digits():
    """data/digits, where it is not there yet; `train` runs in ROOT, from where its net names them."""
    subprocess.run([ROOT / "data/digits/create.sh"], check=True)


def write_solver(folder, name, **fields):
    """A solver file like that of models/lenet with these fields instead, and without tests; its snapshots begin with NAME
    in the folder."""
    text = re.sub(r"^test_.*\n", "", (ROOT / "models/lenet/solver.prototxt").read_text(), flags=re.M)
    for field, value in {"snapshot_prefix": f'"{folder / name}"', "random_seed": 1, **fields}.items():
        text = re.sub(rf"^{field}:.*\n", "", text, flags=re.M) + f"{field}: {value}\n"
    path = folder / f"{name}.prototxt"
    path.write_text(text)
    return path


def train(caffe, solver, *flags, environment=None, log=subprocess.DEVNULL):
    """A training that has been started."""
    return subprocess.Popen([caffe, "train", "-solver", solver, *flags], cwd=ROOT, env=environment, stdout=log,
                            stderr=subprocess.STDOUT)


def losses(text):
    """The displayed losses by iteration."""
    return {int(number): float(loss) for number, loss in re.findall(r"Iteration (\d+).*, loss = (\S+)", text)}
