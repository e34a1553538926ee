// Which engine of cuDNN computes a convolution: those that its heuristics rank first, with bias, sum and ReLU fused
// and without, are made into plans when they are asked for, and timed by the tuner.

#include "layers/types/convolution/dnn_choice_cuda.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <optional>

#include "base/log.h"
#include "base/str.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/dnn/context.h"
#include "layers/types/convolution/depthwise_gpu.h"
#include "robusta/error.h"

namespace robusta::dnn {
namespace {

/// A plan may not want more than this: cuDNN's fastest ones sometimes want copies of whole activations.
size_t workspace_limit(const Problem& problem) {
  constexpr size_t kLeast = size_t{256} << 20;
  const int64_t elements = problem.image_size() + problem.result_size();
  return std::max(kLeast, static_cast<size_t>(elements) * size_of(problem.type) / 2);
}

/// An engine for a graph, and the plan once somebody has asked for it; or a kernel of our own.
class PlanOption {
 public:
  static PlanOption own_kernel() { return {}; }
  PlanOption(std::shared_ptr<const Graph> graph, Engine engine, const std::string& prefix, bool fused, bool sums)
      : fused_(fused), sums_(sums), name_(prefix + engine.name), graph_(std::move(graph)), engine_(std::move(engine)) {}
  explicit PlanOption(const Choice& choice)
      : fused_(choice.fused), name_((choice.fused ? "fused_" : "") + choice.plan->name()), plan_(choice.plan) {}

  bool own() const { return own_; }
  bool fused() const { return fused_; }
  bool sums() const { return sums_; }
  const std::string& name() const { return name_; }
  /// Where plan() gave none: the reason.
  const std::string& why_not() const { return why_not_; }

  std::shared_ptr<const Plan> plan(const Site& site, const std::string& key, size_t limit) {
    if (plan_ || !engine_) return plan_;
    const std::string cache_key = key + "/" + name_;
    if (site.cache) plan_ = site.cache->find(cache_key);
    if (!plan_) plan_ = Plan::make(site.target, graph_, std::move(*engine_), why_not_);
    engine_.reset();
    if (plan_ && plan_->workspace_bytes() > limit) {
      why_not_ = str("wants ", plan_->workspace_bytes() >> 20, " MiB of workspace");
      plan_ = nullptr;
    }
    if (plan_ && site.cache) site.cache->add(cache_key, plan_);
    return plan_;
  }

 private:
  PlanOption() : own_(true), fused_(true), name_("own_depthwise") {}

  bool own_ = false, fused_, sums_ = false;
  std::string name_, why_not_;
  std::shared_ptr<const Graph> graph_;
  std::optional<Engine> engine_;
  std::shared_ptr<const Plan> plan_;
};

/// Tensor cores are what 16 bits are for; TF32 is a question of f32 alone.
MathOptions rules_of(const Problem& problem, const Site& site) {
  MathOptions rules = site.rules;
  if (is_16_bit(problem.type)) rules.tf32 = true;
  return rules;
}

/// `fused`: with what the problem says of steps behind it.
void add_options(Direction direction, const Problem& problem, const Site& site, size_t most, bool fused,
                 std::vector<PlanOption>& options, std::string& why_not) {
  // No two options of a contest may have one name, and one that was chosen before may be among them.
  const std::string prefix = problem.sums ? (problem.rounds_apart ? "summing_apart_" : "summing_")
                             : fused      ? "fused_"
                                          : "";
  const std::shared_ptr<const Graph> graph = make_graph(direction, problem, site.target, why_not);
  if (!graph) return;
  for (Engine& engine : find_engines(site.target, *graph, rules_of(problem, site), most)) {
    options.emplace_back(graph, std::move(engine), prefix, fused, problem.sums);
  }
}

bool is_fused(Direction direction, const Problem& problem) {
  return direction == Direction::kForward && problem.follows();
}

/// Of forward with sums of its results. Two graphs mean the same, and have different engines; a bias is rounded behind
/// it in any case. Most of them are compiled, as gates are.
void add_summing(const Problem& problem, const Site& site, std::vector<PlanOption>& options, std::string& why_not) {
  constexpr size_t kMost = 4;
  add_options(Direction::kForward, problem, site, kMost, true, options, why_not);
  Problem apart = problem;
  apart.rounds_apart = true;
  if (!problem.follows()) add_options(Direction::kForward, apart, site, kMost, true, options, why_not);
}

std::vector<PlanOption> find_options(Direction direction, const Problem& problem, const Site& site,
                                     const Choice* chosen, std::string& why_not) {
  // An engine with other settings is another option. With every further one planning takes longer.
  constexpr size_t kMost = 16, kMostGated = 4;
  std::vector<PlanOption> options;
  Problem bare = problem;
  bare.bias = bare.adds = bare.relu = bare.gates = false;
  if (chosen) options.emplace_back(*chosen);
  if (problem.sums) {
    assert(chosen);
    if (site.tuner) add_summing(problem, site, options, why_not);
    return options;
  }
  // cuDNN compiles a gate into the gradient when that is planned, which takes a second for each option: few are tried,
  // and none where nothing is timed.
  if (problem.gates) {
    if (!chosen) add_options(direction, bare, site, kMostGated, false, options, why_not);
    if (site.tuner) add_options(direction, problem, site, kMostGated, true, options, why_not);
    return options;
  }
  if (is_fused(direction, problem)) add_options(direction, problem, site, kMost, true, options, why_not);
  add_options(direction, bare, site, kMost, false, options, why_not);
  // Untimed it comes last.
  if (takes_depthwise(problem)) options.push_back(PlanOption::own_kernel());
  return options;
}

/// Runs plans on memory of its own, for timing.
class Trial {
 public:
  Trial(const Problem& problem, CudaDevice& device)
      : device_(device),
        stream_(device),
        problem_(problem),
        image_(zeros(problem.image_size())),
        filters_(zeros(problem.filter_size())),
        result_(zeros(problem.result_size())),
        bias_(zeros(problem.geometry.num_output)),
        addend_(zeros(problem.adds ? problem.result_size() : 0)),
        gate_(zeros(problem.gates ? problem.image_size() : 0)),
        sums_(zeros(problem.sums ? 2 * problem.geometry.num_output : 0)) {}

  void run(Direction direction, const Plan& plan, Runner& runner, const PlanOption& option) {
    const bool fused = option.fused();
    take_workspace(std::max(plan.workspace_bytes(), problem_.sums ? result_sums_scratch(problem_.result_view()) : 0));
    std::vector<Binding> bindings = {{kImage, image_.data()}, {kFilters, filters_.data()}, {kResult, result_.data()}};
    const bool forward = direction == Direction::kForward, data = direction == Direction::kBackwardData;
    if (forward && fused && problem_.bias) bindings.push_back({kBias, bias_.data()});
    if (forward && fused && problem_.adds) bindings.push_back({kAddend, addend_.data()});
    if (data && fused && problem_.gates) bindings.push_back({kGate, gate_.data()});
    if (option.sums()) {
      bindings.push_back({kSums, sums_.data()});
      bindings.push_back({kSquares, sums() + problem_.geometry.num_output});
    }
    repeat([&] {
      runner.run(stream_.dnn(), bindings, workspace_.data());
      if (forward && !fused) finish_forward();
      if (data && !fused && problem_.gates) finish_data();
      if (problem_.sums && !option.sums()) sum_result();
    });
  }

  void run_own(Direction direction) {
    take_workspace(depthwise_workspace(direction, problem_));
    const bool forward = direction == Direction::kForward;
    const ConvolutionArrays arrays{.image = image_.data(),
                                   .filters = filters_.data(),
                                   .result = result_.data(),
                                   .bias = forward && problem_.bias ? bias_.data() : nullptr,
                                   .addend = forward && problem_.adds ? addend_.data() : nullptr,
                                   .workspace = workspace_.data()};
    repeat([&] { run_depthwise(direction, &stream_, problem_, arrays); });
  }

 private:
  void take_workspace(size_t bytes) {
    if (workspace_.bytes() >= bytes) return;
    workspace_.reset();
    workspace_ = DeviceBuffer(device_, bytes);
  }
  /// So that the time of a launch counts less.
  void repeat(const std::function<void()>& enqueue) {
    constexpr int kRuns = 4;
    for (int i = 0; i < kRuns; ++i) enqueue();
    stream_.synchronize();
  }
  /// Memory for this many elements of the widest type.
  DeviceBuffer zeros(int64_t elements) {
    DeviceBuffer buffer(device_, static_cast<size_t>(elements) * sizeof(float));
    stream_.fill_zero(buffer.data(), buffer.bytes());
    return buffer;
  }
  void finish_forward() {
    const float* bias = problem_.bias ? static_cast<const float*>(bias_.data()) : nullptr;
    const void* addend = problem_.adds ? addend_.data() : nullptr;
    finish_result(&stream_, problem_.result_view(), {bias, addend, problem_.relu, 0.0f}, result_.data());
  }

  float* sums() { return static_cast<float*>(sums_.data()); }
  void sum_result() { sum_results(&stream_, problem_.result_view(), result_.data(), sums(), workspace_.data()); }

  void finish_data() {
    const ConvolutionGeometry& g = problem_.geometry;
    const ResultView image{g.batch, g.channels, elements_in(g.axes), problem_.channels_last, problem_.type};
    mask_gradient(&stream_, image, gate_.data(), image_.data(), 0.0f, image_.data(), {}, nullptr);
  }

  CudaDevice& device_;
  CudaStream stream_;
  const Problem& problem_;
  DeviceBuffer image_, filters_, result_, bias_, addend_, gate_, sums_, workspace_;
};

/// Runs an option once. Whatever goes wrong but a lack of memory rules it out: an error of the device that stays is
/// found by the next call.
void try_option(Trial& trial, Direction direction, const PlanOption& option,
                const std::shared_ptr<const Plan>& plan) try {
  if (option.own()) return trial.run_own(direction);
  Runner runner(plan);
  trial.run(direction, *plan, runner, option);
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kMemory) throw;
  throw Error(ErrorKind::kUnsupported, error.cause(), error.fix());
}

/// The index of the option that the tuner picks; -1 when there is no memory to try them in.
int tuned(Direction direction, const Problem& problem, const Site& site, const std::string& key, size_t limit,
          std::vector<PlanOption>& options) {
  std::vector<std::string> names;
  for (const PlanOption& option : options) names.push_back(option.name());
  std::optional<Trial> trial;
  try {
    return site.tuner->choose(key, names, [&](int index) {
      PlanOption& option = options[static_cast<size_t>(index)];
      const auto plan = option.own() ? nullptr : option.plan(site, key, limit);
      if (!plan && !option.own()) throw Error(ErrorKind::kUnsupported, option.name() + ": " + option.why_not());
      if (!trial) trial.emplace(problem, *site.device);
      try_option(*trial, direction, option, plan);
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kMemory) throw;
    LOG_WARNING << "no memory to time convolutions in, so cuDNN's first choice is taken: " << error.cause();
    return -1;
  }
}

std::string record_key(Direction direction, const Problem& problem, const Site& site) {
  std::string gpu = site.gpu;
  std::replace(gpu.begin(), gpu.end(), ' ', '_');
  return str("cudnn", cudnnGetVersion(), "/", gpu, "/convolution/", problem.key(direction),
             rules_of(problem, site).tf32 && !is_16_bit(problem.type) ? "/tf32" : "",
             site.rules.deterministic ? "/deterministic" : "");
}

}  // namespace

Site Site::of(CudaDevice& device, Tuner* tuner) {
  dnn::Context& context = device.dnn();
  device.make_current();
  return {context.target(), device.math(), &context.plans(), device.model(), &device, tuner};
}

Choice choose_plan(Direction direction, const Problem& problem, const Site& site, std::string& why_not,
                   const Choice* chosen) {
  const std::string key = record_key(direction, problem, site);
  const size_t limit = workspace_limit(problem);
  std::vector<PlanOption> options = find_options(direction, problem, site, chosen, why_not);
  if (site.tuner && site.device && options.size() > 1) {
    const int best = tuned(direction, problem, site, key, limit, options);
    if (best > 0) std::rotate(options.begin(), options.begin() + best, options.begin() + best + 1);
  }
  for (PlanOption& option : options) {
    if (option.own()) return {.plan = nullptr, .fused = true, .own = true};
    if (auto plan = option.plan(site, key, limit)) {
      return {.plan = std::move(plan), .fused = option.fused(), .sums = option.sums()};
    }
    why_not = option.name() + ": " + option.why_not();
  }
  if (options.empty() && why_not.empty()) why_not = "no engine of cuDNN takes this shape";
  return {};
}

}  // namespace robusta::dnn
