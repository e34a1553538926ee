/// The kernel of layers that only pass their values on: Reshape, Flatten, Dropout when testing, a Concat of one.
///
/// Every top is the bottom under another name or shape, so nothing is done where the planner has put both into the same
/// memory; elsewhere they are copied.
#pragma once

#include "layers/kit/kernel.h"

namespace robusta {

/// One bottom, one top of as many elements. `any_layout`: takes the bottom as it lies (the shapes must then be equal).
std::unique_ptr<Kernel> make_alias_kernel(const KernelRequest& request, bool any_layout);

/// Factories for registering: the reference (plain tensors) and the native one (any layout and type).
std::unique_ptr<Kernel> make_plain_alias(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_any_layout_alias(const KernelRequest& request, std::string& why_not);

}  // namespace robusta
