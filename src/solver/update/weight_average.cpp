// Averages of iterates: Polyak and Juditsky 1992, "Acceleration of Stochastic Approximation by Averaging"; with a decay
// as in Szegedy et al. 2016, "Rethinking the Inception Architecture for Computer Vision", section 8.
#include "solver/update/weight_average.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "base/log.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "memory/placement.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

constexpr int64_t kAverageGrain = 16384;  // as update rules have it

template <typename T>
ROBUSTA_SIMD void follow_elements(int64_t count, T keep, T take, T* __restrict average, const T* __restrict weights) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) average[i] = keep * average[i] + take * weights[i];
}

void follow_on_host(Stream*, const AveragedArray& array, double keep) {
  dispatch(array.dtype, [&](auto type) {
    using T = decltype(type);
    parallel_ranges(array.count, kAverageGrain, [&](int64_t begin, int64_t end) {
      follow_elements(end - begin, static_cast<T>(keep), static_cast<T>(1 - keep),
                      static_cast<T*>(array.average) + begin, static_cast<const T*>(array.weights) + begin);
    });
  });
}

void exchange_on_host(Stream*, const AveragedArray& array) {
  dispatch(array.dtype, [&](auto type) {
    auto* const average = static_cast<decltype(type)*>(array.average);
    std::swap_ranges(average, average + array.count, static_cast<decltype(type)*>(array.weights));
  });
}

std::map<std::string, DeviceAverage>& device_averages() {
  static std::map<std::string, DeviceAverage> all = {{"cpu", {follow_on_host, exchange_on_host}}};
  return all;
}

}  // namespace

double checked_decay(const SolverDef& solver) {
  const float decay = solver.param.ema_decay();
  if (decay > 0 && decay < 1) return decay;
  refuse_setting(solver, "ema_decay", str("ema_decay ", decay, " is not between 0 and 1"),
                 "give a value such as 0.999, or 0 for no average");
}

bool register_device_average(const std::string& kernel_kind, const DeviceAverage& functions) {
  return device_averages().emplace(kernel_kind, functions).second;
}

WeightAverage::WeightAverage(const SolverDef& solver, Net& net, Shards* shards)
    : net_(net), shards_(shards), device_kind_(net.options().device->kernel_kind()), keep_(checked_decay(solver)) {
  if (!device_averages().contains(device_kind_)) {
    throw Error(ErrorKind::kUnsupported, "ema_decay does not run on this device (" + device_kind_ + ")")
        .at(solver.where("ema_decay"));
  }
  size_t bytes = 0;
  std::vector<size_t> places;
  for (const ParamPtr& param : net.params()) {
    if (param->lr_mult == 0) continue;
    const std::optional<ElementRange> own = shards ? shards->own(*param) : std::nullopt;
    part_of_[param.get()] = parts_.size();
    parts_.push_back({param.get(), own.value_or(ElementRange{0, param->desc.count()}), nullptr});
    places.push_back(bytes);
    bytes += align_up(static_cast<size_t>(parts_.back().elements.count()) * size_of(param->desc.dtype));
  }
  memory_ = DeviceBuffer(*net.options().device, bytes);
  for (size_t i = 0; i < parts_.size(); ++i) parts_[i].average = static_cast<char*>(memory_.data()) + places[i];
}

AveragedArray WeightAverage::array_of(const Part& part) const {
  const TensorDesc& desc = part.param->desc;
  void* const weights =
      static_cast<char*>(part.param->data) + static_cast<size_t>(part.elements.begin) * size_of(desc.dtype);
  return {part.average, weights, part.elements.count(), desc.dtype};
}

void WeightAverage::restart() {
  for (const Part& part : parts_) {
    const AveragedArray array = array_of(part);
    net_.stream().copy(array.average, array.weights, static_cast<size_t>(array.count) * size_of(array.dtype));
  }
  begun_ = true;
}

void WeightAverage::follow(std::span<Param* const> params) const {
  assert(begun_);
  const DeviceAverage& device = device_averages().at(device_kind_);
  for (const Param* param : params) device.follow(&net_.stream(), array_of(parts_[part_of_.at(param)]), keep_);
}

void WeightAverage::exchange() {
  assert(begun_);
  net_.stream().run([this] {
    const DeviceAverage& device = device_averages().at(device_kind_);
    for (const Part& part : parts_) {
      device.exchange(&net_.stream(), array_of(part));
      ++part.param->version;  // in the order of the stream, as kernels read it
    }
  });
  if (shards_) shards_->gather_weights();
}

std::vector<Tensor> WeightAverage::tensors() const {
  std::vector<Tensor> all;
  for (const Part& part : parts_) all.push_back(average_of(*part.param));
  return all;
}

Tensor WeightAverage::average_of(const Param& param) const {
  const auto found = part_of_.find(&param);
  if (found == part_of_.end()) return {};
  const Part& part = parts_[found->second];
  return {{Shape({part.elements.count()}), param.desc.dtype, nullptr}, part.average};
}

AveragedWeights::~AveragedWeights() {
  try {
    average_.exchange();
  } catch (const std::exception& error) {
    LOG_ERROR << "the weights are lost to their average: " << error.what();
  }
}

}  // namespace robusta
