"""One iteration of a pipeline in time: stages of a net on ranks of their own, micro-batch after micro-batch.

Forward of a micro-batch waits for the stage before, backward for the one behind, and each stage does one thing at a time,
in the order of 1F1B (Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 2021, section 2.2): stage k
of S begins with S - k forwards, and then goes on by turns. Blobs between two stages travel beside computing, one after the
other.
"""

import dataclasses

from .model import Prediction, dimension_seconds


@dataclasses.dataclass(frozen=True)
class Stage:
    """Seconds of a micro-batch, and the bytes of it that go on to the next stage, whose gradients come back."""

    forward: float
    backward: float
    bytes: float = 0


def stages_of(profile, firsts, micro_batches):
    """The stages that begin with the first layer and those named in `firsts`."""
    names = [layer.name for layer in profile.layers]
    begins = [0, *(names.index(name) for name in firsts)]
    stages = []
    for begin, end in zip(begins, [*begins[1:], len(names)], strict=True):
        layers = profile.layers[begin:end]
        # Behind the last one of the file may be a Split, of which the file tells nothing.
        moved = next((layer.outputs for layer in reversed(layers) if layer.outputs), 0) if end < len(names) else 0
        stages.append(Stage(sum(layer.forward for layer in layers) / micro_batches,
                            sum(layer.backward for layer in layers) / micro_batches, moved / micro_batches))
    return stages


def order(stage, stages, micro_batches):
    """("forward" or "backward", micro-batch), one after the other."""
    warm = min(stages - stage, micro_batches)
    steps = [("forward", m) for m in range(warm)]
    for m in range(micro_batches):
        steps.append(("backward", m))
        if warm + m < micro_batches:
            steps.append(("forward", warm + m))
    return steps


def pass_seconds(stages, micro_batches, bandwidth=float("inf"), latency=0.0):
    """From the first forward to the last backward."""
    todo = [order(k, len(stages), micro_batches) for k in range(len(stages))]
    free = [0.0] * len(stages)  # when a stage has done what it was at
    sent = {}  # link and direction -> when it is free again
    arrived = {("forward", 0, m): 0.0 for m in range(micro_batches)}
    arrived |= {("backward", len(stages) - 1, m): 0.0 for m in range(micro_batches)}

    def send(way, stage, to, micro_batch, nbytes):
        begin = max(free[stage], sent.get((stage, to), 0.0))
        sent[stage, to] = begin + nbytes / bandwidth
        arrived[way, to, micro_batch] = sent[stage, to] + latency

    while any(todo):
        for k, stage in enumerate(stages):
            while todo[k] and (todo[k][0][0], k, todo[k][0][1]) in arrived:
                way, m = todo[k].pop(0)
                free[k] = max(free[k], arrived[way, k, m]) + (stage.forward if way == "forward" else stage.backward)
                if way == "forward" and k + 1 < len(stages):
                    send(way, k, k + 1, m, stage.bytes)
                elif way == "backward" and k > 0:
                    send(way, k, k - 1, m, stages[k - 1].bytes)
    return max(free)


def predict_pipeline(profile, firsts, micro_batches, across, within):
    """A Prediction of `within.size` pipelines. `across`: the tier between stages; `within`: between the ranks that have the
    same stage, which sum its gradients when the last micro-batch is through."""
    stages = stages_of(profile, firsts, micro_batches)
    bandwidth = across.bandwidth / across.shared_by
    names = [layer.name for layer in profile.layers]
    begins = [0, *(names.index(name) for name in firsts), len(names)]
    held = [sum(sum(layer.params) for layer in profile.layers[begin:end])
            for begin, end in zip(begins, begins[1:], strict=False)]
    update = max(profile.update * nbytes / (profile.bytes or 1) for nbytes in held)
    sums = max(sum(dimension_seconds([within], nbytes)) for nbytes in held)
    moved = 2 * micro_batches * sum(stage.bytes / bandwidth + across.latency for stage in stages[:-1])
    step = pass_seconds(stages, micro_batches, bandwidth, across.latency) + sums + update
    compute = pass_seconds(stages, micro_batches) + update
    ranks = within.size * len(stages)
    return Prediction(step, compute, moved + sums, (sums, moved), ranks, within.size * profile.batch / step)
