// Parameters one after the other, as one range of packs of the copies: most are too small for a launch of their own, as
// in updates (solver/update/gpu_rule.h).

#include "ops/packed_params.h"

#include <algorithm>

#include "device/gpu/divisor.h"
#include "device/gpu/pack.h"

namespace robusta {
namespace {

/// Elements that a thread writes.
constexpr int kPackedAtOnce = 8;

struct PackOne {
  const float* from = nullptr;
  void* to = nullptr;
  DType type = DType::kF32;
  int64_t count = 0;
  Divisor rows = Divisor(1), cols = Divisor(1);
  int64_t row_count = 1, col_count = 1;

  template <typename T>
  ROBUSTA_GPU void run(int64_t first) const {
    Pack<float, kPackedAtOnce> values = {};
    const int64_t left = count - first;
    // Element (output, col, row) of the copy; neighbours are the next rows.
    int64_t item = first, row = rows.take_off(item), col = cols.take_off(item);
    for (int k = 0; k < kPackedAtOnce; ++k) {
      if (k < left) values.at[k] = from[(item * row_count + row) * col_count + col];
      if (++row < row_count) continue;
      row = 0;
      if (++col == col_count) col = 0, ++item;
    }
    T* const target = static_cast<T*>(to) + first;
    if (left >= kPackedAtOnce) return store_pack(values, target);
    for (int64_t k = 0; k < left; ++k) target[k] = static_cast<T>(values.at[k]);
  }
  ROBUSTA_GPU void operator()(int64_t pack) const {
    const int64_t first = pack * kPackedAtOnce;
    if (type == DType::kBF16) return run<BFloat16>(first);
    if (type == DType::kF16) return run<Half>(first);
    run<float>(first);
  }
};

/// By value a kernel takes 4 KB.
struct PackSome {
  static constexpr size_t kMost = (4000 - 2 * sizeof(int64_t)) / (sizeof(PackOne) + sizeof(int64_t));
  PackOne each[kMost];
  int64_t begin[kMost + 1] = {};  ///< of each in the range
  int count = 0;
  ROBUSTA_GPU void operator()(int64_t pack) const {
    int found = 0;
    for (int end = count; end - found > 1;) {
      const int middle = (found + end) / 2;
      (pack >= begin[middle] ? found : end) = middle;
    }
    each[found](pack - begin[found]);
  }
#ifdef ROBUSTA_COUNTS_CALLS
  void touches(int64_t, KernelArrays& touched) const {
    for (int i = 0; i < count; ++i) {
      const auto size = static_cast<int64_t>(size_of(each[i].type));
      touched.add(each[i].from, each[i].count);
      touched.add({each[i].to, each[i].count * size});
    }
  }
#endif
};
static_assert(sizeof(PackSome) <= 4000);

PackOne pack_one(const PackJob& job) {
  return {job.from,
          job.to,
          job.type,
          job.outputs * job.rows * job.cols,
          Divisor(std::max<int64_t>(job.rows, 1)),
          Divisor(std::max<int64_t>(job.cols, 1)),
          job.rows,
          job.cols};
}

void pack_params(Stream* stream, std::span<const PackJob> jobs) {
  while (!jobs.empty()) {
    const auto some = jobs.first(std::min(jobs.size(), PackSome::kMost));
    PackSome body;
    body.count = static_cast<int>(some.size());
    for (size_t i = 0; i < some.size(); ++i) {
      body.each[i] = pack_one(some[i]);
      body.begin[i + 1] = body.begin[i] + (body.each[i].count + kPackedAtOnce - 1) / kPackedAtOnce;
    }
    for_each(stream, body.begin[some.size()], body);
    jobs = jobs.subspan(some.size());
  }
}

[[maybe_unused]] const bool registered_packer = register_param_packer(kGpuKind, pack_params);

}  // namespace
}  // namespace robusta
