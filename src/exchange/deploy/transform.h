/// What a source did to its pixels, (pixel - mean) * scale, for a program that has none of Caffe's sources: written
/// down, or computed by the net.
#pragma once

#include <string>
#include <vector>

#include "exchange/deploy/heads.h"

namespace robusta::deploy {

enum class TransformMode {
  kFile,  ///< a side file says what the program that feeds the net has to do
  kFold,  ///< the net takes pixels
  kNone,
};

/// "" is kFile. Throws Error{kUsage}.
TransformMode transform_mode(const std::string& name);

/// Folds a transformation into the layers that read the input, where that is exact: without a mean always, with one
/// where no padding stands beside the pixels, for that is zero, and not the mean, after the transformation. Elsewhere a
/// Scale layer computes it. What is done is logged.
void fold_transform(DeployNet& net, const InputTransform& transform);

/// The side file's text.
std::string transform_json(const DeployNet& net, const std::vector<InputTransform>& transforms);

}  // namespace robusta::deploy
