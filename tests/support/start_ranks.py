#!/usr/bin/env python3
"""Starts ranks on this host as torchrun does, without MPI: each knows where rank 0 listens.

  start_ranks.py -n RANKS COMMAND...

Their output is ours. The exit code is the first that is not 0; with it the other ranks have ROBUSTA_TEST_GRACE seconds
(60) to end by themselves, and are killed then, which is a failure of its own (exit code 99).
"""

import os
import socket
import subprocess
import sys
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(ranks, command, **environment):
    place = {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
             "MASTER_PORT": str(free_port())}
    return [subprocess.Popen(command, env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank),
                                           **environment})
            for rank in range(ranks)]


def wait(processes):
    """The first exit code that is not 0."""
    code, last = 0, None
    while any(process.poll() is None for process in processes):
        failed = [process.returncode for process in processes if process.poll()]
        if failed and not last:
            code, last = failed[0], time.monotonic() + float(os.environ.get("ROBUSTA_TEST_GRACE", 60))
        if last and time.monotonic() > last:
            for process in processes:
                process.kill()
            print("start_ranks: ranks did not end with the others", file=sys.stderr)
            return 99
        time.sleep(0.02)
    return code or next((process.returncode for process in processes if process.returncode), 0)


def main(arguments):
    if len(arguments) < 3 or arguments[0] != "-n":
        sys.exit(__doc__)
    code = wait(start(int(arguments[1]), arguments[2:]))
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
