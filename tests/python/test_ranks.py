"""Which of the ranks a process is: what launchers say, unless the script says otherwise."""

import json
import os
import shutil
import socket
import subprocess
import sys

import pytest

from caffe import ranks

VARIABLES = ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK", "JSM_NAMESPACE_SIZE",
             "JSM_NAMESPACE_RANK", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
             "TF_CONFIG")
SCRIPT = """import caffe
before = caffe.solver_rank(), caffe.solver_count()
world = caffe.Communicator.world()
assert before == (world.rank, world.size) and world.size == 2, (before, world.rank, world.size)
assert (world.local_rank, world.local_size) == (world.rank, 2), "both on this host"
world.barrier()
"""


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(ranks, "_given", {})


def test_one_process():
    assert (ranks.solver_rank(), ranks.solver_count()) == (0, 1)


@pytest.mark.parametrize("rank, size", [("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
                                        ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
                                        ("PMIX_RANK", "SLURM_STEP_NUM_TASKS")])
def test_launchers(rank, size, monkeypatch):
    monkeypatch.setenv(rank, "2")
    monkeypatch.setenv(size, "4")
    assert (ranks.solver_rank(), ranks.solver_count()) == (2, 4)


def test_torchrun(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert (ranks.solver_rank(), ranks.solver_count()) == (0, 1), "nobody says where they meet"
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert (ranks.solver_rank(), ranks.solver_count()) == (1, 4)
    monkeypatch.setenv("PMI_RANK", "2")
    assert ranks.solver_rank() == 2, "mpirun within"


@pytest.mark.parametrize("task, others, expected", [
    ({"type": "worker", "index": 1}, {}, (2, 3)), ({"type": "chief", "index": 0}, {}, (0, 3)),
    ({"type": "worker", "index": 1}, {"ps": ["d:4"]}, (0, 1)), ({"type": "evaluator", "index": 0}, {}, (0, 1)),
    ("worker", {}, (0, 1))])
def test_the_cluster_of_tensorflow(task, others, expected, monkeypatch):
    cluster = {"worker": ["b:2", "c:3"], "chief": ["a:1"], **others}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    assert (ranks.solver_rank(), ranks.solver_count()) == expected
    monkeypatch.setenv("TF_CONFIG", "{")
    assert (ranks.solver_rank(), ranks.solver_count()) == (0, 1)


def test_a_launcher_within_another(monkeypatch):
    """mpirun in a step of Slurm's: its own variables count; a size that is not told is that of the rank at least."""
    monkeypatch.setenv("PMIX_RANK", "0")
    monkeypatch.setenv("PMI_RANK", "1")
    assert (ranks.solver_rank(), ranks.solver_count()) == (1, 2)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "8")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "5")
    assert (ranks.solver_rank(), ranks.solver_count()) == (5, 8)


def test_scripts_that_say_it_themselves(monkeypatch):
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("PMI_SIZE", "2")
    ranks.set_solver_count(4)
    ranks.set_solver_rank(3)
    assert (ranks.solver_rank(), ranks.solver_count()) == (3, 4)
    with pytest.raises(ValueError, match="at least 1"):
        ranks.set_solver_count(0)
    with pytest.raises(ValueError, match="count from 0"):
        ranks.set_solver_rank(-1)


def test_as_the_world_has_them(running_caffe):
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "-c", SCRIPT],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_ranks_without_mpi(running_caffe, tmp_path):
    """A script may start them itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    place = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
             "XDG_CONFIG_HOME": str(tmp_path)}
    both = [subprocess.Popen([sys.executable, "-c", SCRIPT], env={**place, "RANK": rank}, text=True,
                             stderr=subprocess.PIPE) for rank in "01"]
    for process in both:
        assert process.wait(timeout=120) == 0, process.stderr.read()
        process.stderr.close()
