// Parameters one after the other, as one range of packs: most are too small for a launch of their own, as in updates
// (solver/update/gpu_rule.h).

#include "ops/packed_params.h"

#include <algorithm>

#include "device/gpu/arguments.h"
#include "device/gpu/divisor.h"
#include "device/gpu/pack.h"

namespace robusta {
namespace {

/// Elements that a thread writes.
constexpr int kPackedAtOnce = 8;

/// The extents of one job, and those of its matrices as divisors.
struct PackedExtents {
  int64_t count = 0, row_count = 1, col_count = 1;
  Divisor rows = Divisor(1), cols = Divisor(1);
  PackedExtents() = default;
  PackedExtents(int64_t outputs, int64_t r, int64_t c)
      : count(outputs * r * c),
        row_count(r),
        col_count(c),
        rows(std::max<int64_t>(r, 1)),
        cols(std::max<int64_t>(c, 1)) {}
};

struct PackOne {
  const float* from = nullptr;
  void* to = nullptr;
  DType type = DType::kF32;
  PackedExtents of;

  explicit PackOne() = default;
  explicit PackOne(const PackJob& job)
      : from(job.from), to(job.to), type(job.type), of(job.outputs, job.rows, job.cols) {}

  template <typename T>
  ROBUSTA_GPU void run(int64_t first) const {
    Pack<float, kPackedAtOnce> values = {};
    const int64_t left = of.count - first;
    // Element (output, col, row) of the copy; neighbours are the next rows.
    int64_t item = first, row = of.rows.take_off(item), col = of.cols.take_off(item);
    for (int k = 0; k < kPackedAtOnce; ++k) {
      if (k < left) values.at[k] = from[(item * of.row_count + row) * of.col_count + col];
      if (++row < of.row_count) continue;
      row = 0;
      if (++col == of.col_count) col = 0, ++item;
    }
    T* const target = static_cast<T*>(to) + first;
    if (left >= kPackedAtOnce) return store_pack(values, target);
    for (int k = 0; k < kPackedAtOnce && k < left; ++k) target[k] = static_cast<T>(values.at[k]);
  }
  ROBUSTA_GPU void operator()(int64_t pack) const {
    const int64_t first = pack * kPackedAtOnce;
    if (type == DType::kBF16) return run<BFloat16>(first);
    if (type == DType::kF16) return run<Half>(first);
    run<float>(first);
  }
  void touches(KernelArrays& touched) const {
    touched.add(from, of.count);
    touched.add({to, of.count * static_cast<int64_t>(size_of(type))});
  }
};

struct UnpackOne {
  const void* from = nullptr;
  float* to = nullptr;
  DType type = DType::kF32;
  bool add = false, whole_packs = false;
  PackedExtents of;

  explicit UnpackOne() = default;
  explicit UnpackOne(const UnpackJob& job)
      : from(job.from),
        to(job.to),
        type(job.type),
        add(job.add),
        whole_packs(on_packs(job.to)),
        of(job.outputs, job.rows, job.cols) {}

  template <typename T>
  ROBUSTA_GPU void run(int64_t first) const {
    const T* const source = static_cast<const T*>(from);
    const int64_t left = of.count - first;
    const bool whole = whole_packs && left >= kPackedAtOnce;
    Pack<float, kPackedAtOnce> values = {};
    if (of.col_count == 1 && left >= kPackedAtOnce) {  // nothing changes places
      values = load_pack<kPackedAtOnce>(source + first);
    } else {
      // Element (output, row, col) of the gradient; neighbours are the next columns.
      int64_t item = first, col = of.cols.take_off(item), row = of.rows.take_off(item);
      for (int k = 0; k < kPackedAtOnce; ++k) {
        if (k < left) values.at[k] = static_cast<float>(source[(item * of.col_count + col) * of.row_count + row]);
        if (++col < of.col_count) continue;
        col = 0;
        if (++row == of.row_count) row = 0, ++item;
      }
    }
    float* const target = to + first;
    if (!whole) {
      for (int k = 0; k < kPackedAtOnce && k < left; ++k) target[k] = add ? target[k] + values.at[k] : values.at[k];
      return;
    }
    if (add) {
      const Pack<float, kPackedAtOnce> there = load_pack<kPackedAtOnce>(target);
      for (int k = 0; k < kPackedAtOnce; ++k) values.at[k] += there.at[k];
    }
    store_pack(values, target);
  }
  ROBUSTA_GPU void operator()(int64_t pack) const {
    const int64_t first = pack * kPackedAtOnce;
    if (type == DType::kBF16) return run<BFloat16>(first);
    if (type == DType::kF16) return run<Half>(first);
    run<float>(first);
  }
  void touches(KernelArrays& touched) const {
    touched.add({from, of.count * static_cast<int64_t>(size_of(type))});
    touched.add(to, of.count, add ? 2 : 1);
  }
};

/// By value, in so many bytes.
template <typename One, size_t kBytes>
struct Some {
  static constexpr size_t kMost = (kBytes - 2 * sizeof(int64_t)) / (sizeof(One) + sizeof(int64_t));
  One each[kMost];
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
  void touches(int64_t, KernelArrays& touched) const {
    for (int i = 0; i < count; ++i) each[i].touches(touched);
  }
};

template <typename One, size_t kBytes, typename Job>
void run_some(Stream* stream, std::span<const Job> jobs) {
  Some<One, kBytes> body;
  static_assert(sizeof body <= kBytes);
  body.count = static_cast<int>(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    body.each[i] = One(jobs[i]);
    body.begin[i + 1] = body.begin[i] + (body.each[i].of.count + kPackedAtOnce - 1) / kPackedAtOnce;
  }
  for_each(stream, body.begin[jobs.size()], body);
}

template <typename One, typename Job>
void run_all(Stream* stream, std::span<const Job> jobs) {
  constexpr size_t kFew = Some<One, kFewArguments>::kMost, kMany = Some<One, kManyArguments>::kMost;
  if (jobs.empty()) return;
  if (jobs.size() <= kFew) return run_some<One, kFewArguments>(stream, jobs);
  const size_t most = std::min(jobs.size(), kMany);
  run_some<One, kManyArguments>(stream, jobs.first(most));
  run_all<One>(stream, jobs.subspan(most));
}

void pack_params(Stream* stream, std::span<const PackJob> jobs) { run_all<PackOne>(stream, jobs); }
void unpack_gradients(Stream* stream, std::span<const UnpackJob> jobs) { run_all<UnpackOne>(stream, jobs); }

[[maybe_unused]] const bool registered_packer = register_param_packer(kGpuKind, {pack_params, unpack_gradients});

}  // namespace
}  // namespace robusta
