"""One iteration of N ranks in time.

Compute and communication are two lanes (lanes.py). Backward runs layer by layer and posts a bucket when the last of its
gradients is there; one channel reduces the buckets in that order; the next forward waits, layer by layer, for the
buckets of the parameters it reads, and updates them first unless backward already has. A bucket is reduce-scattered
over each dimension in turn, the innermost first, and gathered back (Cho et al., BlueConnect, MLSys 2019). All ranks are
alike: stragglers are not in the model.
"""

import dataclasses
import math

from .lanes import Lanes

# A step repeats itself from the second iteration on; one more shows that it does.
ITERATIONS = 4


@dataclasses.dataclass(frozen=True)
class Tier:
    """A dimension: how many ranks, and what links them.

    `bandwidth` in bytes/s and direction of one link, which `shared_by` ranks use at the same time; `latency` in seconds per
    message; `shrink` is 0.5 where gradients travel in 16 bits. `direct`: pieces go straight to their owners, one hop for
    each pass, instead of around a ring.
    """

    size: int
    bandwidth: float
    latency: float = 0
    shared_by: int = 1
    shrink: float = 1
    direct: bool = False


def dimension_seconds(tiers, nbytes):
    """Seconds that each dimension takes for an all-reduce of `nbytes`: both passes."""
    seconds = []
    for tier in tiers:
        n = tier.size
        hops = min(n - 1, 1) if tier.direct else n - 1
        moved = (n - 1) / n * nbytes * tier.shrink
        seconds.append(2 * (hops * tier.latency + moved / (tier.bandwidth / tier.shared_by)))
        nbytes /= n
    return seconds


@dataclasses.dataclass
class Bucket:
    """A range of gradients that is reduced at once, and the layers (by index) whose parameters are in it."""

    bytes: int
    layers: list[int]


def make_buckets(profile, bucket_bytes):
    """In the order of backward; a bucket is closed when it holds `bucket_bytes` or more."""
    buckets = []
    for index in reversed(range(len(profile.layers))):
        for nbytes in profile.layers[index].params:
            if not buckets or buckets[-1].bytes >= bucket_bytes:
                buckets.append(Bucket(0, []))
            buckets[-1].bytes += nbytes
            if index not in buckets[-1].layers:
                buckets[-1].layers.append(index)
    return buckets


@dataclasses.dataclass(frozen=True)
class Prediction:
    """Seconds of one step and of its parts; `dimensions` are those of communication alone."""

    step: float
    compute: float
    communication: float
    dimensions: tuple[float, ...]
    ranks: int
    images_per_second: float

    @property
    def exposed(self):
        return self.step - self.compute

    @property
    def exposed_share(self):
        """How much of the communication costs time: 0 when all is hidden."""
        return self.exposed / self.communication if self.communication else 0.0

    @property
    def efficiency(self):
        return self.compute / self.step


def predict(profile, tiers, bucket_bytes, wait_after_backward=False, core=0.0):
    """The step of `profile` on the ranks of `tiers`.

    `wait_after_backward`: all buckets are waited for before the next forward begins. `core`: the seconds of its core
    that a rank needs for each second of its links.
    """
    buckets = make_buckets(profile, bucket_bytes)
    per_dimension = [dimension_seconds(tiers, b.bytes) for b in buckets]
    costs = [sum(seconds) for seconds in per_dimension]
    if math.prod(t.size for t in tiers) == 1:
        costs = [0.0] * len(buckets)
    run = _Run(profile, buckets, costs, wait_after_backward, core)
    ends = [run.iteration() for _ in range(ITERATIONS)]
    ranks = math.prod(t.size for t in tiers)
    step = ends[-1] - ends[-2]
    return Prediction(step, profile.compute, sum(costs), tuple(map(sum, zip(*per_dimension, strict=True))), ranks,
                      ranks * profile.batch / step)


class _Run:
    """The order of things in an iteration, on its two lanes."""

    def __init__(self, profile, buckets, costs, wait_after_backward, core):
        self.profile, self.buckets = profile, buckets
        self.wait_after_backward = wait_after_backward
        self.lanes = Lanes(costs, core)
        self.updated = [True] * len(buckets)
        total = profile.bytes or 1
        self.update_seconds = [profile.update * b.bytes / total for b in buckets]
        self.needs = [[b for b, bucket in enumerate(buckets) if i in bucket.layers] for i in range(len(profile.layers))]

    def iteration(self):
        """Forward, backward; the time when it ends."""
        for index, layer in enumerate(self.profile.layers):
            for bucket in self.needs[index]:
                self.take(bucket)
            self.lanes.work(layer.forward)
        self.lanes.begin()
        missing = [len(b.layers) for b in self.buckets]
        self.updated = [False] * len(self.buckets)
        for index in reversed(range(len(self.profile.layers))):
            self.lanes.work(self.profile.layers[index].backward)
            for bucket in self.needs[index]:
                missing[bucket] -= 1
            while self.lanes.posted < len(self.buckets) and missing[self.lanes.posted] == 0:
                self.lanes.post()
            for bucket in range(self.lanes.reduced):
                self.take(bucket)
        if self.wait_after_backward:
            for bucket in range(len(self.buckets)):
                self.take(bucket)
        return self.lanes.now

    def take(self, bucket):
        """Waits until the bucket is reduced and updates its parameters."""
        if self.updated[bucket]:
            return
        self.lanes.wait(bucket)
        self.updated[bucket] = True
        self.lanes.work(self.update_seconds[bucket])
