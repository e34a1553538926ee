/// Registers a layer that changes scores by their labels (kit/label_specific.h) with all its kernels. For files named
/// *_formula.cpp.
///
/// Such a file is compiled twice (backends/formula.h): the host's compiler makes the layer, the reference and the
/// emulated kernel of it, nvcc the kernel of GPUs alone.
#pragma once

#include "layers/backends/gpu/label_specific.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <template <typename> class Rule>
bool register_label_specific(const std::string& type) {
#ifndef __CUDACC__
  register_layer(type, make_label_specific_layer<Rule>);
  register_kernel({type, "reference", "cpu", 0, make_label_specific_reference<Rule>});
#endif
  return register_kernel({type, "gpu", kGpuKind, 10, make_label_specific_gpu<Rule>});
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

/// At namespace scope: `ROBUSTA_REGISTER_LABEL_SPECIFIC("LabelSpecificAdd", AddToOwn);`
#define ROBUSTA_REGISTER_LABEL_SPECIFIC(type, Rule) \
  static const bool registered_##Rule = ::robusta::register_label_specific<Rule>(type)
