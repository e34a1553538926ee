#!/usr/bin/env python3
"""A training that is disturbed once a minute, as a chain of jobs under -snapshot auto, beside one that nothing disturbs.

  scripts/soak.py [--caffe build/tools/caffe] [--minutes 120] [--every 60] [--seed N] [--cluster cluster.sh]

LeNet on synthetic digits, six ranks on three hosts that --cluster makes of network namespaces, or four ranks on this host
where there are none. The faults are drawn from the seed:

  kill    a rank gets SIGKILL                          stop    a rank gets SIGSTOP
  cut     a host is cut off without a word             disk    the disk of the snapshots is full for a while
  memory  a job begins with a limit on the memory of one rank

One line is printed per fault: what was done, what the job said of it, and whether that is right: rank or host, and code.
When the time is over the chain is asked to stop; what it has learned is compared with a training of as many iterations at
one go. The last line is a summary. Exit code 0: all was named rightly, and the accuracies are alike.
"""

import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from robusta_bench.lenet import ROOT, BenchError, run

TIMEOUT = 10  # seconds, -timeout of the jobs
LIMIT = TIMEOUT + 10  # within which a fault has to end all ranks
PATIENCE = 180  # for what should happen and may never do, on a busy machine
ALIKE = 0.01  # of accuracies
MEMORY, OUTPUT, COMMUNICATION = 5, 7, 8
DISK_MIB = 48
LITTLE_KIB = 440 << 10  # of address space: the program starts, or says that it cannot, and its net does not fit
SNAPSHOT_EVERY = 100  # iterations
SOLVER = """net: "net.prototxt" base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005 random_seed: 1 solver_mode: CPU
lr_policy: "inv" gamma: 0.0001 power: 0.75 display: 10 max_iter: {iterations} snapshot: {every} snapshot_prefix: "{prefix}"
test_iter: 10 test_interval: 100000000 test_initialization: false
"""
# Puts a limit on the memory of the rank that it names, and on no other.
LIMITED = '[ "$OMPI_COMM_WORLD_RANK" != "$1" ] || ulimit -v "$2"\nshift 2\nexec "$@"\n'
ALONE = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}

Report = collections.namedtuple("Report", "line code seconds")


class Hosts:
    """Where the ranks run: hosts of a cluster script, or this one. The script's hosts are this soak's own."""

    PREFIX = "soak"

    def __init__(self, script):
        self.script, self.names = script, [os.uname().nodename]
        self.environment = {**os.environ, **ALONE}
        if not script:
            return
        self.environment.update(VC_RUN="/run/robusta.soak", VC_NET="10.91.0", VC_PREFIX=self.PREFIX, VC_SWITCH="robusta.soak")
        self.call("down", check=False)  # what a soak that was killed may have left
        try:
            self.call("up", "3")
            for line in self.call("env").splitlines():
                for word in line.split()[1:]:
                    name, _, value = word.partition("=")
                    self.environment[name] = value
        except BaseException:
            self.close()
            raise
        self.names = [f"{self.PREFIX}{number}" for number in (1, 2, 3)]

    def call(self, *words, check=True):
        done = subprocess.run([self.script, *words], env=self.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if check and done.returncode:
            raise BenchError(f"{self.script} {' '.join(words)}: {done.stdout[-500:]}")
        return done.stdout

    @property
    def ranks(self):
        return 2 * len(self.names) if self.script else 4

    def command(self, *words):
        """On the first host."""
        return [self.script, "exec", self.names[0], *words] if self.script else list(words)

    def close(self):
        if self.script:
            self.call("down", check=False)


class Soak:
    """Folder, data and jobs of a soak."""

    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.draw = random.Random(options.seed)
        self.snapshots = self.folder / "snapshots"
        self.snapshots.mkdir()
        self.mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "soak", self.snapshots],
                                      stderr=subprocess.DEVNULL, check=False).returncode == 0
        try:
            self.make_data()
            self.hosts = Hosts(options.cluster)
        except BaseException:
            self.unmount()
            raise
        self.environment = dict(self.hosts.environment)
        self.environment.update(
            PATH=f"{options.caffe.parent}:{ROOT / 'scripts'}:{os.environ['PATH']}", OMP_NUM_THREADS="1",
            TMPDIR=str(self.folder), XDG_CACHE_HOME=str(self.folder), ROBUSTA_SOAK=str(self.folder))
        self.jobs = 0

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

    def unmount(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.snapshots], check=False)

    def close(self):
        for pid in self.processes().values():
            os.kill(pid, signal.SIGKILL)
        self.hosts.close()
        self.unmount()

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
            if variables.get("ROBUSTA_SOAK") == str(self.folder) and "OMPI_COMM_WORLD_RANK" in variables and name == "caffe":
                found[int(variables["OMPI_COMM_WORLD_RANK"])] = int(folder.name)
        return found

    def states(self):
        return {int(path.stem.rpartition("_")[2]): path for path in self.snapshots.glob("net_iter_*.solverstate")}

    def prune(self, keep=3):
        for iteration in sorted(self.states())[:-keep]:
            for path in self.snapshots.glob(f"net_iter_{iteration}.*"):
                path.unlink(missing_ok=True)

    def solver(self, prefix, iterations=100000000):
        every = SNAPSHOT_EVERY if prefix.startswith("snapshots") else 0
        (self.folder / "solver.prototxt").write_text(SOLVER.format(iterations=iterations, every=every, prefix=prefix))

    def start(self, *words, before=()):
        """A job that trains. `before`: stands before the program."""
        self.jobs += 1
        return Job(self, self.folder / f"job{self.jobs}.log", words, before)


class Job:
    """A training under way, and what it says."""

    def __init__(self, soak, path, words, before):
        self.soak, self.path = soak, path
        hosts = soak.hosts
        slots = hosts.ranks // len(hosts.names)
        command = hosts.command("ddlrun", "-H", ",".join(hosts.names) if hosts.script else "localhost", "-accelerators",
                                str(slots), "-ddlarg", f"-timeout {TIMEOUT}", *before, "caffe", "train", "-solver",
                                "solver.prototxt", "-deterministic", "-batch", "global", *words)
        with open(path, "wb") as log:
            self.process = subprocess.Popen(command, cwd=soak.folder, env=soak.environment, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def log(self):
        return self.path.read_text(errors="replace")

    def iteration(self):
        shown = re.findall(r"\] Iteration (\d+) \(", self.log())
        return int(shown[-1]) if shown else -1

    def host_of(self, rank):
        """By its own log; where the ranks lie on one host, that."""
        named = re.search(rf"\[MPI:{rank}\s*\]\s+name = (\S+)", self.log())
        return named[1] if named else self.soak.hosts.names[0]

    def await_that(self, what, condition, seconds=PATIENCE):
        until = time.monotonic() + seconds
        while not condition():
            if self.process.poll() is not None or time.monotonic() > until:
                raise BenchError(f"waited in vain until {what}; {self.path.name} ends with\n{self.log()[-3000:]}")
            time.sleep(0.2)

    def await_progress(self):
        """It trains, and has written a snapshot of its own."""
        begin = max(self.soak.states(), default=0)
        self.await_that("the job writes a snapshot", lambda: max(self.soak.states(), default=0) > begin)

    def end(self, since, seconds=PATIENCE):
        """Waits for the end of the job and of all its ranks."""
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            return Report("the job does not end", -1, time.monotonic() - since)
        took = time.monotonic() - since
        lines = re.findall(r"^caffe: error: (.*)", self.log(), re.MULTILINE)
        return Report(" | ".join(lines), self.process.returncode, took)

    def stop(self):
        """Asks it for a snapshot and its end. True when it ends as it should: a snapshot that a full disk has cost is told
        once more at the end, by its code."""
        since = time.monotonic()
        self.process.terminate()
        wanted = OUTPUT if re.search(r"Snapshot at iteration \d+ failed", self.log()) else 0
        return self.end(since).code == wanted


# --- faults: each does something to a job, and tells what was done, what the job said of it, and whether that is right --

def is_right(report, pattern):
    """One report, in time, of what was done. Hosts that have lost rank 0 say the same in a line of their own."""
    lines = report.line.split(" | ")
    said = [re.sub(r".*, because it has lost the way to rank 0: ", "", line) for line in lines]
    in_time = report.code == COMMUNICATION and report.seconds <= LIMIT
    return in_time and sum(map(str.__eq__, lines, said)) == 1 and all(re.match(pattern, line) for line in said)


def killed(soak, job, draw):
    rank = draw.randrange(soak.hosts.ranks)
    host, pid, since = job.host_of(rank), soak.processes()[rank], time.monotonic()
    os.kill(pid, signal.SIGKILL)
    report = job.end(since)
    wanted = rf"rank {rank} on {host} \(pid {pid}\) has died"
    return f"SIGKILL of rank {rank} on {host}", report, is_right(report, wanted)


def stopped(soak, job, draw):
    rank = draw.randrange(soak.hosts.ranks)
    host, pid, since = job.host_of(rank), soak.processes()[rank], time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    report = job.end(since)
    wanted = rf"rank {rank} on {host} \(pid {pid}\) has not been heard of"
    return f"SIGSTOP of rank {rank} on {host}", report, is_right(report, wanted)


def cut(soak, job, draw):
    host, since = draw.choice(soak.hosts.names), time.monotonic()
    soak.hosts.call("cut", host, "silent")
    report = job.end(since)
    soak.hosts.call("heal", host)
    if host == soak.hosts.names[0]:  # that of rank 0, which reports in vain; the others do, too
        right = report.code == COMMUNICATION and report.seconds <= LIMIT and f"rather {host} is cut off" in job.log()
    else:
        right = is_right(report, rf"rank \d+ on {host} \(pid \d+\) has not been heard of")
    return f"silent cut of {host}", report, right


def full_disk(soak, job, _):
    since, ballast = time.monotonic(), soak.snapshots / "ballast"
    soak.prune(1)
    try:
        with open(ballast, "wb", buffering=0) as file:
            while file.write(b"\0" * (1 << 16)):
                pass
    except OSError:
        pass
    job.await_that("it tells of the full disk", lambda: re.search(r"Snapshot at iteration \d+ failed: .*No space", job.log()))
    ballast.unlink()
    half = len(list(soak.snapshots.glob("*.tmp.*")))
    newest = max(soak.states(), default=0)
    job.await_that("the next snapshot is written", lambda: max(soak.states(), default=0) > newest)
    line = re.search(r"Snapshot at iteration \d+ failed: [^.]*", job.log())[0]
    alive = job.process.poll() is None and "caffe: error:" not in job.log()
    return "a full disk", Report(line, 0, time.monotonic() - since), alive and half == 0


def short_memory(soak, job, draw):
    """The job under way is asked to stop; one that begins with too little memory says so, and the next may go on."""
    ended = job.stop()
    rank, since = draw.randrange(soak.hosts.ranks), time.monotonic()
    limited = soak.start("-snapshot", "auto", before=("bash", "limited.sh", str(rank), str(LITTLE_KIB)))
    report = limited.end(since)
    # Before it has met the others a rank does not know its number.
    named = f"found by    rank {rank} on" in limited.log() or "left to start with" in report.line
    tells = "memory" in report.line or "address space" in report.line
    right = ended and report.code == MEMORY and tells and named
    return f"a limit on the memory of rank {rank}", report, right



def kinds_for(soak):
    """Names of the faults that this machine can make, and why it cannot make the others."""
    kinds, lacking = {"kill": killed, "stop": stopped, "memory": short_memory}, []
    if soak.hosts.script:
        kinds["cut"] = cut
    else:
        lacking.append("cut (one host)")
    if soak.mounted:
        kinds["disk"] = full_disk
    else:
        lacking.append("disk (no right to mount one)")
    return kinds, lacking


def accuracy(soak, model):
    done = subprocess.run(["caffe", "test", "-model", "net.prototxt", "-weights", model, "-iterations", "10"], cwd=soak.folder,
                          env=soak.environment, text=True, capture_output=True, check=False)
    found = re.search(r"\] accuracy = ([\d.e+-]+)", done.stderr)
    if done.returncode or not found:
        raise BenchError(f"caffe test ended with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return float(found[1])


def disturb(soak, options):
    """The chain, until the time is over: how many faults of each kind, how many were named rightly, the iteration."""
    kinds, lacking = kinds_for(soak)
    where = f"{soak.hosts.ranks} ranks on {len(soak.hosts.names)} host{'s' if len(soak.hosts.names) > 1 else ''}"
    print(f"{where}, seed {options.seed}{'; without ' + ', '.join(lacking) if lacking else ''}", flush=True)
    soak.solver("snapshots/net")
    made, right, end, order = collections.Counter(), 0, time.monotonic() + 60 * options.minutes, []
    job = soak.start("-snapshot", "auto")
    while True:
        until = min(end, time.monotonic() + options.every)
        job.await_progress()
        while time.monotonic() < until:
            soak.prune()
            if job.process.poll() is not None:
                raise BenchError(f"a job ended without a fault:\n{job.log()[-3000:]}")
            time.sleep(0.5)
        if time.monotonic() >= end:
            break
        # Each kind once before any comes again, so that a short soak has them all.
        if not order:
            order = soak.draw.sample(sorted(kinds), len(kinds))
        kind, at = order.pop(), job.iteration()
        done, report, is_named = kinds[kind](soak, job, soak.draw)
        made[kind] += 1
        right += is_named
        print(f"{'right' if is_named else 'WRONG'}: {done} at iteration {at}: after {report.seconds:.1f} s code {report.code}, "
              f"\"{report.line}\"", flush=True)
        if not is_named:
            keep = pathlib.Path(options.keep or ".") / f"soak_wrong_{sum(made.values())}.log"
            shutil.copy(soak.folder / f"job{soak.jobs}.log", keep)
            print(f"       its log: {keep}", flush=True)
        if job.process.poll() is not None:
            job = soak.start("-snapshot", "auto")
    if not job.stop():
        raise BenchError(f"asked to stop, the job ended with code {job.process.returncode}:\n{job.log()[-3000:]}")
    return made, right, max(soak.states())


def undisturbed(soak, iterations):
    """The model of a training of as many iterations at one go."""
    soak.solver("calm", iterations)
    job = soak.start()
    report = job.end(time.monotonic(), seconds=3600 * 24)
    if report.code:
        raise BenchError(f"the undisturbed training ended with code {report.code}:\n{job.log()[-3000:]}")
    return soak.folder / f"calm_iter_{iterations}.caffemodel"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--caffe", default=ROOT / "build/tools/caffe", type=pathlib.Path, help="our program")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--every", type=float, default=60, help="seconds between two faults")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--cluster", help="script that makes hosts; without it, all ranks run on this one")
    parser.add_argument("--keep", help="folder for logs of faults that were named wrongly (default: this one)")
    options = parser.parse_args()
    if options.minutes <= 0 or options.every <= 0:
        parser.error("--minutes and --every have to be above 0")
    options.caffe = options.caffe.resolve()
    # Jobs run in another folder.
    options.cluster = options.cluster and str(pathlib.Path(options.cluster).resolve())
    with tempfile.TemporaryDirectory(prefix="soak.") as folder:
        soak = Soak(options, folder)
        try:
            made, right, iterations = disturb(soak, options)
            model = soak.snapshots / f"net_iter_{iterations}.caffemodel"
            calm = undisturbed(soak, iterations)
            scores = accuracy(soak, model), accuracy(soak, calm)
            same = model.read_bytes() == calm.read_bytes()
        finally:
            soak.close()
    alike, total = abs(scores[0] - scores[1]) <= ALIKE, sum(made.values())
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(made.items()))
    print(f"{total} faults ({faults}), {right} named rightly; {iterations} iterations in {soak.jobs} jobs; accuracy "
          f"{scores[0]:.4f}, undisturbed {scores[1]:.4f}, {'the same' if same else 'other'} weights")
    return int(right < total or not alike or total == 0)


if __name__ == "__main__":
    # A request to end is an exception, so that hosts and mounts go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except (BenchError, OSError) as error:
        sys.exit(f"soak.py: {error}")
