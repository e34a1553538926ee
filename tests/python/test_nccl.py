"""Ranks as BVLC's train.py makes them: a process each, which meet by caffe.NCCL."""

import multiprocessing
import os
import pathlib

import numpy as np
import pytest

import caffe

RANKS = 2
NET = """
layer {{ name: "data" type: "Python" top: "data" top: "target" python_param {{ module: "{module}" layer: "Batches" }} }}
layer {{ name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param {{ num_output: 2 weight_filler {{ type: "gaussian" std: 0.1 }} }} }}
layer {{ name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "target" top: "loss" }}
"""
SOLVER = 'train_net: "net.prototxt" base_lr: 0.1 momentum: 0.9 lr_policy: "fixed" max_iter: 5 snapshot_prefix: "s"\n'


def batch(rank, iteration):
    """4 samples of 3 numbers, and what they shall become."""
    numbers = np.random.RandomState(10 * iteration + rank)
    return numbers.randn(4, 3), numbers.randn(4, 2)


class Batches(getattr(caffe, "Layer", object)):
    """Those of this process's rank; of all ranks where there is one process."""

    def setup(self, bottom, top):
        self.iteration = 0

    def reshape(self, bottom, top):
        self.ranks = [caffe.solver_rank()] if caffe.solver_count() > 1 else range(RANKS)
        for blob, width in zip(top, (3, 2)):
            blob.reshape(4 * len(self.ranks), width)

    def forward(self, bottom, top):
        parts = [batch(rank, self.iteration) for rank in self.ranks]
        for blob, values in zip(top, zip(*parts)):
            blob.data[...] = np.concatenate(values)
        self.iteration += 1

    def backward(self, top, propagate_down, bottom):
        pass


def solve(uid, rank, start):
    """What a process of train.py does; its weights go to a file."""
    caffe.set_random_seed(rank)
    caffe.set_solver_count(RANKS)
    caffe.set_solver_rank(rank)
    caffe.set_multiprocess(True)
    solver = caffe.SGDSolver("solver.prototxt")
    if rank == 0:
        solver.net.params["ip"][0].data[...] = start
    nccl = caffe.NCCL(solver, uid)
    nccl.bcast()
    solver.add_callback(nccl)
    if solver.param.layer_wise_reduce:
        solver.net.after_backward(nccl)
    solver.step(solver.param.max_iter)
    np.save(f"rank{rank}.npy", solver.net.params["ip"][0].data)


@pytest.fixture
def files(running_caffe, monkeypatch):
    monkeypatch.delenv("ROBUSTA_PYTHON_MEETING", raising=False)
    here = str(pathlib.Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, os.environ["PYTHONPATH"]]))
    pathlib.Path("net.prototxt").write_text(NET.format(module=__name__))
    pathlib.Path("solver.prototxt").write_text(SOLVER)
    yield running_caffe
    os.environ.pop("ROBUSTA_PYTHON_MEETING", None)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_ranks_train_as_one_process_with_all_their_samples(files, method):
    start = np.arange(6).reshape(2, 3) / 10
    uid = files.NCCL.new_uid()
    context = multiprocessing.get_context(method)
    processes = [context.Process(target=solve, args=(uid, rank, start), daemon=True) for rank in range(RANKS)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    alone = files.SGDSolver("solver.prototxt")
    alone.net.params["ip"][0].data[...] = start
    alone.step(5)
    expected = alone.net.params["ip"][0].data
    assert np.abs(expected - start).max() > 0.1
    for rank in range(RANKS):
        np.testing.assert_allclose(np.load(f"rank{rank}.npy"), expected, rtol=1e-5, atol=1e-6)


def test_a_solver_that_was_made_alone(files):
    uid = files.NCCL.new_uid()
    solver = files.SGDSolver("solver.prototxt")
    assert solver.communicator is None
    files.NCCL(solver, uid).bcast()  # one solver, as solver_count says
    with pytest.raises(ValueError, match="after new_uid"):
        files.NCCL(solver, "another")


def test_other_callbacks_between_layers(files):
    solver = files.SGDSolver("solver.prototxt")
    with pytest.raises(NotImplementedError, match="caffe time"):
        solver.net.after_backward(lambda layer: None)


def test_the_ranks_of_a_meeting_that_cannot_be(files):
    for wrong, cause in (({"rank": 2}, "rank 2 of 2"), ({"port": 0}, "no port"), ({"secret": "short"}, "16 characters"),
                         ({"host": ""}, "where the ranks meet"), ({"seconds": 0}, "no time")):
        asked = {"rank": 0, "size": 2, "port": 1, "secret": "of sixteen letters", **wrong}
        with pytest.raises(files.Error, match=cause):
            files.Communicator.meet(**asked)
    with pytest.raises(files.Error, match="rank 1"):
        files.Communicator.meet(0, 2, _free_port(), "of sixteen letters", seconds=0.5)


def _free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
