/// What every kernel must fulfil, as one-line tests over lists of cases.
///
///     TEST(ReluTest, Gradients) { for (const KernelCase& c : cases()) check_gradients(c); }
///     TEST(ReluTest, OneDnn) { for (const KernelCase& c : cases()) compare_with_reference("onednn", c); }
#pragma once

#include <string>

#include "support/kernel_harness.h"

namespace robusta::test {

/// Inputs of a case: bottoms, parameters, what the pass before left, and top gradients; representable in f32.
struct KernelInputs {
  Arrays bottoms, params, top_diffs, carried = {};
};
KernelInputs make_inputs(const KernelCase& what, uint64_t seed = 1);

/// Results of one forward and backward pass.
struct KernelOutputs {
  Arrays tops, bottom_diffs, param_diffs, params, carried;
};

/// The chain of reference kernels in f64.
KernelOutputs run_reference(const KernelCase& what, const KernelInputs& inputs, const KernelOptions& how = {});

/// Expects that the gradients of the reference kernels (f64) agree with central differences of a random weighted sum
/// of the tops, with respect to each bottom that allows a gradient and each parameter that learns, within
/// `tolerance` times the largest gradient.
void check_gradients(const KernelCase& what, double tolerance = 1e-6, double step = 1e-5);

/// Expects that the kernel of `backend` takes the case in f32 (or how.dtype, unless that is f64) and agrees with the
/// reference in f64 within `tolerance` times the largest magnitude of each array: forward alone; forward and backward;
/// only some gradients; gradients added to given ones; with aliased memory.
void compare_with_reference(const std::string& backend, const KernelCase& what, double tolerance = 1e-5,
                            const KernelOptions& how = {});

/// The same for the kernel of a *_gpu.cpp: emulated, and on the GPU where there is one; from plain bottoms and from
/// channels-last ones; in f32, and, unless how.dtype asks for one type, stored as bf16 and as f16, within `roundings`
/// of those types.
void compare_gpu_with_reference(const KernelCase& what, double tolerance = 1e-5, KernelOptions how = {},
                                const std::string& backend = "gpu", double roundings = 4);

/// The first real GPU of this machine, without TF32; null without one.
Device* test_gpu();

/// Expects that the kernel of `backend` declines the case, giving a reason that contains `reason`.
void expect_declined(const std::string& backend, const KernelCase& what, const std::string& reason = "");

/// Expects an Error{kConfig} from making or shaping the layer whose cause contains `cause` and whose field is `field`
/// ("" for any).
void expect_config_error(const KernelCase& what, const std::string& cause, const std::string& field = "");

/// Expects |got - want| <= tolerance * max|want| + 1e-6 * tolerance / 1e-5 for each element; equal infinities and NaNs
/// count as equal.
void expect_near(const Array& got, const Array& want, double tolerance, const std::string& what);

}  // namespace robusta::test
