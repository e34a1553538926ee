#!/usr/bin/env python3
"""What a slow worker costs with parameter servers and without: 3 workers train LeNet on real digits, and one of them stands
still three quarters of the time (SIGSTOP and SIGCONT in turn). Prints iterations per second, their ratio to synchronous
training with the same slow worker, and the test accuracy.

  scripts/bench_servers.py FOLDER_WITH_T10K [--caffe build/tools/caffe] [--iterations 2000] [--staleness 3 6]
"""
import argparse
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import accuracy_lenet  # pylint: disable=wrong-import-position

WORKERS, BATCH, RUNS, STANDS = 3, 21, 0.03, 0.09  # the last two in seconds


def pid_of_rank(rank, program):
    """Of the process of Open MPI's that runs `program`; None while there is none."""
    wanted = f"OMPI_COMM_WORLD_RANK={rank}".encode()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "exe").resolve() == program and wanted in (process / "environ").read_bytes().split(b"\0"):
                return int(process.name)
    return None


def slow_down(rank, program, job):
    pid = None
    while pid is None and job.poll() is None:
        time.sleep(0.05)
        pid = pid_of_rank(rank, program)
    with contextlib.suppress(ProcessLookupError, TypeError):
        while job.poll() is None:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(STANDS)
            os.kill(pid, signal.SIGCONT)
            time.sleep(RUNS)


def train(work, program, iterations, options, ranks, slow):
    """Iterations per second between the first report and the last, and the accuracy."""
    accuracy_lenet.make_solver(work, display=iterations // 4, interval=iterations, iterations=iterations, seed=1)
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), str(program), "train", "-solver",
               "solver.prototxt", "-batch", str(BATCH), "-log_json", "log.json", *options]
    with open(work / "log.txt", "w", encoding="utf-8") as log:
        job = subprocess.Popen(command, cwd=work, stdout=log, stderr=log, env=dict(os.environ, OMP_NUM_THREADS="1"))
        if slow:
            threading.Thread(target=slow_down, args=(WORKERS - 1, program, job)).start()
        code = job.wait()
    text = (work / "log.txt").read_text(encoding="utf-8")
    if code != 0:
        sys.exit(f"{' '.join(command)} ended with {code}:\n{text[-2000:]}")
    speeds = [float(speed) for speed in re.findall(r"\(([0-9.e+]+) iter/s", text)][1:]
    accuracy = float(re.findall(r"accuracy = ([0-9.]+)", text)[-1])
    return len(speeds) / sum(1 / speed for speed in speeds), accuracy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("digits", type=pathlib.Path)
    parser.add_argument("--caffe", type=pathlib.Path, default=pathlib.Path("build/tools/caffe"))
    parser.add_argument("--iterations", type=int, default=2000)
    parser.add_argument("--staleness", type=int, nargs="+", default=[3, 6])
    given = parser.parse_args()
    root, program = pathlib.Path(__file__).resolve().parent.parent, given.caffe.resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        accuracy_lenet.make_data(given.digits, work, program.parent)
        accuracy_lenet.make_net(root, work)
        rows = [("synchronous, all of one speed", [], WORKERS, False), ("synchronous", [], WORKERS, True)]
        served = ["-n_group", str(WORKERS), "-n_server", "1"]
        rows += [(f"a server, -max_staleness {s}", [*served, "-ddl", f"-max_staleness {s}"], WORKERS + 1, True)
                 for s in given.staleness]
        base = None
        for name, options, ranks, slow in rows:
            speed, accuracy = train(work, program, given.iterations, options, ranks, slow)
            if name == "synchronous":
                base = speed
            ratio = f"{speed / base:6.2f} x" if base else "        "
            print(f"{name:32} {speed:8.1f} iter/s {ratio} {100 * accuracy:6.2f} %", flush=True)


if __name__ == "__main__":
    main()
