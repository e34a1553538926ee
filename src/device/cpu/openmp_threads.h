/// The threads of OpenMP, which GNU's library makes in the first parallel loop. Where it cannot make one it ends the
/// process by itself, with its own words and exit code 1; so what they need is asked for before.
#pragma once

#include <cstddef>

namespace robusta {

/// Bytes of a thread's stack: those of a value of OMP_STACKSIZE ("16M"; the default unit is K), which may be null, else
/// of `ulimit -s` (OpenMP 5.0, section 6.7).
size_t openmp_stack_bytes(const char* omp_stacksize);

/// Throws Error{kUsage} for a number of threads that no machine like this one is meant to have, and Error{kMemory}
/// where `ulimit -v` leaves too little for their stacks.
void require_openmp_threads();

}  // namespace robusta
