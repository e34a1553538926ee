"""An end that leaves nothing behind, whenever it comes: what has to be undone is noted before it is done, and the first
request to end (Ctrl-C, SIGTERM) is the last one that anybody hears."""

import contextlib
import signal
import sys

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _listen(handler):
    for number in SIGNALS:
        signal.signal(number, handler)


def _stop(number, _):
    """An exception, so that all is undone. Programs that are started from here on ignore further requests, too."""
    _listen(signal.SIG_IGN)
    sys.exit(128 + number)


@contextlib.contextmanager
def held():
    """Requests to end wait meanwhile: for steps that cannot be undone when they are done by half."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Ending:
    """Acts that are run at the end, the last one first. One may be run twice, and before there is anything to undo."""

    def __init__(self):
        self.acts = []

    def will(self, act):
        """To be called before what `act` undoes."""
        self.acts.append(act)

    def run(self, work):
        """What work() returns. A request to end may come between any two lines: one that comes while the inner acts
        begin is caught by the outer ones, and there is no second one."""
        _listen(_stop)
        try:
            try:
                return work()
            finally:
                self._clean()
        finally:
            self._clean()

    def _clean(self):
        _listen(signal.SIG_IGN)
        while self.acts:
            try:
                self.acts[-1]()
            except Exception as error:  # pylint: disable=broad-except  # the others have to run all the same
                print(f"at the end: {error}", file=sys.stderr)
            self.acts.pop()
