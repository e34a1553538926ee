"""Runs mpirun as a child: signals reach it once, its exit status is ours, its output may be rewritten on the way."""

import ctypes
import os
import selectors
import shlex
import signal
import subprocess
import sys
import time

from .prefix import Prefixer

HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
           signal.SIGCONT)
# How long an unfinished line may wait for its end, in seconds.
PATIENCE = 0.2
PR_SET_PDEATHSIG = 1


def quote(words):
    """The words as a line that can be pasted into a shell."""
    return " ".join(shlex.quote(word) for word in words)


def announce(words):
    print("+ " + quote(words), file=sys.stderr, flush=True)


def start(words, handle, **more):
    """mpirun in a session of its own, so that what a terminal or a batch system sends to all of ours reaches it only
    through us, once (a second SIGINT or SIGTERM makes mpirun kill at once); when we are killed it gets SIGTERM.

    handle(child) installs the handlers of HANDLED; none of these signals gets lost between start and handler.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def before():
        os.setsid()
        if hasattr(libc, "prctl"):
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)

    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    try:
        child = subprocess.Popen(words, preexec_fn=before, **more)
        handle(child)
        return child
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)


def send(child, number):
    if child.poll() is None:
        child.send_signal(number)


def send_end(child):
    send(child, signal.SIGTERM)


def descendants(pid):
    """{process id: start time} of all processes below `pid`."""
    below, parents = {}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = status(int(name))
            if fields:
                parents.setdefault(fields[0], []).append((int(name), fields[1]))
    waiting = [pid]
    while waiting:
        for child, began in parents.get(waiting.pop(), []):
            below[child] = began
            waiting.append(child)
    return below


def status(pid):
    """(parent, start time) of a process, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[1]), int(fields[19])


def kill(family):
    """SIGKILL to those of descendants() that still are the same processes."""
    for pid, began in family.items():
        now = status(pid)
        if now and now[1] == began:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def exit_code(status):
    """A shell's exit code for a status of subprocess."""
    return status if status >= 0 else 128 - status


def forward_signals(child):
    for number in HANDLED:
        signal.signal(number, lambda n, _: send(child, n))

    def stop(_number, _frame):
        send(child, signal.SIGTSTP)
        os.kill(os.getpid(), signal.SIGSTOP)

    signal.signal(signal.SIGTSTP, stop)


class Output:
    """One stream of mpirun, on its way to one of ours."""

    def __init__(self, source, target):
        self.source, self.target, self.prefixer, self.closed = source, target, Prefixer(), False
        self.last = None  # time of the oldest unprinted byte

    def write(self, data):
        """False when nobody reads any more."""
        try:
            while data and not self.closed:
                data = data[os.write(self.target, data):]
        except BrokenPipeError:
            self.closed = True
        return not self.closed

    def waits(self):
        return bool(self.prefixer.lines or self.prefixer.rest)


def relay(child, hear):
    """Copies the output of `child`, with prefixes, until it ends; `hear` is told what comes on stderr."""
    waiting = selectors.DefaultSelector()
    outputs = [Output(child.stdout, 1), Output(child.stderr, 2)]
    for output in outputs:
        waiting.register(output.source, selectors.EVENT_READ, output)
    while waiting.get_map():
        since = [o.last for o in outputs if o.last is not None]
        events = waiting.select(max(0.0, min(since) + PATIENCE - time.monotonic()) if since else None)
        for key, _ in events:
            output = key.data
            data = os.read(key.fd, 65536)
            if not data:
                waiting.unregister(key.fileobj)
            if key.fileobj is child.stderr:
                hear(data)
            if not output.write(output.prefixer.feed(data) if data else output.prefixer.flush()):
                send(child, signal.SIGTERM)
            output.last = (output.last or time.monotonic()) if output.waits() else None
        for output in outputs:
            if output.last is not None and time.monotonic() - output.last >= PATIENCE:
                output.write(output.prefixer.flush())
                output.last = None
