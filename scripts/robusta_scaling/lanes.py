"""The two lanes of an iteration in time: computing, and the channel that reduces one bucket after the other.

They share the core of a rank. While the link carries a bucket, somebody has to move, add and hand on the data: `core`
seconds of the core for each second of the link. Computing beside it goes on with what is left. A fair scheduler leaves
computing half of the core at least: a channel that needs more than the other half is slowed down as long as somebody
computes, and one that needs more than a whole core always is.
"""

FAIR = 0.5


class Lanes:
    """`costs`: seconds of the link for each bucket. `now` is the time of computing."""

    def __init__(self, costs, core=0.0):
        self.costs = costs
        self.core = core
        self.now = 0.0
        self.reduced = self.posted = len(costs)
        self.left = 0.0  # seconds of the link for the first bucket that is not reduced

    def begin(self):
        """A new round of buckets. What was posted in the last one is reduced."""
        assert self.reduced == self.posted
        self.reduced = self.posted = 0

    def post(self):
        """The next bucket is complete."""
        self.posted += 1
        if self.posted == self.reduced + 1:
            self._next()

    def work(self, seconds):
        """Computes what takes so many seconds of a core of one's own."""
        pace = min(1.0, FAIR / self.core) if self.core else 1.0
        share = 1 - self.core * pace
        while self.reduced < self.posted:
            if seconds / share < self.left / pace:
                self.now += seconds / share
                self.left -= seconds / share * pace
                return
            self.now += self.left / pace
            seconds -= self.left / pace * share
            self._done()
        self.now += max(seconds, 0.0)

    def idle(self, seconds):
        """Waits for so long for something that is no bucket, beside which those that are posted go on."""
        pace = max(1.0, self.core)
        while self.reduced < self.posted:
            if seconds < self.left * pace:
                self.now += seconds
                self.left -= seconds / pace
                return
            self.now += self.left * pace
            seconds -= self.left * pace
            self._done()
        self.now += max(seconds, 0.0)

    def wait(self, bucket):
        """Does nothing until the bucket is reduced."""
        assert bucket < self.posted
        while self.reduced <= bucket:
            self.now += self.left * max(1.0, self.core)
            self._done()

    def _done(self):
        self.reduced += 1
        self._next()

    def _next(self):
        self.left = self.costs[self.reduced] if self.reduced < self.posted else 0.0
