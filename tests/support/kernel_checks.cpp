#include "support/kernel_checks.h"

#include "device/gpus.h"
#include "tensor/channels_last.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "base/str.h"

namespace robusta::test {
namespace {

std::string describe(const KernelCase& what) {
  std::string text;
  for (const std::string& layer : what.layers) text += layer + " | ";
  for (const Shape& shape : what.bottoms) text += shape.str() + " ";
  return text;
}

Array normal_array(const Shape& shape, uint64_t seed, const std::string& purpose) {
  PhiloxStream random(random_key(seed, "inputs", purpose));
  Array values(static_cast<size_t>(shape.count()));
  for (double& value : values) value = static_cast<float>(random.normal());
  return values;
}

Array statistic_array(const Shape& shape, uint64_t seed, const std::string& purpose) {
  PhiloxStream random(random_key(seed, "inputs", purpose));
  Array values(static_cast<size_t>(shape.count()));
  for (double& value : values) value = static_cast<float>(0.5 + random.uniform());
  return values;
}

/// The case that holds only layer `index` of a chain.
KernelCase link_of(const KernelCase& what, size_t index, const std::vector<Shape>& bottoms) {
  KernelCase link = what;
  link.layers = {what.layers[index]};
  link.bottoms = bottoms;
  if (index + 1 < what.layers.size()) link.tops = 1;
  return link;
}

/// One harness per layer of the chain.
class Chain {
 public:
  Chain(const KernelCase& what, KernelOptions how) {
    how.backend = "reference";
    how.kind = "cpu";
    how.device = nullptr;
    how.dtype = DType::kF64;
    how.bottom_layouts.clear();
    std::vector<Shape> shapes = what.bottoms;
    const bool wants_bottoms = how.bottom_grads;
    for (size_t i = 0; i < what.layers.size(); ++i) {
      how.bottom_grads = wants_bottoms || i > 0;
      links_.push_back(std::make_unique<KernelHarness>(link_of(what, i, shapes), how));
      shapes = links_.back()->top_shapes();
    }
  }

  void forward(const KernelInputs& inputs) {
    Arrays values = inputs.bottoms;
    auto params = inputs.params.begin(), carried = inputs.carried.begin();
    const auto take = [](auto& from, size_t count) {
      const auto first = from;
      from += static_cast<std::ptrdiff_t>(count);
      return Arrays(first, from);
    };
    for (auto& link : links_) {
      const Arrays own = take(params, link->param_decls().size());
      link->forward(values, own, take(carried, link->carried_shapes().size()));
      values = link->tops();
    }
  }

  void backward(const Arrays& top_diffs) {
    Arrays diffs = top_diffs;
    for (auto link = links_.rbegin(); link != links_.rend(); ++link) {
      (*link)->backward(diffs);
      diffs = (*link)->bottom_diffs();
    }
  }

  const KernelHarness& first() const { return *links_.front(); }
  const KernelHarness& last() const { return *links_.back(); }
  const std::vector<std::unique_ptr<KernelHarness>>& links() const { return links_; }

  Arrays params() const {
    Arrays all;
    for (const auto& link : links_) {
      for (Array& array : link->params()) all.push_back(std::move(array));
    }
    return all;
  }
  Arrays carried() const {
    Arrays all;
    for (const auto& link : links_) {
      for (Array& array : link->carried()) all.push_back(std::move(array));
    }
    return all;
  }
  Arrays param_diffs() const {
    Arrays all;
    for (const auto& link : links_) {
      for (Array& array : link->param_diffs()) all.push_back(std::move(array));
    }
    return all;
  }
  std::string damage() const {
    std::string all;
    for (const auto& link : links_) all += link->damage();
    return all;
  }

 private:
  std::vector<std::unique_ptr<KernelHarness>> links_;
};

double weighted_sum(const Arrays& tops, const Arrays& weights) {
  double sum = 0;
  for (size_t i = 0; i < tops.size(); ++i) {
    for (size_t j = 0; j < tops[i].size(); ++j) sum += tops[i][j] * weights[i][j];
  }
  return sum;
}

/// Central differences of the weighted sum over every element of `variables`, one of the arrays in `inputs`.
Array numeric_gradient(Chain& chain, KernelInputs& inputs, Array& variables, double step) {
  Array gradient;
  for (double& variable : variables) {
    const double kept = variable;
    variable = kept + step;
    chain.forward(inputs);
    const double above = weighted_sum(chain.last().tops(), inputs.top_diffs);
    variable = kept - step;
    chain.forward(inputs);
    const double below = weighted_sum(chain.last().tops(), inputs.top_diffs);
    variable = kept;
    gradient.push_back((above - below) / (2 * step));
  }
  return gradient;
}

void expect_all_near(const Arrays& got, const Arrays& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].empty()) continue;
    expect_near(got[i], want[i], tolerance, str(what, " ", i));
  }
}

struct Variant {
  const char* name;
  bool backward, bottom_grads, param_grads, accumulate, share_memory;
};

constexpr Variant kVariants[] = {
    {"forward only", false, false, false, false, false},
    {"forward only, shared memory", false, false, false, false, true},
    {"forward and backward", true, true, true, false, false},
    {"gradients added", true, true, true, true, false},
    {"shared memory", true, true, true, false, true},
    {"bottom gradients only", true, true, false, false, false},
    {"parameter gradients only", true, false, true, false, false},
};

/// What is made once more is the same, bit by bit, and nothing else changes.
void check_repeat(KernelHarness& harness) {
  const Arrays tops = harness.tops(), params = harness.params();
  harness.repeat();
  EXPECT_EQ(harness.tops(), tops) << "repeated";
  EXPECT_EQ(harness.params(), params) << "repeated";
}

void compare_variant(const std::string& backend, const KernelCase& what, const KernelInputs& inputs,
                     const KernelOutputs& want, const Variant& variant, KernelOptions how, double tolerance) {
  SCOPED_TRACE(variant.name);
  how.backend = backend;
  how.backward = variant.backward;
  how.bottom_grads = variant.bottom_grads;
  how.param_grads = variant.param_grads;
  how.share_memory = variant.share_memory;
  KernelHarness harness(what, how);
  ASSERT_TRUE(harness.made()) << harness.why_not();

  for (int repeat = 0; repeat < 2; ++repeat) {  // the second run finds what the first one left in the kernel
    harness.forward(inputs.bottoms, inputs.params, inputs.carried);
    expect_all_near(harness.tops(), want.tops, tolerance, "top");
    expect_all_near(harness.params(), want.params, tolerance, "parameter after forward");
    expect_all_near(harness.carried(), want.carried, tolerance, "carried");
    if (harness.kernel().booking().repeatable && !variant.share_memory) check_repeat(harness);
    if (!variant.backward) continue;
    Arrays before, expected = want.param_diffs;
    for (size_t i = 0; variant.accumulate && i < expected.size(); ++i) {
      before.push_back(normal_array(harness.param_decls()[i].shape, 3, str("before ", i)));
      for (size_t j = 0; j < expected[i].size(); ++j) expected[i][j] += before[i][j];
    }
    harness.backward(inputs.top_diffs, before);
    expect_all_near(harness.bottom_diffs(), want.bottom_diffs, tolerance, "gradient of bottom");
    expect_all_near(harness.param_diffs(), expected, tolerance, "gradient of parameter");
  }
  EXPECT_EQ(harness.damage(), "");
}

}  // namespace

KernelInputs make_inputs(const KernelCase& what, uint64_t seed) {
  const Chain chain(what, {});
  KernelInputs inputs;
  for (size_t i = 0; i < what.bottoms.size(); ++i) {
    Array values;
    if (what.bottom_values) values = what.bottom_values(static_cast<int>(i), what.bottoms[i]);
    inputs.bottoms.push_back(values.empty() ? normal_array(what.bottoms[i], seed, str("bottom ", i)) : values);
  }
  for (const auto& link : chain.links()) {
    for (const ParamDecl& decl : link->param_decls()) {
      const int index = static_cast<int>(inputs.params.size());
      Array values;
      if (what.param_values) values = what.param_values(index, decl.shape);
      if (values.empty()) {
        values = (decl.statistic ? statistic_array : normal_array)(decl.shape, seed, str("param ", index));
      }
      inputs.params.push_back(values);
    }
  }
  for (const auto& link : chain.links()) {
    for (const Shape& shape : link->carried_shapes()) {
      inputs.carried.push_back(normal_array(shape, seed, str("carried ", inputs.carried.size())));
    }
  }
  for (size_t i = 0; i < chain.last().top_shapes().size(); ++i) {
    inputs.top_diffs.push_back(normal_array(chain.last().top_shapes()[i], seed, str("top ", i)));
  }
  return inputs;
}

KernelOutputs run_reference(const KernelCase& what, const KernelInputs& inputs, const KernelOptions& how) {
  Chain chain(what, how);
  chain.forward(inputs);
  KernelOutputs outputs;
  outputs.tops = chain.last().tops();
  outputs.params = chain.params();
  outputs.carried = chain.carried();
  if (how.backward) {
    chain.backward(inputs.top_diffs);
    outputs.bottom_diffs = chain.first().bottom_diffs();
    outputs.param_diffs = chain.param_diffs();
  }
  EXPECT_EQ(chain.damage(), "") << describe(what);
  return outputs;
}

void check_gradients(const KernelCase& what, double tolerance, double step) {
  SCOPED_TRACE(describe(what));
  KernelInputs inputs = make_inputs(what);
  const KernelOutputs analytic = run_reference(what, inputs);
  Chain chain(what, {});
  for (size_t i = 0; i < inputs.bottoms.size(); ++i) {
    if (!chain.first().wants_bottom(i)) continue;
    expect_near(analytic.bottom_diffs[i], numeric_gradient(chain, inputs, inputs.bottoms[i], step), tolerance,
                str("gradient of bottom ", i));
  }
  for (size_t i = 0; i < inputs.params.size(); ++i) {
    if (analytic.param_diffs[i].empty()) continue;
    expect_near(analytic.param_diffs[i], numeric_gradient(chain, inputs, inputs.params[i], step), tolerance,
                str("gradient of parameter ", i));
  }
}

namespace {

/// Bottoms and top gradients as `type` holds them.
KernelInputs rounded(KernelInputs inputs, DType type) {
  with_storage(type, [&](auto t) {
    using T = decltype(t);
    for (Arrays* arrays : {&inputs.bottoms, &inputs.top_diffs}) {
      for (Array& array : *arrays) {
        for (double& x : array) x = static_cast<float>(static_cast<T>(static_cast<float>(x)));
      }
    }
  });
  return inputs;
}

/// How far a kernel may be off that stores `type`: a few roundings of the largest value.
double tolerance_of(DType type, double tolerance, double roundings) {
  if (type == DType::kF32) return tolerance;
  return std::max(tolerance, roundings * (type == DType::kBF16 ? 0x1p-8 : 0x1p-11));
}

}  // namespace

void compare_with_reference(const std::string& backend, const KernelCase& what, double tolerance,
                            const KernelOptions& how) {
  SCOPED_TRACE(backend + " " + name_of(how.dtype) + ": " + describe(what));
  KernelInputs inputs = make_inputs(what);
  if (is_16_bit(how.dtype)) inputs = rounded(std::move(inputs), how.dtype);
  KernelOptions reference = how;
  reference.backward = Chain(what, {.backward = false}).last().layer().has_backward();
  const KernelOutputs want = run_reference(what, inputs, reference);
  KernelOptions tested = how;
  if (tested.dtype == DType::kF64) tested.dtype = DType::kF32;
  for (const Variant& variant : kVariants) {
    if (variant.backward && !reference.backward) continue;
    compare_variant(backend, what, inputs, want, variant, tested, tolerance);
  }
}

void compare_gpu_with_reference(const KernelCase& what, double tolerance, KernelOptions how, const std::string& backend,
                                double roundings) {
  std::vector<DType> types = {DType::kF32, DType::kBF16, DType::kF16};
  if (how.dtype != DType::kF64) types = {how.dtype};
  std::vector<Device*> devices = {nullptr};
  if (test_gpu()) devices.push_back(test_gpu());
  std::vector<Layout> layouts;
  for (const Shape& shape : what.bottoms) layouts.push_back(channels_last({shape, DType::kF32, nullptr}));
  const bool other =
      std::any_of(layouts.begin(), layouts.end(), [](const Layout& layout) { return layout != nullptr; });
  for (const DType type : types) {
    how.dtype = type;
    const double bound = tolerance_of(type, tolerance, roundings);
    for (Device* device : devices) {
      how.kind = device ? "cuda" : "emulated";
      how.device = device;
      KernelOptions turned = how;
      turned.bottom_layouts = layouts;
      compare_with_reference(backend, what, bound, how);
      if (other) compare_with_reference(backend, what, bound, turned);
    }
  }
}

Device* test_gpu() {
  // Never given back: when the program ends, parts of NVIDIA's libraries have gone before.
  static const auto& gpu = *new std::shared_ptr<Device>([] {
    const bool real = !list_gpus().empty() && list_gpus()[0].name != "sim";
    auto device = real ? open_gpu(0) : nullptr;
    if (device) device->set_math({.tf32 = false});
    return device;
  }());
  return gpu.get();
}

void expect_declined(const std::string& backend, const KernelCase& what, const std::string& reason) {
  SCOPED_TRACE(backend + ": " + describe(what));
  const KernelHarness harness(what, {.backend = backend, .dtype = DType::kF32});
  EXPECT_FALSE(harness.made()) << "not declined";
  EXPECT_NE(harness.why_not(), "");
  EXPECT_NE(harness.why_not().find(reason), std::string::npos) << harness.why_not();
}

void expect_config_error(const KernelCase& what, const std::string& cause, const std::string& field) {
  SCOPED_TRACE(describe(what));
  try {
    const KernelHarness harness(what, {});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kConfig) << error.what();
    EXPECT_NE(error.cause().find(cause), std::string::npos) << error.what();
    EXPECT_EQ(field.empty() ? field : error.field(), field) << error.what();
  }
}

void expect_near(const Array& got, const Array& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 0;
  for (double value : want) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const double bound = tolerance * largest + 0.1 * tolerance;
  size_t wrong = 0, worst = 0;
  double distance = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]));
    const double difference = same ? 0 : std::abs(got[i] - want[i]);
    if (same || difference <= bound) continue;
    if (wrong++ == 0 || !(difference <= distance)) worst = i, distance = difference;
  }
  EXPECT_EQ(wrong, 0u) << what << ": " << wrong << " of " << got.size() << " wrong, the worst at " << worst << ": got "
                       << got[worst] << ", want " << want[worst] << ", bound " << bound;
}

}  // namespace robusta::test
