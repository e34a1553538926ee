/// Registers an update rule on all devices; the last line of a rule's file, which is named *_gpu.cpp, since nvcc
/// compiles it, too.
#pragma once

#include "solver/update/gpu_rule.h"
#ifndef __CUDACC__
#include "solver/update/host_rule.h"
#endif

#ifdef __CUDACC__
#define ROBUSTA_REGISTER_HOST_RULE(type, Element) true
#else
#define ROBUSTA_REGISTER_HOST_RULE(type, Element) ::robusta::register_host_rule<Element>(type)
#endif

/// At namespace scope: `ROBUSTA_REGISTER_UPDATE_RULE("SGD", Sgd);` for a template `Sgd<T>` as rule_element.h has it.
#define ROBUSTA_REGISTER_UPDATE_RULE(type, Element)                                                    \
  [[maybe_unused]] static const bool registered_rule_##Element =                                       \
      ::robusta::register_device_rule(::robusta::kGpuKind, type, ::robusta::update_on_gpu<Element>) && \
      ::robusta::register_table<Element>(type) && ROBUSTA_REGISTER_HOST_RULE(type, Element)
