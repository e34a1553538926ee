"""caffe.Timer: a stopwatch, for scripts that measure what they run."""

from __future__ import annotations

import time


class Timer:
    """Measures from start() to stop(). Passes of nets are through when their calls return, on GPUs, too."""

    def __init__(self) -> None:
        self._begin: float | None = None  # None: it stands still
        self._seconds = 0.0

    def start(self) -> None:
        """Begins anew, and forgets what was measured; one that runs goes on."""
        if self._begin is None:
            self._begin = time.perf_counter()

    def stop(self) -> None:
        """Ends what start began; of one that stands still nothing changes."""
        if self._begin is not None:
            self._seconds, self._begin = time.perf_counter() - self._begin, None

    @property
    def ms(self) -> float:
        """Milliseconds between the last start and stop. Asking stops it; one that never ran says 0."""
        self.stop()
        return 1000 * self._seconds
