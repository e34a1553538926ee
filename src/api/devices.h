/// Devices and element types as the public options name them.
#pragma once

#include <memory>
#include <string>

#include "device/device.h"
#include "robusta/tensor.h"
#include "tensor/dtype.h"

namespace robusta::v1 {

/// An open GPU; null for -1, the processor. Throws Error{kUsage|kUnsupported|kDevice}.
std::shared_ptr<Device> open_device(int gpu);

/// `device`, or the processor where it is null.
Device* device_or_cpu(const std::shared_ptr<Device>& device);

/// What nets and solvers compute in. Throws Error{kUsage} for what is neither f32 nor f64.
robusta::DType computing_type(DType type);

constexpr robusta::DType inside(DType type) { return static_cast<robusta::DType>(type); }
constexpr DType outside(robusta::DType type) { return static_cast<DType>(type); }
static_assert(inside(DType::kF64) == robusta::DType::kF64 && inside(DType::kF16) == robusta::DType::kF16);

}  // namespace robusta::v1
