/// Which layers of a net share their outputs out among ranks, as Intel's fields of a prototxt ask for it:
/// `multinode { num_nodes model_parts }` of a layer, and `multinode { model_parallel { ... } }` of a net for the layers
/// from one to another.
///
/// num_nodes 0 means all ranks; a layer of fewer is refused. model_parts 0, or more than there are ranks, means as many
/// parts as ranks. A layer's own fields go before those of the net. InnerProduct is cut, and Convolution of one group,
/// or of so many that each part has whole ones; all others are trained data parallel, with the same results.
#pragma once

#include <string>
#include <vector>

#include "schema/source.h"

namespace robusta {

struct ModelCut {
  std::string layer;
  int parts;          ///< more than one; ranks / parts ranks have the same part
  std::string where;  ///< file:line of what asks for it
};

/// Why a layer is not one that can be cut into so many parts, a phrase; "" where it is one. Fields that forbid it to a
/// layer of these types are errors (CutByOutputs::cut).
std::string objection_to_cut(const caffe::LayerParameter& layer, int parts);

/// Those of a net that is filtered for its phase, in the order of its layers. Throws Error{kConfig|kUnsupported} with
/// layer, file and line.
std::vector<ModelCut> model_cuts(const NetDef& net, int ranks);

/// The layers of which the fields say something, be it that they are not cut, by index. Throws as model_cuts does.
std::vector<int> layers_with_wishes(const NetDef& net);

}  // namespace robusta
