// Averages of weights in a GPU's memory.
#include "device/gpu/for_each.h"
#include "solver/update/device_average.h"

namespace robusta {
namespace {

struct FollowWeights {
  float keep, take;
  float* average;
  const float* weights;
  ROBUSTA_GPU void operator()(int64_t i) const { average[i] = keep * average[i] + take * weights[i]; }
};

struct ExchangeWeights {
  float *a, *b;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float before = a[i];
    a[i] = b[i];
    b[i] = before;
  }
};

void launch_follow(Stream* stream, const AveragedArray& array, double keep) {
  for_each(stream, array.count,
           FollowWeights{static_cast<float>(keep), static_cast<float>(1 - keep), static_cast<float*>(array.average),
                         static_cast<const float*>(array.weights)});
}

void launch_exchange(Stream* stream, const AveragedArray& array) {
  for_each(stream, array.count,
           ExchangeWeights{static_cast<float*>(array.average), static_cast<float*>(array.weights)});
}

[[maybe_unused]] const bool registered_average = register_device_average(kGpuKind, {launch_follow, launch_exchange});

}  // namespace
}  // namespace robusta
