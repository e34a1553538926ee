/// Loops over the threads of this rank.
///
/// One OpenMP pool serves oneDNN, OpenBLAS and our own loops: two pools would spin on the same cores.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace robusta {

/// Calls body(begin, end) once per thread over 0..count. Runs on the caller alone when each thread would get fewer
/// than `grain` items. The split depends only on (count, threads). `body` must not throw.
template <typename Body>
void parallel_ranges(int64_t count, int64_t grain, const Body& body) {
  const int64_t wanted = std::min<int64_t>(omp_get_max_threads(), count / std::max<int64_t>(grain, 1));
  if (wanted <= 1 || omp_in_parallel()) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(wanted))
  {
    const int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = count * me / threads, end = count * (me + 1) / threads;
    if (begin < end) body(begin, end);
  }
}

/// body(i) for each i in 0..count.
template <typename Body>
void parallel_for(int64_t count, int64_t grain, const Body& body) {
  parallel_ranges(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace robusta
