/// Runs kernels written for a GPU on the host, so that the primitives' own halves for the GPU (src/device/gpu/) are
/// tested without one: a thread of the host for each thread of a block, one block after the other. What a block
/// shares is one static variable, hence sanitizers see what compute-sanitizer's memcheck and racecheck would.
///
/// Include it before any other header of src/device/gpu/; the file then sees those primitives alone.
#pragma once

#ifdef ROBUSTA_GPU_TARGET
#error "this file already sees the primitives of another target"
#endif
#define ROBUSTA_GPU_THREADS
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)

#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

#include "device/device.h"

namespace robusta::gpu_threads {

struct Index {
  unsigned x = 0;
};

/// Where the calling thread is, in CUDA's words.
inline thread_local Index thread_index, block_index;
inline thread_local Index block_extent, grid_extent;
inline thread_local std::barrier<>* block_barrier = nullptr;
/// Blocks run one after the other, from the first or from the last one on.
inline bool last_block_first = false;

}  // namespace robusta::gpu_threads

#define threadIdx ::robusta::gpu_threads::thread_index
#define blockIdx ::robusta::gpu_threads::block_index
#define blockDim ::robusta::gpu_threads::block_extent
#define gridDim ::robusta::gpu_threads::grid_extent

inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline unsigned atomicAdd(unsigned* counter, unsigned term) { return std::atomic_ref(*counter).fetch_add(term); }
inline void __syncthreads() { robusta::gpu_threads::block_barrier->arrive_and_wait(); }

namespace robusta {
inline namespace threads_target {

inline std::array<unsigned, 40> all_arrivals;  // as many as kArrivals (device/gpu/launch.h)
inline unsigned* arrivals(Stream*) { return all_arrivals.data(); }

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), int64_t blocks, int threads, Stream*, const Arguments&... arguments) {
  std::barrier barrier(threads);
  std::vector<std::jthread> block;
  for (int thread = 0; thread < threads; ++thread) {
    block.emplace_back([&, thread] {
      gpu_threads::thread_index.x = static_cast<unsigned>(thread);
      gpu_threads::block_extent.x = static_cast<unsigned>(threads);
      gpu_threads::grid_extent.x = static_cast<unsigned>(blocks);
      gpu_threads::block_barrier = &barrier;
      for (int64_t b = 0; b < blocks; ++b) {
        gpu_threads::block_index.x = static_cast<unsigned>(gpu_threads::last_block_first ? blocks - 1 - b : b);
        kernel(arguments...);
        barrier.arrive_and_wait();  // the next block has the same shared memory
      }
    });
  }
}

}  // namespace threads_target
}  // namespace robusta
