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
FOR_EVER = 100000000
MARK = "ROBUSTA_SOAK"  # the variable by which ranks are known
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
        self.hosts = Hosts(ending, options.cluster, "soak")
        self.mark = str(self.folder)
        self.environment = self.environment_on(self.hosts, self.mark)
        ending.will(lambda: kill_ranks(self.mark))

    def environment_on(self, hosts, mark):
        """What ranks on `hosts` run in; they are known by `mark`."""
        return {**hosts.environment, "PATH": f"{self.options.caffe.parent}:{ROOT / 'scripts'}:{os.environ['PATH']}",
                "OMP_NUM_THREADS": "1", "TMPDIR": str(self.folder), "XDG_CACHE_HOME": str(self.folder),
                MARK: mark}

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

    def processes(self):
        return processes(self.mark)

    def states(self):
        return {int(path.stem.rpartition("_")[2]): path for path in self.disk.folder.glob("net_iter_*.solverstate")}

    def newest(self):
        return max(self.states(), default=0)

    def prune(self, keep=3):
        for iteration in sorted(self.states())[:-keep]:
            for path in self.disk.folder.glob(f"net_iter_{iteration}.*"):
                path.unlink(missing_ok=True)

    def solver(self, name, prefix, every, iterations=FOR_EVER):
        """Writes the file `name`: a training with a snapshot `every` so many iterations."""
        (self.folder / name).write_text(SOLVER.format(iterations=iterations, every=every, prefix=prefix))

    def start(self, before=()):
        """The next job of the chain. `before`: stands before the program."""
        self.jobs += 1
        words = ("-solver", "solver.prototxt", "-snapshot", "auto")
        return Job(self, self.folder / f"job{self.jobs}.log", self.hosts, self.environment, words, before=before)


def processes(mark):
    """Ranks known by `mark` that live, and their process ids: hosts of namespaces share these."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            variables = dict(item.partition("=")[::2] for item in
                             (folder / "environ").read_bytes().decode(errors="replace").split("\0"))
            name = (folder / "comm").read_text().strip()
        except OSError:
            continue
        rank = variables.get("OMPI_COMM_WORLD_RANK")
        if variables.get(MARK) == mark and rank is not None and name == "caffe":
            found[int(rank)] = int(folder.name)
    return found


def kill_ranks(mark):
    for pid in processes(mark).values():
        os.kill(pid, signal.SIGKILL)
