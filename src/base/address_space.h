/// The addresses that this process may use, which `ulimit -v` limits.
///
/// Libraries that get none crash or wait without end where memory that is merely short would do them no harm: who calls
/// them looks first.
#pragma once

#include <cstddef>

namespace robusta {

/// By `ulimit -v`: then there are none to spare for a thread's stack and heap, or for the BLAS's buffers.
bool is_address_space_limited();

/// Whether `bytes` could be had now in one piece. Always true where nothing limits them.
bool has_address_space(size_t bytes);

}  // namespace robusta
