"""caffe.fit: what callbacks are told, when training ends, and what stands in the history."""

import math
import sys
import types

import numpy as np
import pytest

from caffe import fit as fitting
from caffe.fit import Callback, EarlyStopping, fit


class TestNet:
    __test__ = False

    def __init__(self, values):
        self.values, self.shared = list(values), None

    def share_with(self, net):
        self.shared = net

    def forward(self):
        return {"accuracy": np.array([self.values.pop(0)], np.float32), "pair": np.array([1, 3], np.float32)}


class Solver:
    """Its loss is 1 / iteration; what it is asked for is noted."""

    def __init__(self, tests=()):
        self.iter, self.lr, self.asked = 0, 0.1, []
        self.param = types.SimpleNamespace(max_iter=10)
        loss = types.SimpleNamespace(data=np.zeros(()))
        self.net = types.SimpleNamespace(blobs={"loss": loss, "other": loss}, outputs=["loss"],
                                         blob_loss_weights={"loss": 2.0, "other": 0.0})
        self.test_nets = [TestNet(tests)]

    def step(self, steps):
        self.iter += steps
        self.asked.append(steps)
        self.net.blobs["loss"].data[...] = 1 / self.iter

    def snapshot(self):
        self.asked.append("snapshot")


def test_until_the_last_iteration():
    solver = Solver()
    solver.iter = 4
    history = fit(solver, progress=False)
    assert history.iteration == [5, 6, 7, 8, 9, 10] and history.stopped == "" and history.lr == [0.1] * 6
    assert history.loss == [2 / n for n in history.iteration] and sorted(history.seconds) == history.seconds
    assert fit(solver, progress=False).iteration == []


def test_several_iterations_at_a_time():
    solver = Solver()
    assert fit(solver, 7, every=3, progress=False).iteration == [3, 6, 7] and solver.asked == [3, 3, 1]


def test_callbacks_are_told_in_order():
    told = []

    class Telling(Callback):
        def on_begin(self, solver, history):
            told.append("begin")

        def on_iteration(self, solver, history):
            told.append(history.iteration[-1])

        def on_test(self, solver, history):
            told.append(history.of_test("accuracy"))

        def on_end(self, solver, history):
            told.append("end")

    solver = Solver(tests=[1, 0, 1, 1])
    history = fit(solver, 4, callbacks=[Telling()], test_every=2, test_iterations=2, progress=False)
    assert told == ["begin", 1, 2, [0.5], 3, 4, [0.5, 1], "end"]
    assert solver.test_nets[0].shared is solver.net
    assert [test.iteration for test in history.tests] == [2, 4] and history.of_test("pair") == [2, 2]


def test_functions_end_a_training():
    assert fit(Solver(), callbacks=[lambda solver, history: solver.iter == 3], progress=False).iteration == [1, 2, 3]
    history = fit(Solver(), callbacks=[lambda *_: "enough"], progress=False)
    assert history.iteration == [1] and history.stopped == "enough"


def test_patience():
    stopping = EarlyStopping("accuracy", patience=2)
    for _ in range(2):  # a second training begins anew
        history = fit(Solver(tests=[0.1, 0.5, 0.5, 0.4, 0.9]), callbacks=[stopping], test_every=1, progress=False)
        assert history.iteration == [1, 2, 3, 4]
        assert history.stopped == "accuracy has not become better than 0.5 for 2 tests"
    losses = fit(Solver(tests=[5, 4, 3, 2]), 4, callbacks=[EarlyStopping("accuracy", 1, mode="min")], test_every=1,
                 progress=False)
    assert losses.stopped == ""
    with pytest.raises(KeyError, match="no output nothing; it has accuracy, pair"):
        fit(Solver(tests=[1]), callbacks=[EarlyStopping("nothing")], test_every=1, progress=False)
    with pytest.raises(ValueError, match='give "min" or "max"'):
        EarlyStopping("loss", mode="least")


def test_an_interrupt_leaves_a_snapshot():
    ended = []

    def interrupting(solver, history):
        if solver.iter == 2:
            raise KeyboardInterrupt

    solver = Solver()
    telling = types.SimpleNamespace(on_iteration=lambda *_: None, on_end=lambda *_: ended.append(True))
    history = fit(solver, callbacks=[interrupting, telling], progress=False)
    assert history.stopped == "interrupted" and solver.asked == [1, 1, "snapshot"] and ended == [True]


def test_an_interrupt_without_a_snapshot_keeps_the_history():
    def interrupting(solver, history):
        if solver.iter == 2:
            raise KeyboardInterrupt

    def full():
        raise OSError("no space left")

    solver = Solver()
    solver.snapshot = full
    with pytest.warns(RuntimeWarning, match="no snapshot was written: no space left"):
        history = fit(solver, callbacks=[interrupting], progress=False)
    assert history.stopped == "interrupted; no snapshot was written: no space left" and history.iteration == [1, 2]


def test_callbacks_that_fail_are_heard():
    with pytest.raises(ZeroDivisionError):
        fit(Solver(), callbacks=[lambda *_: 1 / 0], progress=False)


@pytest.mark.parametrize("words", [dict(iterations=-1), dict(every=0), dict(test_every=-1), dict(test_iterations=0)])
def test_numbers_below_their_least(words):
    with pytest.raises(ValueError, match="give"):
        fit(Solver(), progress=False, **words)


def test_losses():
    net = Solver().net
    net.blobs["loss"].data = np.array([1.0, 2.0])
    assert fitting.loss_of(net) == 6
    del net.blob_loss_weights
    assert fitting.loss_of(net) == 3
    net.outputs = ["score"]
    assert math.isnan(fitting.loss_of(net))


def test_lines_where_there_is_no_tqdm(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    fit(Solver(), 3)
    said = capsys.readouterr().err
    assert said.startswith("3/3 iterations, ") and said.endswith("loss 0.6667\n") and said.count("\n") == 1


def test_a_bar(capsys):
    pytest.importorskip("tqdm")
    fit(Solver(), 3)
    assert "3/3" in capsys.readouterr().err
