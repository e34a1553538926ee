// Where the rate is 0 nothing has moved, and u stays as it is.
#include "solver/ranks/sums/slow_momentum.h"

#include <algorithm>
#include <numeric>

#include "base/log.h"
#include "net/run/arrays.h"

namespace robusta {

SlowMomentum::SlowMomentum(Net& net, double beta) : net_(net), beta_(beta) {
  const auto& with_gradient = net.param_memory().completion();
  for (const ParamPtr& param : net.params()) {
    if (std::find(with_gradient.begin(), with_gradient.end(), param.get()) == with_gradient.end()) continue;
    params_.push_back(param.get());
    const size_t bytes = param->desc.bytes();
    arrays_[param.get()] = {std::vector<std::byte>(bytes), std::vector<std::byte>(bytes)};
  }
}

void SlowMomentum::begin() {
  for (const Param* param : params_) fetch_array(net_.stream(), param->tensor(), arrays_.at(param).begin.data());
  begun_ = true;
}

void SlowMomentum::step(const Param& param, void* weights, double rate) {
  if (rate == 0) return;
  Arrays& arrays = arrays_.at(&param);
  dispatch(param.desc.dtype, [&](auto type) {
    using T = decltype(type);
    auto* const x = reinterpret_cast<T*>(arrays.begin.data());
    auto* const u = reinterpret_cast<T*>(arrays.momentum.data());
    auto* const y = static_cast<T*>(weights);
    const auto beta = static_cast<T>(beta_), step = static_cast<T>(rate);
    for (int64_t i = 0; i < param.desc.count(); ++i) {
      u[i] = beta * u[i] + (x[i] - y[i]) / step;
      x[i] -= step * u[i];
      y[i] = x[i];
    }
  });
}

std::vector<float> SlowMomentum::values() const {
  std::vector<float> all;
  for (const Param* param : params_) {
    dispatch(param->desc.dtype, [&](auto type) {
      const auto* const u = reinterpret_cast<const decltype(type)*>(arrays_.at(param).momentum.data());
      all.insert(all.end(), u, u + param->desc.count());
    });
  }
  return all;
}

void SlowMomentum::set_values(const std::vector<float>& values) {
  const int64_t count = std::accumulate(params_.begin(), params_.end(), int64_t{0},
                                        [](int64_t sum, const Param* param) { return sum + param->desc.count(); });
  if (static_cast<int64_t>(values.size()) != count) {
    LOG_WARNING << "The state has a slow momentum of " << values.size() << " weights, and the net has " << count
                << ": it begins with 0";
    return;
  }
  const float* next = values.data();
  for (const Param* param : params_) {
    dispatch(param->desc.dtype, [&](auto type) {
      std::copy_n(next, param->desc.count(), reinterpret_cast<decltype(type)*>(arrays_.at(param).momentum.data()));
    });
    next += param->desc.count();
  }
}

}  // namespace robusta
