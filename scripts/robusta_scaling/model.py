"""One iteration of N ranks in time.

Compute and communication are two lanes (lanes.py). Backward runs layer by layer and posts a bucket when the last of its
gradients is there; one channel reduces the buckets in that order; the next forward waits, layer by layer, for the
buckets of the parameters it reads, and updates them first unless backward already has. A bucket is reduce-scattered
over each dimension in turn, the innermost first, and gathered back (Cho et al., BlueConnect, MLSys 2019). Where the ranks
share out the update (Rajbhandari et al., ZeRO, 2020), what is gathered are weights: when all gradients are summed each rank
updates its part, and the weights travel beside the next forward. With local steps (Lin et al., "Don't Use Large Mini-Batches, Use Local SGD",
2020) gradients are summed within the first dimension alone, and weights are averaged over all every so many iterations. With
parameter servers (Li et al., "Scaling Distributed Machine Learning with the Parameter Server", 2014) the sums of a group go to
servers, which update, and weights come back. All ranks are alike: stragglers are not in the model.
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
    message; `shrink` is 0.5 where gradients travel in 16 bits, `shrink_back` that of what is gathered. `direct`: pieces go straight to their owners, one hop for
    each pass, instead of around a ring.
    """

    size: int
    bandwidth: float
    latency: float = 0
    shared_by: int = 1
    shrink: float = 1
    direct: bool = False
    shrink_back: float | None = None  # as `shrink`


def pass_seconds(tiers, nbytes, back=False):
    """Seconds that each dimension takes for one pass over `nbytes`: the reduce-scatter, or the all-gather `back`."""
    seconds = []
    for tier in tiers:
        n = tier.size
        hops = min(n - 1, 1) if tier.direct else n - 1
        shrink = tier.shrink if not back or tier.shrink_back is None else tier.shrink_back
        moved = (n - 1) / n * nbytes * shrink
        seconds.append(hops * tier.latency + moved / (tier.bandwidth / tier.shared_by))
        nbytes /= n
    return seconds


def dimension_seconds(tiers, nbytes):
    """Seconds that each dimension takes for an all-reduce of `nbytes`: both passes."""
    return [there + back for there, back in
            zip(pass_seconds(tiers, nbytes), pass_seconds(tiers, nbytes, back=True), strict=True)]


def adasum_seconds(tiers, nbytes):
    """The same for Adasum (Maleki et al., MLSys 2021): a sum within the first dimension, halves that are swapped with one
    partner after the other in all further ones, there and back, and a second sum within the first dimension."""
    inner = [2 * seconds for seconds in dimension_seconds(tiers[:1], nbytes)]
    nbytes /= tiers[0].size
    across = []
    levels = 0
    for tier in tiers[1:]:
        seconds = 0.0
        for _ in range(round(math.log2(tier.size))):
            levels += 1
            nbytes /= 2
            # There a sum of the products over the 2^level ranks that combine, a message each way for each level below.
            seconds += 2 * (tier.latency + nbytes / (tier.bandwidth / tier.shared_by)) + levels * tier.latency
        across.append(seconds)
    return inner + across


@dataclasses.dataclass(frozen=True)
class Servers:
    """Parameter servers, each on a host of its own, and how many groups push to them over `link`, whose `shrink` is that of
    gradients. A bucket lies on one of them, or on two: at a time all groups meet at one server's end of its link."""

    count: int
    groups: int
    link: Tier

    def push_seconds(self, nbytes):
        return self.link.latency + self.groups * nbytes * self.link.shrink / self.link.bandwidth

    def pull_seconds(self, nbytes):
        return self.link.latency + self.groups * nbytes / self.link.bandwidth


@dataclasses.dataclass(frozen=True)
class Cuts:
    """Layers that are cut among the ranks: parts by name, and the link between those that have all parts of one. Each rank
    gathers the inputs of the others, computes its outputs for all their samples and sends them back, and so the gradients
    (Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014); nobody computes meanwhile."""

    parts: dict[str, int]
    link: Tier

    def exchange_seconds(self, layer):
        """Of a pass forward, and of one backward."""
        parts = self.parts.get(layer.name, 1)
        if parts == 1:
            return 0.0
        nbytes = (parts - 1) * (layer.inputs + layer.outputs / parts)
        return 2 * self.link.latency + nbytes * self.link.shared_by / self.link.bandwidth

    def sum_seconds(self, ranks, parts, nbytes):
        """Over the ranks that have the same part."""
        return sum(dimension_seconds([dataclasses.replace(self.link, size=ranks // parts)], nbytes))


@dataclasses.dataclass
class Bucket:
    """A range of gradients that is reduced at once, and the layers (by index) whose parameters are in it: of a layer in
    `parts` those of one part."""

    bytes: float
    layers: list[int]
    parts: int = 1


def make_buckets(profile, bucket_bytes, parts=None):
    """In the order of backward; a bucket is closed when it holds `bucket_bytes` or more, and around the parameters of a layer
    in `parts`, by its name, each of which has one of its own."""
    buckets = []
    for index in reversed(range(len(profile.layers))):
        cut = (parts or {}).get(profile.layers[index].name, 1)
        for nbytes in profile.layers[index].params:
            if cut > 1:
                buckets.append(Bucket(nbytes / cut, [index], cut))
                continue
            if not buckets or buckets[-1].bytes >= bucket_bytes or buckets[-1].parts > 1:
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


def predict(profile, tiers, bucket_bytes, wait_after_backward=False, core=0.0, shard=None, sync_every=1, servers=None,
            adasum=False, cuts=None):
    """The step of `profile` on the ranks of `tiers`.

    `wait_after_backward`: all buckets are waited for before the next forward begins. `core`: the seconds of its core
    that a rank needs for each second of its links. `shard`: the ranks share out the update ("states"), and with "gradients" two
    buckets at a time have memory. `sync_every`: the iterations
    between two averages of the weights, of which the step is the mean. `servers`: hold the parameters; the ranks are those of
    one of their groups. `adasum`: combines gradients in place of their sum. `cuts`: layers that are cut among the ranks.
    """
    buckets = make_buckets(profile, bucket_bytes, cuts and cuts.parts)
    ranks = math.prod(t.size for t in tiers)
    there, back = ([sum(pass_seconds(tiers, b.bytes, way)) if ranks > 1 else 0.0 for b in buckets]
                   for way in (False, True))
    both = [a + b for a, b in zip(there, back, strict=True)]
    dimensions = list(map(sum, zip(*(dimension_seconds(tiers, b.bytes) for b in buckets), strict=True)))
    if servers:
        push = [sums + servers.push_seconds(b.bytes) for sums, b in zip(both, buckets, strict=True)]
        pull = [servers.pull_seconds(b.bytes) for b in buckets]
        run = _ServedRun(profile, buckets, push + pull[::-1], wait_after_backward, core, servers.count)
        both = [a + b for a, b in zip(push, pull, strict=True)]
        dimensions.append(sum(both) - sum(dimensions))
        ranks *= servers.groups
    elif cuts:
        both = [cuts.sum_seconds(ranks, b.parts, b.bytes) if b.parts > 1 else seconds
                for b, seconds in zip(buckets, both, strict=True)]
        run = _CutRun(profile, buckets, both, wait_after_backward, core, cuts)
    elif adasum:
        seconds = [adasum_seconds(tiers, b.bytes) for b in buckets]
        both = [sum(of_bucket) if ranks > 1 else 0.0 for of_bucket in seconds]
        run = _Run(profile, buckets, both, wait_after_backward, core)
        dimensions = list(map(sum, zip(*seconds, strict=True)))
    elif sync_every > 1:
        within = [sum(dimension_seconds(tiers[:1], b.bytes)) for b in buckets]
        run = _LocalRun(profile, buckets, within + both[::-1], wait_after_backward, core, sync_every)
        both = [near + far / sync_every for near, far in zip(within, both, strict=True)]
    elif shard:
        kind = _ShortOfMemory if shard == "gradients" else _SharedRun
        run = kind(profile, buckets, there + back[::-1], wait_after_backward, core, ranks)
    else:
        run = _Run(profile, buckets, both, wait_after_backward, core)
    ends = [run.iteration() for _ in range(ITERATIONS * sync_every)]
    step = (ends[-1] - ends[-1 - sync_every]) / sync_every
    if sync_every > 1:
        dimensions = [dimensions[0] * (1 + 1 / sync_every), *(seconds / sync_every for seconds in dimensions[1:])]
    return Prediction(step, profile.compute - profile.update + sum(run.update_seconds), sum(both),
                      tuple(dimensions), ranks, ranks * profile.batch / step)


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
            self.exchange(layer)
        self.lanes.begin()
        self.begin_round()
        missing = [len(b.layers) for b in self.buckets]
        self.updated = [False] * len(self.buckets)
        for index in reversed(range(len(self.profile.layers))):
            self.before_backward(index)
            self.lanes.work(self.profile.layers[index].backward)
            self.exchange(self.profile.layers[index])
            for bucket in self.needs[index]:
                missing[bucket] -= 1
            while self.lanes.posted < len(self.buckets) and missing[self.lanes.posted] == 0:
                self.lanes.post()
            self.between_layers()
        self.after_backward()
        if self.wait_after_backward:
            for bucket in range(len(self.buckets)):
                self.take(bucket)
        return self.lanes.now

    def begin_round(self):
        pass

    def before_backward(self, index):
        pass

    def exchange(self, layer):
        pass

    def between_layers(self):
        for bucket in range(self.lanes.reduced):
            self.take(bucket)

    def after_backward(self):
        pass

    def take(self, bucket):
        """Waits until the bucket is reduced and updates its parameters."""
        if self.updated[bucket]:
            return
        self.lanes.wait(bucket)
        self.updated[bucket] = True
        self.lanes.work(self.update_seconds[bucket])


class _CutRun(_Run):
    """With exchanges of activations within layers."""

    def __init__(self, profile, buckets, costs, wait_after_backward, core, cuts):
        super().__init__(profile, buckets, costs, wait_after_backward, core)
        self.cuts = cuts

    def exchange(self, layer):
        self.lanes.idle(self.cuts.exchange_seconds(layer))


class _SharedRun(_Run):
    """With buckets of weights behind those of gradients, in the order in which the next forward needs them."""

    def __init__(self, profile, buckets, costs, wait_after_backward, core, ranks):
        super().__init__(profile, buckets, costs, wait_after_backward, core)
        self.update_seconds = [seconds / ranks for seconds in self.update_seconds]

    def between_layers(self):
        pass

    def after_backward(self):
        """When all gradients are summed: the update of this rank's part, and the weights begin to travel."""
        self.lanes.wait(len(self.buckets) - 1)
        self.lanes.work(sum(self.update_seconds))
        for _ in self.buckets:
            self.lanes.post()

    def take(self, bucket):
        """Waits until the weights of the bucket are there."""
        if not self.updated[bucket]:
            self.lanes.wait(2 * len(self.buckets) - 1 - bucket)
            self.updated[bucket] = True


class _ShortOfMemory(_SharedRun):
    """A bucket lies where the last but one before it lay: its first gradient is written when that one is summed, and its
    weights travel when those have been taken."""

    def before_backward(self, index):
        for bucket in self.needs[index]:
            if bucket >= 2:
                self.lanes.wait(bucket - 2)

    def after_backward(self):
        self.lanes.wait(len(self.buckets) - 1)
        self.lanes.work(sum(self.update_seconds))
        for _ in self.buckets[-2:]:
            self.lanes.post()

    def take(self, bucket):
        for earlier in range(len(self.buckets) - 1, bucket - 1, -1):
            if self.updated[earlier]:
                continue
            super().take(earlier)
            if self.lanes.posted < 2 * len(self.buckets):
                self.lanes.post()


class _ServedRun(_SharedRun):
    """The same where servers update, each its share, when they have the gradients of all groups."""

    def after_backward(self):
        self.lanes.wait(len(self.buckets) - 1)
        self.lanes.idle(sum(self.update_seconds))
        for _ in self.buckets:
            self.lanes.post()


class _LocalRun(_Run):
    """Gradients are summed within X. Every so many rounds buckets of weights follow, in the order of the next forward."""

    def __init__(self, profile, buckets, costs, wait_after_backward, core, every):
        super().__init__(profile, buckets, costs, wait_after_backward, core)
        self.every, self.rounds, self.averages = every, 0, False

    def begin_round(self):
        self.rounds, self.averages = self.rounds + 1, False

    def after_backward(self):
        """Before an average all updates are made, and then the weights begin to travel."""
        if self.rounds % self.every:
            return
        for bucket in range(len(self.buckets)):
            self.take(bucket)
        self.updated, self.averages = [False] * len(self.buckets), True
        for _ in self.buckets:
            self.lanes.post()

    def take(self, bucket):
        if not self.averages:
            super().take(bucket)
        elif not self.updated[bucket]:
            self.lanes.wait(2 * len(self.buckets) - 1 - bucket)
            self.updated[bucket] = True
