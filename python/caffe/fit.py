"""fit(solver): training with callbacks, tests and a bar that shows how far it is.

    history = caffe.fit.fit(solver, 1000, test_every=200, test_iterations=50,
                            callbacks=[caffe.fit.EarlyStopping("accuracy", patience=3)])

The bar is tqdm's where that is installed, else there is a line every few seconds. Ctrl-C writes a snapshot and ends the
training as if it had been done; what has happened until then is in the history. Where the snapshot cannot be written
there is a warning, and history.stopped says why.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

_LINE_EVERY = 5.0  # seconds


@dataclasses.dataclass
class Test:
    """The mean outputs of one test net, after `iteration` iterations. Outputs with several elements are averaged."""

    iteration: int
    net: int
    outputs: dict[str, float]


@dataclasses.dataclass
class History:
    """A training: one entry per call of callbacks in iteration, loss, lr (nan where unknown) and seconds (since begin).

    stopped: why it ended early, "" where it did not.
    """

    iteration: list[int] = dataclasses.field(default_factory=list)
    loss: list[float] = dataclasses.field(default_factory=list)
    lr: list[float] = dataclasses.field(default_factory=list)
    seconds: list[float] = dataclasses.field(default_factory=list)
    tests: list[Test] = dataclasses.field(default_factory=list)
    stopped: str = ""

    def of_test(self, output: str, net: int = 0) -> list[float]:
        """The values of a test net's output, in order."""
        return [test.outputs[output] for test in self.tests if test.net == net and output in test.outputs]


class Callback:
    """What is told of a training. What on_iteration or on_test returns as true ends it; a string says why."""

    def on_begin(self, solver: Any, history: History) -> None:
        """Before the first iteration."""

    def on_iteration(self, solver: Any, history: History) -> None | bool | str:
        """After every step; history has its numbers already."""

    def on_test(self, solver: Any, history: History) -> None | bool | str:
        """After all test nets ran."""

    def on_end(self, solver: Any, history: History) -> None:
        """After the last iteration, also where the training is stopped or fails."""


class _Plain(Callback):
    """A function (solver, history) in the place of a callback: it is asked after every step."""

    def __init__(self, function: Callable[[Any, History], Any]) -> None:
        self._function = function

    def on_iteration(self, solver: Any, history: History) -> None | bool | str:
        wish: bool | str | None = self._function(solver, history)
        return wish


class EarlyStopping(Callback):
    """Ends a training when an output of the first test net has not become better for `patience` tests.

    mode: "max" for accuracies, "min" for losses; by default "min" where the name holds "loss".
    """

    def __init__(self, output: str, patience: int = 3, mode: str | None = None, min_delta: float = 0.0) -> None:
        if mode not in (None, "min", "max"):
            raise ValueError(f'mode is {mode!r}; give "min" or "max"')
        self.output, self.patience, self.min_delta = output, patience, min_delta
        self._sign = -1 if (mode or ("min" if "loss" in output else "max")) == "min" else 1
        self.on_begin(None, History())

    def on_begin(self, solver: Any, history: History) -> None:
        self.best, self._waited = -math.inf, 0

    def on_test(self, solver: Any, history: History) -> None | bool | str:
        values = history.of_test(self.output)
        if not values:
            raise KeyError(f"the test net has no output {self.output}; it has "
                           f"{', '.join(history.tests[-1].outputs) or 'none'}")
        value = self._sign * values[-1]
        if value > self.best + self.min_delta:
            self.best, self._waited = value, 0
            return None
        self._waited += 1
        if self._waited < self.patience:
            return None
        return f"{self.output} has not become better than {self._sign * self.best:.6g} for {self._waited} tests"


def loss_of(net: Any) -> float:
    """The loss of a net's last forward pass: its blobs, summed by their weights; nan where none has a weight."""
    weights = getattr(net, "blob_loss_weights", None)
    if weights is None:
        weights = {name: 1.0 for name in net.outputs if "loss" in name}
    parts = [weight * float(np.sum(net.blobs[name].data)) for name, weight in dict(weights).items() if weight]
    return math.fsum(parts) if parts else math.nan


def test_nets(solver: Any, iterations: int) -> list[Test]:
    """Runs every test net of a solver `iterations` times with the weights of now; the mean of every output."""
    tests = []
    for number, net in enumerate(solver.test_nets):
        net.share_with(solver.net)
        sums: dict[str, float] = {}
        for _ in range(iterations):
            for name, value in net.forward().items():
                sums[name] = sums.get(name, 0.0) + float(np.mean(value))
        tests.append(Test(int(solver.iter), number, {name: value / iterations for name, value in sums.items()}))
    return tests


class _Lines:
    """A line every few seconds, in place of a bar."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._told, self._begin = total, 0, time.monotonic(), time.monotonic()

    def update(self, steps: int, words: str) -> None:
        self._done += steps
        now = time.monotonic()
        if now - self._told >= _LINE_EVERY or self._done >= self._total:
            self._told = now
            rate = self._done / max(now - self._begin, 1e-9)
            print(f"{self._done}/{self._total} iterations, {rate:.1f}/s, {words}", file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class _Bar:
    """tqdm's bar: in a notebook that of notebooks."""

    def __init__(self, total: int, made: Any) -> None:
        self._bar = made(total=total, unit="it")

    def update(self, steps: int, words: str) -> None:
        self._bar.set_postfix_str(words, refresh=False)
        self._bar.update(steps)

    def close(self) -> None:
        self._bar.close()


class _Nothing:
    def update(self, steps: int, words: str) -> None:
        pass

    def close(self) -> None:
        pass


def _progress(total: int, wanted: bool) -> _Bar | _Lines | _Nothing:
    if not wanted:
        return _Nothing()
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return _Lines(total)
    return _Bar(total, tqdm)


def _remaining(solver: Any, iterations: int | None) -> int:
    if iterations is None:
        iterations = max(0, int(solver.param.max_iter) - int(solver.iter))
    if iterations < 0:
        raise ValueError(f"iterations is {iterations}; give how many more there shall be, at least 0")
    return int(iterations)


class _Training:
    """One call of fit."""

    def __init__(self, solver: Any, callbacks: Iterable[Any], test_every: int, test_iterations: int) -> None:
        self.solver, self.history = solver, History()
        self.callbacks = [one if hasattr(one, "on_iteration") else _Plain(one) for one in callbacks]
        self._test_every, self._test_iterations = test_every, test_iterations
        self._begin = time.monotonic()

    def tell(self, what: str) -> None:
        """Calls all callbacks; the first that wants an end is why."""
        for callback in self.callbacks:
            wish = getattr(callback, what, lambda *_: None)(self.solver, self.history)
            if wish and not self.history.stopped:
                self.history.stopped = wish if isinstance(wish, str) else f"{type(callback).__name__} stopped it"

    def step(self, steps: int) -> None:
        """Trains `steps` iterations, notes how they ended and tells of it."""
        before = int(self.solver.iter)
        self.solver.step(steps)
        now, history = int(self.solver.iter), self.history
        history.iteration.append(now)
        history.loss.append(loss_of(self.solver.net))
        history.lr.append(float(getattr(self.solver, "lr", math.nan)))
        history.seconds.append(time.monotonic() - self._begin)
        self.tell("on_iteration")
        if self._test_every and now // self._test_every > before // self._test_every:
            history.tests += test_nets(self.solver, self._test_iterations)
            self.tell("on_test")

    def run(self, total: int, every: int, bar: _Bar | _Lines | _Nothing) -> None:
        """All iterations, `every` at a time."""
        done = 0
        while done < total and not self.history.stopped:
            steps = min(every, total - done)
            self.step(steps)
            done += steps
            bar.update(steps, f"loss {self.history.loss[-1]:.4g}")


def _written(solver: Any) -> str:
    """Writes a snapshot; what to add where that fails, for the history is worth having all the same."""
    try:
        solver.snapshot()
    except (RuntimeError, OSError) as error:
        warnings.warn(f"the training was interrupted, and no snapshot was written: {error}", RuntimeWarning,
                      stacklevel=3)
        return f"; no snapshot was written: {error}"
    return ""


def fit(solver: Any, iterations: int | None = None, *, every: int = 1, callbacks: Iterable[Any] = (),
        test_every: int = 0, test_iterations: int = 1, progress: bool = True) -> History:
    """Trains on, and returns what happened.

    iterations: how many more, by default until the solver's max_iter. every: iterations between two calls of callbacks
    (objects with methods of Callback, or functions (solver, history)). test_every: iterations between two tests of
    all test nets, each of test_iterations batches, besides those that the solver itself makes; 0 is never. progress:
    whether a bar is shown. Raises ValueError for numbers below their least, and whatever solver and callbacks raise.
    """
    total = _remaining(solver, iterations)
    if every < 1 or test_every < 0 or test_iterations < 1:
        raise ValueError(f"every is {every}, test_every {test_every}, test_iterations {test_iterations}; give at least "
                         "1, 0 and 1")
    training = _Training(solver, callbacks, test_every, test_iterations)
    bar = _progress(total, progress)
    try:
        training.tell("on_begin")
        training.run(total, every, bar)
    except KeyboardInterrupt:
        training.history.stopped = "interrupted" + _written(solver)
    finally:
        bar.close()
        training.tell("on_end")
    return training.history
