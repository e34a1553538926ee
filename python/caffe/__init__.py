"""Robusta as `import caffe`: nets, solvers and tools under the names of BVLC's pycaffe (docs/python.md)."""

from . import fit, io, net_spec
from .pycaffe import (  # isort: skip (before ._caffe: it loads numpy without warnings)
    NCCL,
    AdaDeltaSolver,
    AdaGradSolver,
    AdamSolver,
    Communicator,
    Layer,
    Net,
    NesterovSolver,
    RMSPropSolver,
    SGDSolver,
    Solver,
    Timer,
    get_solver,
    has_nccl,
)
from ._caffe import (
    Blob,
    Error,
    __version__,
    init_log,
    layer_type_list,
    log,
    set_device,
    set_mode_cpu,
    set_mode_gpu,
    set_random_seed,
)
from .classifier import Classifier
from .detector import Detector
from .net_spec import NetSpec, layers, params, to_proto
from .proto import caffe_pb2
from .proto.caffe_pb2 import TEST, TRAIN
from .ranks import (
    set_multiprocess,
    set_solver_count,
    set_solver_rank,
    solver_count,
    solver_rank,
)
