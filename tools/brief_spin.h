/// Tells libgomp to spin briefly (comm/affinity/omp_environment.h) before it looks, so that `caffe` need not start
/// twice.
///
/// libgomp reads its variables when it is loaded, before main; what runs earlier is the program's own early code
/// (early.h). There setenv has no effect, and the array of variables cannot grow. So GOMP_SPINCOUNT takes the place of
/// `_`, in which shells note the path of the command that they start, and which nobody reads. Where there is no `_`, or
/// something else has a say about threads, all stays as it is, and main() translates the environment and starts the
/// program again.
#pragma once

#include "comm/affinity/omp_environment.h"
#include "early.h"

namespace robusta {

/// Variables that tell libgomp how to wait, and those of launchers, whose ranks may be too many for the processors.
ROBUSTA_EARLY inline bool decides_on_waiting(const char* variable) {
  for (const char* beginning : {"OMP_WAIT_POLICY=", "GOMP_SPINCOUNT=", "KMP_", "OMPI_COMM_", "MPI_LOCAL", "SLURM_"}) {
    if (begins_with(variable, beginning)) return true;
  }
  return false;
}

ROBUSTA_EARLY inline void spin_briefly(int, char**, char** variables) {
  char** unused = nullptr;
  for (char** variable = variables; *variable; ++variable) {
    if (decides_on_waiting(*variable)) return;
    if (begins_with(*variable, "_=")) unused = variable;
  }
  if (unused) *unused = const_cast<char*>(kBriefSpin.data());
}

__attribute__((section(".preinit_array"), used)) static void (*before_libgomp)(int, char**, char**) = spin_briefly;

}  // namespace robusta
