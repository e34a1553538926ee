"""caffe.NCCL: ranks as BVLC's train.py makes them, one process for each GPU of a host.

A script asks for new_uid() and starts its processes. Each of them says which rank it is (set_solver_count,
set_solver_rank, set_multiprocess), makes its solver, and NCCL(solver, uid). Here a solver knows its ranks from the
beginning, because sources are dealt out among them; so it meets them while it is made, at the place that new_uid() has left
in the environment, which the processes inherit. Whether NCCL itself carries the sums depends on what the solvers train on.
"""

from __future__ import annotations

import os
import secrets
import socket
import weakref
from typing import Any

import numpy as np

from . import ranks
from ._caffe import Communicator

_VARIABLE = "ROBUSTA_PYTHON_MEETING"
# The ranks of this process while a solver has them: the last one that goes waits for the others, as MPI does.
_met: weakref.ref[Communicator] | None = None


def meet() -> Communicator | None:
    """The ranks that this process's script speaks of; None where it speaks of none. Raises caffe.Error when they do not
    come."""
    global _met
    uid = os.environ.get(_VARIABLE)
    if uid is None or not ranks.is_multiprocess() or ranks.solver_count() < 2:
        return None
    known = _met and _met()
    if known is None:
        port, secret = uid.split(":")
        known = Communicator.meet(ranks.solver_rank(), ranks.solver_count(), int(port), secret)
        _met = weakref.ref(known)
    return known


class NCCL:
    """The sums over the ranks of a solver's gradients, which every step makes: it may be given to add_callback and
    after_backward, which is where pycaffe makes them."""

    def __init__(self, solver: Any, uid: str) -> None:
        """Raises ValueError for a solver that was made without these ranks."""
        if uid != os.environ.get(_VARIABLE) or (ranks.solver_count() > 1 and solver.communicator is None):
            raise ValueError("NCCL: the solver was made alone. Its process has to be started after new_uid(), with the "
                             "variables of the one that asked for it, and has to call set_solver_count, set_solver_rank and "
                             "set_multiprocess(True) before it makes the solver")
        self._solver = solver

    @staticmethod
    def new_uid() -> str:
        """Where processes that are started from now on meet, on this host."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        uid = os.environ[_VARIABLE] = f"{port}:{secrets.token_hex(16)}"
        return uid

    def bcast(self) -> None:
        """The parameters of rank 0 to all. Raises caffe.Error."""
        communicator = self._solver.communicator
        if communicator is None:
            return
        for blobs in self._solver.net.params.values():
            for blob in blobs:
                values = np.ascontiguousarray(blob.data)
                communicator.broadcast(values)
                blob.data[...] = values


def has_nccl() -> bool:
    """Whether ranks can meet as BVLC's scripts make them: they can, on GPUs and without."""
    return True
