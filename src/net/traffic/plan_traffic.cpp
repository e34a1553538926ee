// The executor's loop over steps, on addresses alone (run/executor.cpp).

#include "net/traffic/plan_traffic.h"

#include <cassert>

#include "layers/kit/prepares_params.h"
#include "net/run/packing.h"

namespace robusta {
namespace {

/// Gives parameters addresses as long as it lives.
class AddressedParams {
 public:
  AddressedParams(const Net& net, TrafficCounter& counter) : net_(net) {
    for (const ParamPtr& param : net.params()) {
      assert(!param->data && !param->diff);
      param->data = counter.address(param->desc.bytes());
      param->diff = counter.address(param->desc.bytes());
    }
  }
  ~AddressedParams() {
    for (const ParamPtr& param : net_.params()) param->data = param->diff = nullptr;
  }
  AddressedParams(const AddressedParams&) = delete;
  AddressedParams& operator=(const AddressedParams&) = delete;

 private:
  const Net& net_;
};

class PassCounter {
 public:
  PassCounter(Net& net, TrafficCounter& counter)
      : net_(net),
        plan_(net.plan()),
        counter_(counter),
        addresses_(plan_.values.size(), nullptr),
        packing_(plan_, net.options().device->kernel_kind()),
        pass_{.seed = 1, .next_sample = static_cast<uint64_t>(net.batch()), .batch = net.batch()},
        position_(counter.address(sizeof(uint64_t))) {
    for (const ValueId v : plan_.values.ids()) {
      if (plan_.values[v].storage == v) addresses_[v] = counter.address(std::max<size_t>(plan_.values[v].bytes, 1));
    }
    packing_.bind([this](ValueId value) { return address(value); });
  }

  PlanTraffic count() {
    PlanTraffic traffic;
    PlanTraffic::Counted& packing = net_.options().backward ? traffic.packing : traffic.preparing;
    packing = counter_.count_in(DType::kF32, [&] { packing_.pack(counter_.stream()); });
    traffic.preparing += counter_.count_in(DType::kF32, [&] { prepare(); });
    traffic.units.resize(plan_.units.size());
    for (const StepId s : plan_.steps.ids()) {
      const Step& step = plan_.steps[s];
      PlanTraffic::OfUnit& of_unit = traffic.units[step.unit];
      const Unit& unit = plan_.units[step.unit];
      of_unit.by_host = unit.kernel && unit.kernel->booking().host_work;
      if (is_copy(step.kind) || of_unit.by_host) continue;
      (step.in_backward ? of_unit.backward : of_unit.forward) += counter_.count_in(unit.storage, [&] { run(s); });
    }
    traffic.unpacking = counter_.count_in(DType::kF32, [&] { packing_.unpack(counter_.stream()); });
    return traffic;
  }

 private:
  void prepare() {
    for (const Step& step : plan_.steps) {
      const Unit& unit = plan_.units[step.unit];
      PreparesParams* const kernel = step.kind == StepKind::kForward ? preparing(unit.kernel.get()) : nullptr;
      if (!kernel) continue;
      KernelRun run;
      run.params = unit.params;
      run.saved = address(step.saved);
      run.stream = &counter_.stream();
      kernel->prepare(run);
    }
  }

  void run(StepId index) {
    const Step& step = plan_.steps[index];
    if (step.kind == StepKind::kSource) return run_source(step);
    if (step.reorder) {
      return step.reorder->run(address(step.bottoms[0]), address(step.tops[0]), address(step.scratch),
                               &counter_.stream());
    }
    if (step.kind == StepKind::kBackward) packing_.note(index, false);
    run_kernel(index);
  }

  /// What was uploaded is brought to where the pass has it, or made numbers of.
  void run_source(const Step& step) {
    const bool constant = net_.graph().nodes[plan_.units[step.unit].nodes[0]].source->constant();
    for (size_t t = 0; t < step.tops.size() && !constant; ++t) {
      const Tensor top = tensor(step.tops[t]);
      if (t == 0 && step.pixels) {
        step.pixels->expand(counter_.stream(), static_cast<const char*>(address(step.scratch)), top.as<float>());
      } else {
        counter_.stream().copy(top.data, address(step.scratch), top.desc.bytes());
      }
    }
  }

  void run_kernel(StepId index) {
    const Step& step = plan_.steps[index];
    const Unit& unit = plan_.units[step.unit];
    const std::vector<Tensor> bottoms = tensors(step.bottoms), tops = tensors(step.tops);
    const std::vector<Tensor> bottom_diffs = tensors(step.bottom_diffs), top_diffs = tensors(step.top_diffs);
    std::vector<char> accumulate(unit.params.size(), 0);
    for (size_t i = 0; i < step.first_part.size(); ++i) accumulate[i] = !step.first_part[i];
    std::vector<Tensor> carried;
    for (const NodeId n : unit.nodes) {
      // As CarriedMemory has them, for a net that runs.
      for (const Shape& shape : net_.graph().nodes[n].layer->carried()) {
        const TensorDesc state{shape, net_.options().dtype, nullptr};
        carried.push_back({state, counter_.address(state.bytes())});
      }
    }
    const KernelRun run{.bottoms = bottoms,
                        .tops = tops,
                        .bottom_diffs = bottom_diffs,
                        .top_diffs = top_diffs,
                        .params = unit.params,
                        .accumulate = accumulate,
                        .carried = carried,
                        .packed = packing_.params_of(index),
                        .packed_gradients = packing_.gradients_of(index),
                        .saved = address(step.saved),
                        .scratch = address(step.scratch),
                        .pass = &pass_,
                        .first_sample = static_cast<const uint64_t*>(position_),
                        .again = step.kind == StepKind::kRepeat,
                        .stream = &counter_.stream()};
    step.kind == StepKind::kBackward ? unit.kernel->backward(run) : unit.kernel->forward(run);
  }

  void* address(ValueId value) const { return value ? addresses_[plan_.values[value].storage] : nullptr; }
  Tensor tensor(ValueId value) const { return value ? Tensor{plan_.values[value].desc, address(value)} : Tensor{}; }
  std::vector<Tensor> tensors(const std::vector<ValueId>& values) const {
    std::vector<Tensor> all;
    for (const ValueId value : values) all.push_back(tensor(value));
    return all;
  }

  Net& net_;
  const Plan& plan_;
  TrafficCounter& counter_;
  IdVector<ValueId, void*> addresses_;  ///< of storages
  Packing packing_;
  Pass pass_;
  void* position_;
};

}  // namespace

PlanTraffic count_passes(Net& net, TrafficCounter& counter) {
  assert(net.options().device->only_counts());
  const AddressedParams params(net, counter);
  return PassCounter(net, counter).count();
}

}  // namespace robusta
