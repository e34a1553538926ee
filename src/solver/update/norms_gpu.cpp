// Norms of arrays in a GPU's memory: sums of blocks, then the sum of those, in double.
#include "device/gpu/reduce.h"
#include "solver/update/gradient_norm.h"

namespace robusta {
namespace {

struct JoinNorms {
  using Sum = Norms;
  ROBUSTA_GPU Sum zero() const { return {}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return {a.l1 + b.l1, a.square_sum + b.square_sum}; }
};

struct BlockNorms : JoinNorms {
  const float* values;
  int64_t count, block;
  Norms* blocks;
  ROBUSTA_GPU Sum term(int64_t row, int64_t col) const {
    const int64_t i = row * block + col;
    const double x = i < count ? static_cast<double>(values[i]) : 0;
    return {x < 0 ? -x : x, x * x};
  }
  ROBUSTA_GPU void store(int64_t row, Sum sum) const { blocks[row] = sum; }
};

struct TotalNorms : JoinNorms {
  const Norms* blocks;
  Norms* total;
  ROBUSTA_GPU Sum term(int64_t, int64_t col) const { return blocks[col]; }
  ROBUSTA_GPU void store(int64_t, Sum sum) const { *total = sum; }
};

void launch_norms(Stream* stream, const float* values, int64_t count, void* scratch, Norms* result) {
  constexpr int64_t kBlock = 1 << 14;
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  auto* sums = static_cast<Norms*>(scratch);
  reduce_rows(stream, blocks, kBlock, BlockNorms{{}, values, count, kBlock, sums});
  reduce_rows(stream, 1, blocks, TotalNorms{{}, sums, result});
}

[[maybe_unused]] const bool registered_norms = register_device_norms(kGpuKind, launch_norms);

}  // namespace
}  // namespace robusta
