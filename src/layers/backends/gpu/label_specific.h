/// Layers that change scores by their labels (kit/label_specific.h) on the GPU. For files that nvcc compiles.
#pragma once

#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/picked_rows.h"
#include "layers/backends/gpu/unary.h"
#include "layers/kit/label_specific.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// The position of the pass lies in device memory, as recorded passes see only that change.
template <typename Rule>
struct SetAmounts {
  Rule rule;
  const uint64_t* first_sample;
  uint64_t between;  ///< samples from one batch to the next
  float *amounts, *top;
  ROBUSTA_GPU void operator()(int64_t) const {
    rule.set(static_cast<float>(*first_sample / between), amounts);
    for (int k = 0; top && k < Rule::kAmounts; ++k) top[k] = amounts[k];
  }
};

/// to = f(x), or from * f'(x) where `from` is not null.
template <typename T, typename Rule>
struct ChangeScores {
  Rule rule;
  bool acts;
  LabelReader label;
  Divisor by_classes;
  const float* amounts;
  const T *x, *from;
  T* to;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t sample = i;
    const int64_t c = by_classes.take_off(sample);
    if (!acts) {
      to[i] = from ? from[i] : x[i];
      return;
    }
    const bool own = label(sample) == c;
    const float score = static_cast<float>(x[i]);
    to[i] = static_cast<T>(from ? static_cast<float>(from[i]) * rule.slope(score, own, amounts)
                                : rule.value(score, own, amounts));
  }
};

/// `Rule`: over GpuMath.
template <typename T, typename Rule>
class LabelSpecificGpu : public Kernel {
 public:
  explicit LabelSpecificGpu(const KernelRequest& request)
      : acts_(request.layer<LabelSpecificLayer>().acts()),
        samples_(request.bottoms[0].shape[0]),
        classes_(request.bottoms[0].shape.count(1)),
        rule_(request.layers[0]->param()),
        watch_(request, classes_, 1, std::nullopt) {
    booking_.bottom_types = {dtype_of<T>(), DType::kF32};
    booking_.top_types.assign(request.tops.size(), DType::kF32);
    booking_.top_types[0] = dtype_of<T>();
    booking_.reads_bottoms = {acts_, acts_};
    booking_.saved_bytes = kMostAmounts * sizeof(float);
    booking_.forward_scratch = reduce_all_scratch<detail::FirstBadPick>(samples_);
    booking_.reads_position = true;
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    auto* amounts = static_cast<float*>(run.saved);
    float* top = run.tops.size() > 1 ? run.tops[1].as<float>() : nullptr;
    for_each(run.stream, 1, SetAmounts<Rule>{rule_, run.first_sample, samples_between(*run.pass), amounts, top});
    if (acts_) reduce_all(run.stream, samples_, run.scratch, detail::FirstBadPick{labels(run)});
    change(run, run.bottoms[0].as<T>(), nullptr, run.tops[0].as<T>());
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    change(run, run.bottoms[0].as<T>(), run.top_diffs[0].as<T>(), run.bottom_diffs[0].as<T>());
  }

  void check(const Pass& pass) override { watch_.check(pass); }

 private:
  LabelReader labels(const KernelRun& run) const { return watch_.reader(run.bottoms[1].as<float>()); }

  void change(const KernelRun& run, const T* x, const T* from, T* to) const {
    for_each(run.stream, samples_ * classes_,
             ChangeScores<T, Rule>{.rule = rule_,
                                   .acts = acts_,
                                   .label = labels(run),
                                   .by_classes = Divisor(classes_),
                                   .amounts = static_cast<const float*>(run.saved),
                                   .x = x,
                                   .from = from,
                                   .to = to});
  }

  bool acts_;
  int64_t samples_, classes_;
  Rule rule_;
  LabelWatch watch_;
};

/// A factory for registering.
template <template <typename> class Rule>
std::unique_ptr<Kernel> make_label_specific_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return with_storage(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<LabelSpecificGpu<decltype(t), Rule<GpuMath>>>(request);
  });
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
