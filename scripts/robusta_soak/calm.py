"""The training that nothing disturbs: on hosts of its own, beside the chain, with what the chain leaves of the processors.
Its snapshots stay until the chain is past them, so that the two can be compared wherever the chain ends."""

import time

from robusta_bench.lenet import BenchError
from robusta_soak.hosts import Hosts
from robusta_soak.job import Job
from robusta_soak.workplace import kill_ranks

EVERY = 1000  # iterations from snapshot to snapshot
TIMEOUT = 300  # seconds, -timeout: it may stand still while the chain takes the processors
NICENESS = 10


class Calm:
    """Begins to train at once."""

    def __init__(self, soak, ending):
        self.folder = soak.folder / "calm"
        self.folder.mkdir()
        hosts = Hosts(ending, soak.options.cluster, "calm")
        mark = str(self.folder)
        ending.will(lambda: kill_ranks(mark))
        soak.solver("calm.prototxt", "calm/net", EVERY)
        self.job = Job(soak, soak.folder / "calm.log", hosts, soak.environment_on(hosts, mark),
                       ("-solver", "calm.prototxt"), timeout=TIMEOUT, niceness=NICENESS)

    @staticmethod
    def next(iteration):
        """The first one from there on at which it writes a snapshot."""
        return -(-iteration // EVERY) * EVERY

    def prune(self, iteration):
        """Snapshots before that one are wanted no more."""
        for path in self.folder.glob("net_iter_*.caffemodel"):
            if int(path.stem.rpartition("_")[2]) < iteration:
                path.unlink(missing_ok=True)
        for path in self.folder.glob("net_iter_*.solverstate"):  # nobody goes on from there
            path.unlink(missing_ok=True)

    def model_at(self, iteration):
        """Of a snapshot, as a path. Waits for it, and ends the training."""
        model, stands = self.folder / f"net_iter_{iteration}.caffemodel", -1
        while not model.exists():
            if not self.job.lives():
                raise BenchError(f"the undisturbed training ended with code {self.job.process.returncode}:\n"
                                 f"{self.job.log()[-3000:]}")
            if self.job.iteration() // 10000 != stands // 10000:
                stands = self.job.iteration()
                print(f"the undisturbed training is at iteration {stands} of {iteration}", flush=True)
            time.sleep(0.5)
        if not self.job.stop():
            raise BenchError(f"asked to stop, the undisturbed training ended with code {self.job.process.returncode}:\n"
                             f"{self.job.log()[-3000:]}")
        return model
