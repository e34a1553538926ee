/// Convolution whose outputs the ranks of a group share out (layers/kit/model_group.h).
///
/// With P parts, N samples x [N, C, ...] on each rank and O outputs in all, a rank has the outputs of part p, and rows
/// p O / P to (p + 1) O / P of the parameters:
///
///   forward    X = x of all ranks [P N, C, ...]     all-gather     y_p = conv(X, W_p) + b_p, to whose samples they are
///   backward   dy_p [P N, O / P, ...] of all ranks  all-to-all     dW_p, db_p of X and dy_p
///              dX_p [P N, C, ...]                   to whose samples they are, and their sum there is dx
///
/// Where the layer has groups of channels a part has whole ones, and reads C / P channels alone: these go to each part
/// by an all-to-all, and dx is made of slices as x was, without a sum. A pass without ranks (Pass::ranks) is that of
/// all outputs, by matrix products.
#pragma once

#include <memory>
#include <string>

#include "layers/kit/kernel.h"

namespace robusta {

/// The part's convolution is computed by a kernel of `backend`; null where that declines. REQUIRES: a request for a
/// layer that is cut, in f32 or f64.
std::unique_ptr<Kernel> make_convolution_parts(const KernelRequest& request, const std::string& backend,
                                               std::string& why_not);

}  // namespace robusta
