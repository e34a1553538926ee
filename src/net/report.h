/// `caffe plan`: what a net will run and what it costs, before it runs.
#pragma once

#include <ostream>

#include "net/net.h"

namespace robusta {

/// What a plan takes, in bytes.
struct MemoryUse {
  size_t activations = 0;  ///< the shared arena and what outlives a pass
  size_t params = 0;       ///< values
  size_t kernels = 0;      ///< weights in another form, which kernels keep (Booking::kept_bytes)
  size_t gradients = 0;    ///< of parameters
  size_t history = 0;      ///< of the solver: what an update keeps of each parameter
  size_t unshared = 0;     ///< blobs' data and gradients with nothing shared, plus the other four
  size_t total() const { return activations + params + kernels + gradients + history; }
};

MemoryUse memory_use(const Net& net, const UpdateArrays& update);

/// A line per layer (shape, kernel, layout, memory, FLOPs), why other candidates declined, the reorders, the largest
/// values at the peak, and the total.
void print_plan(std::ostream& out, const Net& net, const UpdateArrays& update);

/// What large model support does to a pass, in one line. REQUIRES: offloading.planned.
std::string describe_offloading(const Plan& plan);

}  // namespace robusta
