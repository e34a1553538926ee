"""How many solvers train together, and which this one is, as scripts ask: what the launcher of this process says
(mpirun, srun, torchrun, TF_CONFIG), one and the first without a launcher, and what the script sets in the place of both.

Nothing is started here: the ranks come together with caffe.Communicator.world(), whose rank and size these are.
"""

from __future__ import annotations

import json
import os

_given: dict[str, int] = {}
# (rank, number of ranks): the launchers that world() knows (src/comm/launch.cpp), in its order, for one may run within
# another.
_LAUNCHERS = (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
              ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"), ("PMIX_RANK", "SLURM_STEP_NUM_TASKS"))


def _launched() -> tuple[int, int]:
    """(rank, number of ranks) of the launcher; where the number is not told, the rank tells the least it can be."""
    for rank_variable, size_variable in _LAUNCHERS:
        rank, size = os.environ.get(rank_variable, ""), os.environ.get(size_variable, "")
        if rank.isdecimal():
            return int(rank), int(size) if size.isdecimal() else int(rank) + 1
    return _of_tensorflow() or _of_torch() or (0, 1)


def _of_tensorflow() -> tuple[int, int] | None:
    """TF_CONFIG's chief and workers, in that order; None: they do not meet (src/comm/launch.cpp)."""
    try:
        config = json.loads(os.environ.get("TF_CONFIG", ""))
        cluster, task = config["cluster"], config["task"]
        sizes = {job: len(cluster.get(job, ())) for job in ("chief", "master", "worker", "ps", "evaluator")}
        jobs = list(sizes)[:3]
        if task["type"] not in jobs or sizes["ps"] or sizes["evaluator"]:
            return None
        size, before = sum(sizes.values()), sum(sizes[job] for job in jobs[:jobs.index(task["type"])])
        return (before + int(task["index"]), size) if size > 1 else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _of_torch() -> tuple[int, int] | None:
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    meets = "MASTER_ADDR" in os.environ and "MASTER_PORT" in os.environ
    return (int(rank), int(size)) if meets and rank.isdecimal() and size.isdecimal() and int(size) > 1 else None


def solver_count() -> int:
    return _given.get("count", _launched()[1])


def solver_rank() -> int:
    return _given.get("rank", _launched()[0])


def set_solver_count(count: int) -> None:
    """Raises ValueError below 1."""
    if count < 1:
        raise ValueError(f"{count} solvers; give at least 1")
    _given["count"] = int(count)


def set_solver_rank(rank: int) -> None:
    """Raises ValueError below 0."""
    if rank < 0:
        raise ValueError(f"rank {rank}; ranks count from 0")
    _given["rank"] = int(rank)


def set_multiprocess(multiprocess: bool) -> None:
    """Whether solver_rank() of solver_count() is this process, one of those that meet by caffe.NCCL (nccl.py)."""
    _given["multiprocess"] = int(multiprocess)


def is_multiprocess() -> bool:
    return bool(_given.get("multiprocess"))
