"""What mpirun says on stderr when a job ends: passed on as it comes, and kept where it names who is at fault.

The ranks cannot tell: where Open MPI loses a host it ends all ranks itself, and to each other they have died. A rank
that is killed before the ranks watch each other is seen by mpirun alone. The messages are those of Open MPI 4 and 5.
"""

import os
import re
import signal
import threading

from .errors import Code

# Messages are a few lines long; more of the output is not kept.
KEPT = 8192
LOST_HOST = re.compile(r"(?:ORTE|PRTE|PRRTE) has lost communication with a remote daemon"
                       r".*?Remote daemon\s*:.*? on node (\S+)", re.DOTALL)
KILLED = re.compile(r"noticed that process rank (\d+) with PID (\d+) on node (\S+) exited on\s+signal (\d+)")

# A rank has ended with an error, and mpirun ends the others.
ABORTS = re.compile(r"a non-zero exit code\.{1,3}\s+Per user-direction,\s+the job has been aborted")


class LastWords:
    """Copies `source`, a pipe, to the descriptor `target` in a thread of its own; without one somebody else copies, and
    tells what passes."""

    def __init__(self, source=None, target=2):
        self.source, self.target, self.text = source, target, ""
        self.lost_host, self.killed, self.aborts = None, None, False
        self.thread = threading.Thread(target=self.copy, daemon=True) if source else None
        if self.thread:
            self.thread.start()

    def copy(self):
        while data := os.read(self.source.fileno(), 65536):
            self.hear(data)
            try:
                while data:
                    data = data[os.write(self.target, data):]
            except OSError:
                continue  # nobody reads ours; mpirun has to be read all the same

    def hear(self, data):
        self.text += data.decode(errors="replace")
        found = LOST_HOST.search(self.text)
        if found and self.lost_host is None:
            self.lost_host = found[1]
        found = KILLED.search(self.text)
        if found and self.killed is None:
            self.killed = found.groups()
        self.aborts = self.aborts or bool(ABORTS.search(self.text))
        self.text = self.text[-KEPT:]

    def finish(self):
        """Waits for what is still on its way; what mpirun left behind may hold the pipe open for ever."""
        if self.thread:
            self.thread.join(1)

    def verdict(self, code):
        """(exit code, why) by mpirun's words, given the code that the ranks left or None; None where it has none."""
        if self.lost_host and code in (None, Code.COMMUNICATION):
            return Code.COMMUNICATION, f"its launcher, which lost host {self.lost_host}: mpirun then ends all ranks"
        if self.killed and code is None:
            rank, pid, host, number = self.killed
            return Code.COMMUNICATION, (f"the death of rank {rank} on {host} (pid {pid}), killed by {name_of(number)} "
                                        "before the ranks watched each other")
        return None


def name_of(number):
    try:
        return signal.Signals(int(number)).name
    except ValueError:
        return f"signal {number}"
