"""A training under way, and what it says."""

import collections
import re
import subprocess
import time

from robusta_bench.lenet import BenchError

TIMEOUT = 10  # seconds, -timeout of the jobs
LIMIT = TIMEOUT + 10  # within which a fault has to end all ranks
PATIENCE = 180  # for what should happen and may never do, on a busy machine
MEMORY, OUTPUT, COMMUNICATION = 5, 7, 8  # exit codes

Report = collections.namedtuple("Report", "line code seconds")


class Job:
    """`hosts`, `environment`: where and in what its ranks run; `words`: further options of `caffe train`; `before`: stands
    before the program; `niceness`: how far it stands back behind others."""

    def __init__(self, soak, path, hosts, environment, words, *, before=(), timeout=TIMEOUT, niceness=0):
        self.soak, self.path = soak, path
        slots = str(hosts.ranks // len(hosts.names))
        command = hosts.command("nice", "-n", str(niceness), "ddlrun", "-H", hosts.list, "-accelerators", slots,
                                "-ddlarg", f"-timeout {timeout}", *before, "caffe", "train", "-deterministic",
                                "-batch", "global", *words)
        with open(path, "wb") as log:
            self.process = subprocess.Popen(command, cwd=soak.folder, env=environment, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def log(self):
        return self.path.read_text(errors="replace")

    def lives(self):
        return self.process.poll() is None

    def iteration(self):
        shown = re.findall(r"\] Iteration (\d+) \(", self.log())
        return int(shown[-1]) if shown else -1

    def host_of(self, rank):
        """By its own log; where the ranks lie on one host, that."""
        named = re.search(rf"\[MPI:{rank}\s*\]\s+name = (\S+)", self.log())
        return named[1] if named else self.soak.hosts.names[0]

    def failed_snapshot(self):
        """The first line of its log on a snapshot that could not be written, "" when there is none."""
        found = re.search(r"Snapshot at iteration \d+ failed: .*", self.log())
        return found[0] if found else ""

    def await_that(self, what, condition, seconds=PATIENCE):
        until = time.monotonic() + seconds
        while not condition():
            if not self.lives() or time.monotonic() > until:
                raise BenchError(f"waited in vain until {what}; {self.path.name} ends with\n{self.log()[-3000:]}")
            time.sleep(0.2)

    def await_snapshot(self):
        """It trains, and has written a snapshot of its own."""
        begin = self.soak.newest()
        self.await_that("the job writes a snapshot", lambda: self.soak.newest() > begin)

    def end(self, since, seconds=PATIENCE):
        """Waits for the end of the job and of all its ranks."""
        until = time.monotonic() + seconds
        while self.lives() and time.monotonic() < until:
            time.sleep(0.1)
        if self.lives():
            self.process.kill()
            self.process.wait()
            return Report("the job does not end", -1, time.monotonic() - since)
        took = time.monotonic() - since
        lines = re.findall(r"^caffe: error: (.*)", self.log(), re.MULTILINE)
        return Report(" | ".join(lines), self.process.returncode, took)

    def stop(self):
        """Asks it for a snapshot and its end. True when it ends as it should: a snapshot that a full disk has cost is
        told once more at the end, by its code."""
        since = time.monotonic()
        self.process.terminate()
        wanted = OUTPUT if self.failed_snapshot() else 0
        return self.end(since).code == wanted
