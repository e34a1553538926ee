// Sums in double over blocks of fixed size, whose partial sums are added in their order: the same bits for any number
// of threads (the pairwise idea of Higham 1993, "The Accuracy of Floating Point Summation", section 2, in two levels).
#include "solver/update/gradient_norm.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/parallel.h"
#include "base/simd.h"

namespace robusta {
namespace {

constexpr int64_t kBlock = 1 << 16;  // fixed, so that the order of the sum does not depend on the threads

template <typename T>
ROBUSTA_SIMD void sum_block(const T* values, int64_t count, double* l1, double* squares) {
  double absolute = 0, square = 0;
#pragma omp simd reduction(+ : absolute, square)
  for (int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(values[i]);
    absolute += std::fabs(x);
    square += x * x;
  }
  *l1 = absolute;
  *squares = square;
}

}  // namespace

Norms norms(const Tensor& tensor) {
  const int64_t count = tensor.count(), blocks = (count + kBlock - 1) / kBlock;
  std::vector<Norms> parts(static_cast<size_t>(blocks));
  dispatch(tensor.desc.dtype, [&](auto type) {
    const auto* values = tensor.as<decltype(type)>();
    parallel_for(blocks, 1, [&](int64_t b) {
      Norms& part = parts[static_cast<size_t>(b)];
      sum_block(values + b * kBlock, std::min(kBlock, count - b * kBlock), &part.l1, &part.square_sum);
    });
  });
  Norms total;
  for (const Norms& part : parts) {
    total.l1 += part.l1;
    total.square_sum += part.square_sum;
  }
  return total;
}

bool all_finite(const Norms& norms) { return std::isfinite(norms.l1); }

namespace {

std::map<std::string, DeviceNorms>& launchers() {
  static std::map<std::string, DeviceNorms> all;
  return all;
}

}  // namespace

bool register_device_norms(const std::string& kernel_kind, DeviceNorms launch) {
  return launchers().emplace(kernel_kind, launch).second;
}

size_t norms_scratch(int64_t count) { return static_cast<size_t>((count >> 14) + 1) * sizeof(Norms); }

std::vector<Norms> NormReader::read(std::span<const Tensor> tensors) {
  std::vector<Norms> found(tensors.size());
  if (device_.is_host()) {
    std::transform(tensors.begin(), tensors.end(), found.begin(), norms);
    return found;
  }
  const auto launch = launchers().find(device_.kernel_kind());
  if (launch == launchers().end()) return read_on_host(tensors);
  size_t scratch = 0;
  for (const Tensor& tensor : tensors) scratch = std::max(scratch, norms_scratch(tensor.count()));
  const size_t bytes = tensors.size() * sizeof(Norms);
  if (scratch_.bytes() < scratch) scratch_ = DeviceBuffer(device_, scratch);
  if (results_.bytes() < bytes) results_ = DeviceBuffer(device_, bytes);
  auto* results = static_cast<Norms*>(results_.data());
  stream_.run([&] {
    for (size_t i = 0; i < tensors.size(); ++i) {
      launch->second(&stream_, tensors[i].as<float>(), tensors[i].count(), scratch_.data(), results + i);
    }
  });
  stream_.copy_to_host(found.data(), results, bytes);
  stream_.synchronize();
  return found;
}

/// For devices without a kernel of their own.
std::vector<Norms> NormReader::read_on_host(std::span<const Tensor> tensors) {
  std::vector<Norms> found;
  std::vector<char> copy;
  for (const Tensor& tensor : tensors) {
    copy.resize(tensor.desc.bytes());
    stream_.copy_to_host(copy.data(), tensor.data, copy.size());
    stream_.synchronize();
    found.push_back(norms({tensor.desc, copy.data()}));
  }
  return found;
}

}  // namespace robusta
