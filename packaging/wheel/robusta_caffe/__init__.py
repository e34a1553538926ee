"""Starts the program `caffe`, which is a part of the extension of the module caffe: `caffe ACTION [-flag value ...]`."""

import os
import sys

# Who sets one of these decides how threads wait, or needs what the program itself makes of them.
DECIDING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_", "OMPI_COMM_", "MPI_LOCAL", "SLURM_")


def main() -> int:
    if not any(name.startswith(DECIDING) for name in os.environ):
        # libgomp looks when the extension is loaded. src/comm/affinity/omp_environment.h says why this many.
        os.environ["GOMP_SPINCOUNT"] = "50000"
    from caffe import _caffe

    for stream in (sys.stdout, sys.stderr):  # lines of layers in Python come between those of the log
        stream.reconfigure(line_buffering=True)
    sys.path.append("")  # layers in Python: last in the working directory
    return _caffe._run_program([os.fsencode(word) for word in sys.argv])
