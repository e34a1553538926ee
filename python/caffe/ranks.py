"""How many solvers train together, and which this one is, as scripts ask: settings of the process, one and the first
until somebody sets others."""

_ranks = {"count": 1, "rank": 0, "multiprocess": False}


def solver_count() -> int:
    return int(_ranks["count"])


def solver_rank() -> int:
    return int(_ranks["rank"])


def set_solver_count(count: int) -> None:
    """Raises ValueError below 1."""
    if count < 1:
        raise ValueError(f"{count} solvers; give at least 1")
    _ranks["count"] = int(count)


def set_solver_rank(rank: int) -> None:
    """Raises ValueError below 0."""
    if rank < 0:
        raise ValueError(f"rank {rank}; ranks count from 0")
    _ranks["rank"] = int(rank)


def set_multiprocess(multiprocess: bool) -> None:
    """Kept, and without effect: ranks are processes always."""
    _ranks["multiprocess"] = bool(multiprocess)
