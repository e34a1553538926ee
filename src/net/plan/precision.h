/// How the activations of each layer, and their gradients, are stored.
///
/// They may have 16 bits: for all layers alike (NetOptions::precision), or as NVIDIA's fields of net and layer say.
/// Kernels compute in float and may keep some of their tensors in f32 (Booking::top_types). Sources deliver f32,
/// parameters and their gradients are f32.
///
/// The host has no kernels that store f16, and some layers only in f32; there bf16 is stored where it was measured to
/// be faster, and by what lies between.
#pragma once

#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

/// What the tops of `node` should be stored as.
DType storage_of(const Graph& graph, const NetOptions& options, NodeId node);

/// True for layers of the host that store 16 bits only if one of their bottoms does: their time goes into reading and
/// writing, so a conversion would cost more than it saves. Layers of products, whose arithmetic may be faster in 16
/// bits, follow nothing.
bool follows_bottoms(const Graph& graph, const NetOptions& options, NodeId node);

/// Logs, in a line each, where what is asked for is not what the device does: f16 on the host, DOUBLE on a GPU,
/// different types forward and backward.
void explain_precision(const Graph& graph, const NetOptions& options);

/// Logs how many kernels of the host store the 16 bits that were asked for.
void report_precision(const Plan& plan, const NetOptions& options);

/// "f32", "bf16", "fp16" (or "f16"), or "auto": bf16 where that is fastest on the device. On the host the tuner finds
/// out, for each layer; without one it is f32. "": none, as the net says. Throws Error{kUsage} for another text.
std::optional<DType> precision_from(const std::string& text, const Device& device, const Tuner* tuner);

}  // namespace robusta
