"""caffe's solvers: the extension's, one class for each rule of updates, under the names of pycaffe."""

from __future__ import annotations

import os
from typing import Any

from ._caffe import Communicator, Net
from ._caffe import Solver as _Solver
from .nccl import NCCL, meet
from .proto import caffe_pb2


def _settings_of(text: str) -> Any:
    from google.protobuf import text_format
    return text_format.Parse(text, caffe_pb2.SolverParameter(), allow_unknown_field=True)


class Solver(_Solver):
    """A training as a solver's file says. communicator: caffe.Communicator, for several ranks."""

    rule = ""  # of the updates; "": as the file says

    def __init__(self, solver_file: Any, communicator: Communicator | None = None, kernels: str = "auto",
                 precision: str = "") -> None:
        """Raises caffe.Error for what is wrong with the file, its nets and their data."""
        self._communicator = meet() if communicator is None else communicator
        super().__init__(solver_file, self.rule, self._communicator, kernels, precision)
        self._param: Any = None  # what scripts have, and may change; _own_param stays

    @property
    def communicator(self) -> Communicator | None:
        """The ranks that train together; None: one alone."""
        return self._communicator

    def add_callback(self, on_start: Any, on_gradients_ready: Any = None) -> None:
        """Calls on_start() before every iteration, and on_gradients_ready() before its update. A caffe.NCCL alone has
        nothing left to do there."""
        if not isinstance(on_start, NCCL):
            super().add_callback(on_start, on_gradients_ready)

    @property
    def param(self) -> Any:
        """The settings, a caffe_pb2.SolverParameter. A training keeps those that it began with: step and solve raise
        ValueError when they have been changed here."""
        if self._param is None:
            self._param, self._own_param = (_settings_of(self._settings()) for _ in range(2))
        return self._param

    def _refuse_changes(self) -> None:
        if self._param is None or self._param == self._own_param:
            return
        changed = [field.name for field in self._param.DESCRIPTOR.fields
                   if getattr(self._param, field.name) != getattr(self._own_param, field.name)]
        raise ValueError(f"solver.param: {', '.join(changed)} is changed, and a training keeps the settings that it "
                         "began with: write str(solver.param) to a file, make a solver of it (caffe.get_solver), and "
                         "go on from a snapshot with restore()")

    def step(self, iterations: int) -> None:
        """Trains so many iterations. Raises caffe.Error, ValueError where `param` has been changed."""
        self._refuse_changes()
        super().step(iterations)

    def solve(self, resume_file: Any = None) -> None:
        """Trains to max_iter. Ctrl-C ends it with a snapshot and KeyboardInterrupt. Raises what step raises."""
        self._refuse_changes()
        super().solve(resume_file)

    def share_weights(self, net: Net) -> None:
        """Has another net use the parameters of this solver's: net.share_with(solver.net)."""
        net.share_with(self.net)

    def fit(self, iterations: int | None = None, **settings: Any) -> Any:
        """Trains with callbacks and a bar: caffe.fit.fit."""
        from .fit import fit
        return fit(self, iterations, **settings)


class SGDSolver(Solver):
    rule = "SGD"


class NesterovSolver(SGDSolver):
    rule = "Nesterov"


class AdaGradSolver(SGDSolver):
    rule = "AdaGrad"


class RMSPropSolver(SGDSolver):
    rule = "RMSProp"


class AdaDeltaSolver(SGDSolver):
    rule = "AdaDelta"


class AdamSolver(SGDSolver):
    rule = "Adam"


_BY_RULE = {one.rule.lower(): one for one in (SGDSolver, NesterovSolver, AdaGradSolver, RMSPropSolver, AdaDeltaSolver,
                                             AdamSolver)}


def get_solver(solver_file: Any, **settings: Any) -> Solver:
    """The solver that the file's type names."""
    from google.protobuf import text_format
    try:
        with open(os.fspath(solver_file), encoding="utf-8") as file:
            param = _settings_of(file.read())
        rule = param.type.lower()
        if param.HasField("solver_type") and not param.HasField("type"):
            rule = caffe_pb2.SolverParameter.SolverType.Name(param.solver_type).lower()
    except (OSError, UnicodeDecodeError, text_format.ParseError):
        rule = ""  # the library says what is wrong
    return _BY_RULE.get(rule, Solver)(solver_file, **settings)
