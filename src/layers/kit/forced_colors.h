/// For sources of image files, which have settings of their own for colours.
#pragma once

#include "base/log.h"
#include "caffe.pb.h"

namespace robusta {

/// Warns where transform_param asks for colours or for grey. `instead` says what decides.
inline void warn_of_forced_colors(const caffe::LayerParameter& layer, const char* instead) {
  const caffe::TransformationParameter& transform = layer.transform_param();
  if (!transform.force_color() && !transform.force_gray()) return;
  LOG_WARNING << "layer " << layer.name() << ": force_color and force_gray do nothing here: " << instead;
}

}  // namespace robusta
