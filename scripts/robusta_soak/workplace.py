"""Where a soak works: its folder with data and nets, the disk of its snapshots, its hosts, its jobs."""

import os
import pathlib
import random
import signal

from robusta_bench.lenet import ROOT, run
from robusta_soak.disk import Disk
from robusta_soak.hosts import Hosts
from robusta_soak.job import Job

DISK_MIB = 48
SNAPSHOT_EVERY = 100  # iterations
SOLVER = """net: "net.prototxt" base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005 random_seed: 1 solver_mode: CPU
lr_policy: "inv" gamma: 0.0001 power: 0.75 display: 10 max_iter: {iterations}
snapshot: {every} snapshot_prefix: "{prefix}"
test_iter: 10 test_interval: 100000000 test_initialization: false
"""
# Puts a limit on the memory of the rank that it names, and on no other.
LIMITED = '[ "$OMPI_COMM_WORLD_RANK" != "$1" ] || ulimit -v "$2"\nshift 2\nexec "$@"\n'


class Workplace:
    """`options`: those of scripts/soak.py. What has to go at the end is handed to `ending`."""

    def __init__(self, ending, options, folder):
        self.options, self.folder, self.jobs = options, pathlib.Path(folder), 0
        self.draw = random.Random(options.seed)
        self.disk = Disk(ending, self.folder / "snapshots", DISK_MIB)
        self.make_data()
        self.hosts = Hosts(ending, options.cluster)
        self.environment = dict(self.hosts.environment)
        self.environment.update(
            PATH=f"{options.caffe.parent}:{ROOT / 'scripts'}:{os.environ['PATH']}", OMP_NUM_THREADS="1",
            TMPDIR=str(self.folder), XDG_CACHE_HOME=str(self.folder), ROBUSTA_SOAK=str(self.folder))
        ending.will(self.kill_ranks)

    def make_data(self):
        tools = self.options.caffe.parent
        run(tools / "make_digits", self.folder / "digits", "--train=6000", "--test=1000")
        for there, name in (("train", "train"), ("t10k", "test")):
            run(tools / "convert_mnist_data", self.folder / f"digits/{there}-images-idx3-ubyte",
                self.folder / f"digits/{there}-labels-idx1-ubyte", self.folder / f"{name}_lmdb", "--backend=lmdb")
        net = (ROOT / "models/lenet/train_val.prototxt").read_text()
        net = net.replace("data/digits/", "").replace("batch_size: 64", "batch_size: 24")
        (self.folder / "net.prototxt").write_text(net)
        (self.folder / "limited.sh").write_text(LIMITED)

    def kill_ranks(self):
        for pid in self.processes().values():
            os.kill(pid, signal.SIGKILL)

    def processes(self):
        """Ranks of this soak that live, and their process ids: hosts of namespaces share these."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                variables = dict(item.partition("=")[::2] for item in
                                 (folder / "environ").read_bytes().decode(errors="replace").split("\0"))
                name = (folder / "comm").read_text().strip()
            except OSError:
                continue
            rank = variables.get("OMPI_COMM_WORLD_RANK")
            if variables.get("ROBUSTA_SOAK") == str(self.folder) and rank is not None and name == "caffe":
                found[int(rank)] = int(folder.name)
        return found

    def states(self):
        return {int(path.stem.rpartition("_")[2]): path for path in self.disk.folder.glob("net_iter_*.solverstate")}

    def newest(self):
        return max(self.states(), default=0)

    def prune(self, keep=3):
        for iteration in sorted(self.states())[:-keep]:
            for path in self.disk.folder.glob(f"net_iter_{iteration}.*"):
                path.unlink(missing_ok=True)

    def solver(self, prefix, iterations=100000000):
        every = SNAPSHOT_EVERY if prefix.startswith("snapshots") else 0
        (self.folder / "solver.prototxt").write_text(SOLVER.format(iterations=iterations, every=every, prefix=prefix))

    def start(self, *words, before=()):
        """A job that trains. `before`: stands before the program."""
        self.jobs += 1
        return Job(self, self.folder / f"job{self.jobs}.log", words, before)
