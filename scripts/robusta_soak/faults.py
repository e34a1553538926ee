"""The faults. Each does something to a job, and tells what was done, what the job said, and whether that is right."""

import os
import re
import signal
import time

from robusta_soak.job import COMMUNICATION, LIMIT, MEMORY, Report

LITTLE_KIB = 420 << 10  # of address space: it cannot start; with 440 MiB its net did not fit, but now and then by chance


def is_in_time(report):
    return report.code == COMMUNICATION and report.seconds <= LIMIT


def is_right(report, pattern):
    """One report, in time, of what was done. Hosts that have lost rank 0 say the same in a line of their own."""
    lines = report.line.split(" | ")
    said = [re.sub(r".*, because it has lost the way to rank 0: ", "", line) for line in lines]
    reports = sum(map(str.__eq__, lines, said))
    return is_in_time(report) and reports == 1 and all(re.match(pattern, line) for line in said)


def signalled(number, said):
    """A rank that is drawn gets a signal; of it should be `said`."""

    def fault(soak, job, draw):
        rank = draw.randrange(soak.hosts.ranks)
        host, pid, since = job.host_of(rank), soak.processes()[rank], time.monotonic()
        os.kill(pid, number)
        report = job.end(since)
        wanted = rf"rank {rank} on {host} \(pid {pid}\) {said}"
        return f"{number.name} of rank {rank} on {host}", report, is_right(report, wanted)

    return fault


def cut(soak, job, draw):
    host, since = draw.choice(soak.hosts.names), time.monotonic()
    soak.hosts.call("cut", host, "silent")
    report = job.end(since)
    soak.hosts.call("heal", host)
    if host == soak.hosts.names[0]:  # that of rank 0, which reports in vain; the others do, too
        right = is_in_time(report) and f"rather {host} is cut off" in job.log()
    else:
        right = is_right(report, rf"rank \d+ on {host} \(pid \d+\) has not been heard of")
    return f"silent cut of {host}", report, right


def full_disk(soak, job, _):
    since = time.monotonic()
    soak.prune(1)
    ballast = soak.disk.fill()
    job.await_that("it tells of the full disk", lambda: "No space" in job.failed_snapshot())
    ballast.unlink()
    half = len(list(soak.disk.folder.glob("*.tmp.*")))
    newest = soak.newest()
    job.await_that("the next snapshot is written", lambda: soak.newest() > newest)
    right = job.lives() and "caffe: error:" not in job.log() and half == 0
    return "a full disk", Report(job.failed_snapshot(), 0, time.monotonic() - since), right


def short_memory(soak, job, draw):
    """The job under way is asked to stop; one that begins with too little memory says so, and the next may go on."""
    ended = job.stop()
    rank, since = draw.randrange(soak.hosts.ranks), time.monotonic()
    limited = soak.start(before=("bash", "limited.sh", str(rank), str(LITTLE_KIB)))
    report = limited.end(since)
    # Before it has met the others a rank does not know its number.
    named = f"found by    rank {rank} on" in limited.log() or "left to start with" in report.line
    tells = "memory" in report.line or "address space" in report.line
    right = ended and report.code == MEMORY and tells and named
    return f"a limit on the memory of rank {rank}", report, right


def kinds_for(soak):
    """The faults that this machine can make, by their names, and why it cannot make the others."""
    kinds = {"kill": signalled(signal.SIGKILL, "has died"), "stop": signalled(signal.SIGSTOP, "has not been heard of"),
             "memory": short_memory}
    lacking = []
    if soak.hosts.script:
        kinds["cut"] = cut
    else:
        lacking.append("cut (one host)")
    if soak.disk.mounted:
        kinds["disk"] = full_disk
    else:
        lacking.append("disk (no right to mount one)")
    return kinds, lacking
