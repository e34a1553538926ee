"""The time of a visit: clocks, and programs that are ended before it is up.

What always holds: whatever `run` starts has ended, with all that it started, when `run` returns.
"""

import os
import signal
import subprocess
import time


class Clock:
    """Seconds since the visit began; the real ones."""

    def __init__(self):
        self._start = time.monotonic()

    def now(self):
        return time.monotonic() - self._start

    def run(self, step, line, log, environment, folder, limit):
        """The exit code of a program, None where it had to be ended after `limit` seconds. The log has its output."""
        with open(log, "ab") as output:
            # In a session of its own: what it starts is ended with it.
            try:
                child = subprocess.Popen(line, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT,
                                         stdin=subprocess.DEVNULL, start_new_session=True)
            except OSError as error:
                output.write(f"{line[0]} cannot be started: {error}\n".encode())
                return 127
            try:
                return child.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                end_session(child)


def end_session(child):
    """Ends a program and what is left of its session."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


class RehearsalClock(Clock):
    """Runs programs as they are, but time passes as it is expected to: by `seconds[step]`, where that is known, else by
    what the step says of itself. One that is expected to take longer than it may counts as ended at its limit."""

    LONGEST = 1800  # real seconds of a program: a processor stands for the GPU

    def __init__(self, seconds):
        super().__init__()
        self._seconds = seconds
        self._now = 0.0

    def now(self):
        return self._now

    def run(self, step, line, log, environment, folder, limit):
        expected = self._seconds.get(step.name, step.expected)
        if expected > limit:
            self._now += limit
            return None
        code = super().run(step, line, log, environment, folder, self.LONGEST)
        self._now += expected
        return code
