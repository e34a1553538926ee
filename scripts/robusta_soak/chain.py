"""The chain of jobs under -snapshot auto with a fault now and then."""

import collections
import pathlib
import shutil
import time

from robusta_bench.lenet import BenchError
from robusta_soak.faults import kinds_for
from robusta_soak.workplace import SNAPSHOT_EVERY


class Chain:
    """How many faults of each kind were `made`, and how many of them were named rightly (`right`)."""

    def __init__(self, soak):
        self.soak, self.options = soak, soak.options
        self.kinds, self.lacking = kinds_for(soak)
        self.made, self.right, self.order = collections.Counter(), 0, []

    def run(self, calm):
        """Until the time is over and a snapshot is written that `calm`, the training that nothing disturbs, writes, too;
        its iteration."""
        self.begin()
        end = time.monotonic() + 60 * self.options.minutes
        job = self.soak.start()
        while self.rest(job, calm, min(end, time.monotonic() + self.options.every)) < end:
            self.disturb(job)
            if not job.lives():
                job = self.soak.start()
        if not job.stop():
            raise BenchError(f"asked to stop, the job ended with code {job.process.returncode}:\n{job.log()[-3000:]}")
        return self.go_on_to(calm.next(self.soak.newest()))

    def begin(self):
        hosts, without = self.soak.hosts, f"; without {', '.join(self.lacking)}" if self.lacking else ""
        where = f"{hosts.ranks} ranks on {len(hosts.names)} host{'s' if len(hosts.names) > 1 else ''}"
        print(f"{where}, seed {self.options.seed}{without}", flush=True)
        self.soak.solver("solver.prototxt", "snapshots/net", SNAPSHOT_EVERY)

    def go_on_to(self, iteration):
        """The last job ends there."""
        self.soak.prune(1)
        self.soak.solver("solver.prototxt", "snapshots/net", 0, iteration)
        job = self.soak.start()
        report = job.end(time.monotonic())
        if report.code:
            raise BenchError(f"the last job ended with code {report.code}:\n{job.log()[-3000:]}")
        return iteration

    def rest(self, job, calm, until):
        """Nothing is done to the job until then, and a snapshot is written; the time after it."""
        job.await_snapshot()
        while time.monotonic() < until:
            self.soak.prune()
            calm.prune(self.soak.newest())
            if not job.lives():
                raise BenchError(f"a job ended without a fault:\n{job.log()[-3000:]}")
            time.sleep(0.5)
        return time.monotonic()

    def disturb(self, job):
        # Each kind once before any comes again, so that a short soak has them all.
        if not self.order:
            self.order = self.soak.draw.sample(sorted(self.kinds), len(self.kinds))
        kind, at = self.order.pop(), job.iteration()
        done, report, is_named = self.kinds[kind](self.soak, job, self.soak.draw)
        self.made[kind] += 1
        self.right += is_named
        print(f"{'right' if is_named else 'WRONG'}: {done} at iteration {at}: after {report.seconds:.1f} s "
              f"code {report.code}, \"{report.line}\"", flush=True)
        if not is_named:
            self.keep_log()

    def keep_log(self):
        keep = pathlib.Path(self.options.keep or ".") / f"soak_wrong_{sum(self.made.values())}.log"
        shutil.copy(self.soak.folder / f"job{self.soak.jobs}.log", keep)
        print(f"       its log: {keep}", flush=True)

