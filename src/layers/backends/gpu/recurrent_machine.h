/// RecurrentSteps on a GPU: cuBLAS, and a kernel for the cells of a step. For files named *_gpu.cpp.
///
/// What products read is stored as T, which may have 16 bits; gates, states and sums are f32.
#pragma once

#include "device/gpu/copy.h"
#include "device/gpu/divisor.h"
#include "layers/backends/gpu/channels.h"
#include "layers/backends/gpu/finite_watch.h"
#include "layers/backends/gpu/unary.h"
#include "layers/backends/gpu/weights.h"
#include "layers/kit/recurrent/right_factor.h"
#include "ops/gemm_gpu.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

namespace detail {

template <typename Body>
struct RowsAndColumns {
  Body body;
  Divisor by_width;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t j = by_width.take_off(i);
    body(i, j);
  }
};

}  // namespace detail

template <typename T>
class GpuMachine {
 public:
  using Stored = T;
  using Math = GpuMath;
  using Watch = FiniteWatch;
  static constexpr const char* kName = "gpu gemm";

  /// Nothing: cuBLAS takes a right factor that is transposed as fast.
  struct Kept {};
  static Kept keep(const RightUse&) { return {}; }

  /// Nothing either: all are cuBLAS's.
  struct Products {
    explicit Products(Tuner*) {}
    void expect(const ProductShape&) {}
    static std::string describe() { return ""; }
  };

  explicit GpuMachine(const KernelRun& run) : stream_(run.stream) {}
  GpuMachine(const KernelRun& run, const Products&) : stream_(run.stream) {}

  template <typename Out>
  void product(const ProductShape& shape, const T* a, const T* b, bool add, Out* c) const {
    gpu_gemm(stream_, shape.op_a, shape.op_b, shape.m, shape.n, shape.k, 1.0f, a, b, add ? 1.0f : 0.0f, c);
  }
  template <typename Body>
  void each(int64_t rows, int64_t width, const Body& body) const {
    for_each(stream_, rows * width, detail::RowsAndColumns<Body>{body, Divisor(width)});
  }

  void clear(void* memory, size_t bytes) const { gpu_fill_zero(stream_, memory, bytes); }

  const T* weights(const Param& param, void* scratch) const {
    return stored_weights<T>(stream_, param.tensor().as<float>(), param.desc.count(), scratch);
  }
  RightFactor<T> right(const Param& param, const RightUse& use, Kept&, void* scratch) const {
    return {weights(param, scratch), use.op};
  }
  template <typename Out>
  void times(int64_t m, int64_t n, int64_t k, const T* a, const RightFactor<T>& right, bool add, Out* c) const {
    product({Op::kPlain, right.op, m, n, k}, a, right.data, add, c);
  }
  void sum_rows(int64_t rows, int64_t width, const T* a, bool add, float* sums, void* scratch) const {
    channel_sums(stream_, ChannelView{rows, width, 1}, scratch, ChannelDot<T>{a, nullptr, sums, add});
  }

  static void expect_right(const RightUse&, Products&) {}

  static size_t weights_bytes(int64_t count) { return stored_weights_bytes<T>(count); }
  static size_t right_bytes(const RightUse& use, const Kept&) { return weights_bytes(use.count()); }
  static size_t sum_bytes(int64_t rows, int64_t width) {
    return channel_sums_scratch<ChannelDot<T>>(ChannelView{rows, width, 1});
  }

 private:
  Stream* stream_;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
