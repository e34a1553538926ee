/// What a net has for training and scoring alone, taken away: sources become inputs, losses the probabilities that they
/// compute inside, labels and all that hangs on them alone go.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exchange/deploy/deploy_net.h"

namespace robusta::deploy {

/// What a source did to the numbers of an input before the net saw them: (pixel - mean) * scale.
struct InputTransform {
  std::string blob;
  caffe::TransformationParameter param;
  LayerSource source;
  Shape item;                      ///< the input's shape
  std::vector<float> mean_values;  ///< none, or one per channel
  BlobData mean_image;             ///< of the input's own extents; empty: none
  float scale = 1;
  bool changes() const { return !mean_values.empty() || !mean_image.data.empty() || scale != 1; }
};

/// Losses become Softmax or Sigmoid layers, or nothing where `scores` are wanted and for losses without such a layer.
/// Labels, and layers that read labels or losses alone, are gone afterwards. Throws Error{kConfig} where nothing is
/// left.
void remove_heads(DeployNet& net, bool scores);

/// Which layers are of training and scoring alone: sources of data, losses, metrics.
std::vector<bool> training_layers(const DeployNet& net);

/// Keeps these blobs, called as in the file, as outputs, and what they are computed from. Throws Error{kUsage} for a
/// name that no blob has.
void keep_outputs(DeployNet& net, const std::vector<std::string>& names);

/// Sources become Input layers, one per blob that is read: of `batch` samples (DeployOptions::batch) of the shape that
/// the source has, or of the one in `shapes`, by name. Throws Error{kConfig} for a net without any source,
/// Error{kUsage} for a name that no input has, Error{kData} for a mean file that cannot be read.
std::vector<InputTransform> make_inputs(DeployNet& net, int64_t batch, const std::map<std::string, Shape>& shapes);

}  // namespace robusta::deploy
