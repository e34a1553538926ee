// Which activations have 16 bits (mixed precision: Micikevicius et al. 2018, "Mixed Precision Training"). The types of
// forward and backward are asked for apart in NVIDIA's files; only where both are FLOAT16 a layer stores 16 bits.

#include "net/plan/precision.h"

#include "base/log.h"
#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// What NVIDIA's fields say of one layer: its own type, else the net's.
struct AskedTypes {
  caffe::Type forward, backward;
  AskedTypes(const caffe::NetParameter& net, const caffe::LayerParameter& layer)
      : forward(layer.has_forward_type() ? layer.forward_type() : net.default_forward_type()),
        backward(layer.has_backward_type() ? layer.backward_type() : net.default_backward_type()) {}
  bool any(caffe::Type type) const { return forward == type || backward == type; }
  bool half() const { return forward == caffe::FLOAT16 && backward == caffe::FLOAT16; }
};

AskedTypes asked_of(const Graph& graph, const Node& node) { return {graph.def.param, node.layer->param()}; }

/// The host has no kernels that store f16.
bool has_kernels_for(DType type, const NetOptions& options) {
  return type == DType::kF32 || type == DType::kBF16 || options.device->kernel_kind() != "cpu";
}

}  // namespace

DType storage_of(const Graph& graph, const NetOptions& options, NodeId node) {
  const Node& asked = graph.nodes[node];
  if (asked.source || options.dtype != DType::kF32) return options.dtype;
  const DType wanted = options.precision               ? *options.precision
                       : asked_of(graph, asked).half() ? DType::kF16
                                                       : DType::kF32;
  return has_kernels_for(wanted, options) ? wanted : options.dtype;
}

bool follows_bottoms(const Graph& graph, const NetOptions& options, NodeId node) {
  const Layer& layer = *graph.nodes[node].layer;
  return options.device->kernel_kind() == "cpu" && layer.num_output() == 0;
}

void explain_precision(const Graph& graph, const NetOptions& options) {
  bool half = options.precision == DType::kF16, mixed = false, wide = false;
  for (const Node& node : graph.nodes) {
    if (options.precision || node.source) continue;
    const AskedTypes asked = asked_of(graph, node);
    half = half || asked.any(caffe::FLOAT16);
    mixed = mixed || (asked.any(caffe::FLOAT16) && !asked.half());
    wide = wide || asked.any(caffe::DOUBLE);
  }
  if (!has_kernels_for(DType::kF16, options)) {
    if (half) LOG_INFO << "Activations in f16 are for GPUs: on the CPU they stay " << name_of(options.dtype);
    return;
  }
  if (mixed) {
    LOG_WARNING << "Where only one of forward_type and backward_type is FLOAT16, activations and their gradients are "
                   "both f32";
  }
  if (wide) LOG_WARNING << "forward_type or backward_type is DOUBLE: on a GPU activations are at most f32";
}

void report_precision(const Plan& plan, const NetOptions& options) {
  const bool asked = options.precision && has_kernels_for(*options.precision, options);
  if (!asked || !is_16_bit(*options.precision) || !options.device->is_host()) return;
  int narrow = 0;
  for (const Unit& unit : plan.units) narrow += is_16_bit(unit.storage);
  LOG_INFO << narrow << " of " << plan.units.size() << " kernels store " << name_of(*options.precision)
           << ", the others f32, where it is faster or all that they have (`caffe plan` says which)";
}

std::optional<DType> precision_from(const std::string& text, const Device& device, const Tuner* tuner) {
  if (text.empty()) return std::nullopt;
  if (text == "f32" || text == "fp32") return DType::kF32;
  if (text == "bf16") return DType::kBF16;
  if (text == "f16" || text == "fp16") return DType::kF16;
  if (text == "auto") {
    const bool narrow = device.is_host() ? tuner != nullptr : device.multiplies_bf16();
    return narrow ? DType::kBF16 : DType::kF32;
  }
  throw Error(ErrorKind::kUsage, str("-precision \"", text, "\"", did_you_mean(text, {"f32", "bf16", "fp16", "auto"})),
              "known: f32, bf16, fp16, auto");
}

}  // namespace robusta
