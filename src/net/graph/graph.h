/// The net as a graph: layers, the versions of its blobs, parameters, and who needs a gradient.
///
/// Static single assignment: each write of a blob name makes a new version, an in-place layer's too. Whether two
/// versions share memory is the planner's business. After split insertion every version has at most one reader.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layers/kit/layer.h"
#include "layers/kit/param.h"
#include "layers/kit/source_layer.h"
#include "net/graph/ids.h"
#include "schema/source.h"

namespace robusta {

/// One version of a blob.
struct BlobVersion {
  std::string name;
  Shape shape;
  NodeId producer{};
  int top = -1;       ///< index among the producer's tops
  NodeId consumer{};  ///< none: nobody reads it
  int bottom = -1;    ///< index among the consumer's bottoms
  float loss_weight = 0;
  bool hidden_by_later = false;  ///< the name is written again (in place): only the last version is visible
  bool read_back = false;        ///< backward of an earlier layer reads it (Node::overwritten_by)
  bool varies = false;           ///< its shape may follow from values (Layer::sizing_bottom): it is known in the pass
};

/// One layer in its place.
struct Node {
  std::unique_ptr<Layer> layer;
  SourceLayer* source = nullptr;  ///< the same layer, if it is one
  std::vector<VersionId> bottoms, tops;
  std::vector<ParamPtr> params;
  std::vector<Tensor> carried;     ///< Layer::carried, where this net keeps it (run/carried_memory.h)
  std::vector<bool> param_grads;   ///< gradient wanted from this layer
  std::vector<bool> bottom_grads;  ///< gradient wanted for this bottom
  bool backward = false;           ///< takes part in backward
  VersionId overwritten_by;        ///< what backward reads of top 0's blob in its place (overwritten.h); none: nothing
  LayerSource where;
  std::unique_ptr<Layer> original;  ///< the layer of the definition, where another one computes in its place
  bool added = false;               ///< it is in no definition (unread_pixels.h)

  /// The layer as it is written, for whoever shows or stores it.
  const caffe::LayerParameter& written() const { return (original ? original : layer)->param(); }
};

struct Graph {
  NetDef def;
  IdVector<NodeId, Node> nodes;
  IdVector<VersionId, BlobVersion> versions;
  std::vector<NodeId> sizers;                                ///< layers with a sizing bottom, in order
  IdVector<ParamId, ParamPtr> params;                        ///< owners in layer order
  IdVector<ParamId, const caffe::FillerParameter*> fillers;  ///< per owner; null: zeros
  IdVector<ParamId, std::span<const float>> given_values;    ///< per owner: in place of a filler's; empty: none
  IdVector<ParamId, bool> filled_here;                       ///< per owner: false if shared from another net

  /// The visible (last) version of a blob name, if there is one.
  VersionId find(const std::string& blob) const;
  /// What whoever runs the net writes, in the order of the layers.
  std::vector<VersionId> inputs() const;
  /// The input of that name, if there is one: the first version, where layers work on it in place.
  VersionId find_input(const std::string& blob) const;
  /// Samples per batch: dim 0 of the first source's first top (1 without sources).
  int64_t batch() const;
  /// The parameters of one layer in order (shared ones included); empty for an unknown name.
  std::vector<ParamPtr> layer_params(const std::string& layer) const;
};

/// Adds layer name and place to an error from `node`'s layer and throws it on.
[[noreturn]] void rethrow_at(Error error, const std::string& layer, const LayerSource& where);

}  // namespace robusta
