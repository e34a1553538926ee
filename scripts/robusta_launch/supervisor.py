"""Runs Open MPI's mpirun as a child, ends it where it outlives its ranks, and says with which code the job has ended.

mpirun's own code says little: 205 where it has lost a host, 137 where a rank was killed. The ranks leave theirs in a file;
mpirun's last words tell of what the ranks cannot know.
"""

import re
import subprocess
import sys
import threading
import time

from . import job
from .errors import Code
from .last_words import LastWords

CODES = frozenset(list(range(1, 11)) + [70, 130])
TICK = 0.2


def codes_of(words):
    """Exit codes that a program of this command line may end with: ours, and what -restart_code asks for."""
    line = " ".join(words)
    return CODES | {int(code) for code in re.findall(r"(?<=\s)--?restart_code[= ]([1-9][0-9]{1,2})(?=\s|$)", line)}


def read_end(path, codes=CODES):
    """(exit code, why) from the file `code rank why` that the first rank to fail leaves, or (None, "")."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            words = file.read(4096).split("\n", 1)[0].split(" ", 2)
    except OSError:
        return None, ""
    if not words[0].isdigit() or int(words[0]) not in codes:
        return None, ""
    return int(words[0]), f"rank {words[1]}: {words[2]}" if len(words) == 3 else "unknown"


class Supervisor:
    """`linger`: seconds that mpirun may take to end after its ranks, beyond which it hangs. prefixed: lines come out as
    `[r] line`."""

    def __init__(self, name, words, exit_file, linger, env=None, prefixed=False):
        self.name, self.exit_file, self.linger, self.codes = name, exit_file, linger, codes_of(words)
        self.child, self.ended_by_us, self.hung, self.relay = None, False, False, None
        pipes = {"stdout": subprocess.PIPE} if prefixed else {}
        job.start(words, self.handle, env=env, stderr=subprocess.PIPE, bufsize=0, **pipes)
        self.last_words = LastWords(None if prefixed else self.child.stderr)
        if prefixed:
            self.relay = threading.Thread(target=job.relay, args=(self.child, self.last_words.hear), daemon=True)
            self.relay.start()

    def handle(self, child):
        """What signals do: by default they reach mpirun."""
        self.child = child
        job.forward_signals(child)

    def read_end(self):
        return read_end(self.exit_file, self.codes)

    def tell(self, text):
        print(f"{self.name}: {text}", file=sys.stderr, flush=True)

    def end(self, why, gently):
        """Ends mpirun, and what it started on this host; its daemons on others end when they lose it."""
        self.tell(f"{why}: ending mpirun")
        self.ended_by_us = True
        if gently:
            job.send_end(self.child)
            until = time.monotonic() + self.linger
            while self.child.poll() is None and time.monotonic() < until:
                time.sleep(TICK)
        if self.child.poll() is None:
            family = job.descendants(self.child.pid)
            self.child.kill()
            job.kill(family)
            self.child.wait()

    def look(self, now):
        """Called every TICK while mpirun runs."""

    def wait(self):
        """mpirun's exit code. It hangs when a host is cut off while it ends the job, and now and then when a rank fails
        before all have met, so it is not waited for long."""
        left = None
        while self.child.poll() is None:
            time.sleep(TICK)
            now = time.monotonic()
            self.look(now)
            if left is None and (self.read_end()[0] is not None or self.last_words.aborts):
                left = now
            if left is not None and now >= left + self.linger and self.child.poll() is None:
                self.hung = self.read_end()[0] is None
                whose = "mpirun was to end the job" if self.hung else "the ranks ended"
                self.end(f"{whose} {self.linger} s ago", False)
        status = job.exit_code(self.child.wait())
        if self.relay:
            self.relay.join(1 if self.ended_by_us else None)
        self.last_words.finish()
        return status

    def verdict(self, status):
        """(exit code, why) of the job whose mpirun has returned `status`; (status, "") where nobody knows more."""
        code, why = self.read_end()
        known_better = self.last_words.verdict(code) if status else None
        if self.hung and code is None and not known_better:
            known_better = (Code.COMMUNICATION, "mpirun, which hung while it ended the others: a rank failed before the "
                                                "ranks watched each other, as it says above")
        if known_better:
            return known_better[0], f"{known_better[1]}; go on from the last snapshot with -snapshot auto"
        return (status, "") if code is None else (code, why)
