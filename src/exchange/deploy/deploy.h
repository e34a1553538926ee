/// From a trained net to the pair of files that a device's toolchain reads: net and weights without what is for
/// training, rewritten for the toolchain, and compared with the net that was trained before anything is left.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exchange/deploy/transform.h"
#include "schema/source.h"

namespace robusta::deploy {

struct DeployOptions {
  std::vector<std::string> weights;  ///< later files win
  std::string output;                ///< of the files: this and .prototxt, .caffemodel, .transform.json
  std::string target;
  int64_t batch = 0;  ///< samples per pass; 0: 1 in place of data layers, those that it has of a net without any
  bool fold = false;
  bool scores = false;
  TransformMode transform = TransformMode::kFile;
  std::vector<std::string> blobs;       ///< the outputs; none: all
  std::map<std::string, Shape> shapes;  ///< of inputs by blob, in place of those that their sources have
};

/// What was written, and how far it is from what was read.
struct Deployed {
  std::vector<std::string> files;
  std::vector<std::string> inputs, outputs;
  double difference = 0;  ///< the largest, as a part of the largest number of the blob
  std::string blob;
  bool constant = false;  ///< the trained net's numbers do not depend on its input: the difference says little
};

/// Relative differences above this are a failure.
inline constexpr double kLargestDifference = 1e-4;

/// `net` as it was read; the state TEST, and what `extra` adds, choose its layers. Throws Error{kConfig} at a line for
/// nets that have nothing to deploy, {kUnsupported} for what the target cannot take, {kModel} for weights that do not
/// cover the net, {kNumeric} for files that compute something else, {kOutput}; then no file is written or changed.
Deployed deploy(const NetDef& net, const caffe::NetState& extra, const DeployOptions& options);

/// The layers that the net has in this state, without Split layers. Throws Error{kConfig} for a net that is not sound.
NetDef layers_in_state(const NetDef& net, const caffe::NetState& extra);

}  // namespace robusta::deploy
