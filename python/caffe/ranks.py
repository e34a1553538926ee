"""How many solvers train together, and which this one is, as scripts ask: what the launcher of this process says
(mpirun, srun), one and the first without a launcher, and what the script sets in the place of both.

Nothing is started here: MPI begins with caffe.Communicator.world(), whose rank and size these are.
"""

from __future__ import annotations

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
    return 0, 1


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
    """Without effect: ranks are processes always."""
