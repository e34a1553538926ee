/// A net on its way from training to a device: layers with their arrays, which the steps of `caffe deploy` change.
///
/// INVARIANT: static single assignment: every blob is written once, so a layer may be put in, taken out or rewired
/// without a look at what works in place elsewhere. `names` remembers what blobs were called; file_form() brings the
/// names back, and with them the layers in place. Every blob that is read is written by an earlier layer.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "net/net.h"
#include "schema/blob_proto.h"
#include "schema/source.h"

namespace robusta::deploy {

struct DeployLayer {
  caffe::LayerParameter param;  ///< without arrays
  LayerSource source;           ///< of a layer that was put in: of the layer that it belongs to
  std::vector<BlobData> arrays;
};

struct LayerShapes {
  std::vector<Shape> bottoms, tops;
};

/// The net as a file: its definition, the name of each blob there.
struct FileForm {
  caffe::NetParameter net;  ///< without arrays
  std::map<std::string, std::string> names;
};

class DeployNet {
 public:
  std::vector<DeployLayer> layers;
  std::map<std::string, std::string> names;  ///< of a blob: its name in the file
  std::set<std::string> outputs;

  /// REQUIRES: filtered and sound (insert_splits does not throw). Outputs are the blobs that nobody reads.
  static DeployNet of(const NetDef& net);

  int size() const { return static_cast<int>(layers.size()); }
  caffe::LayerParameter& param(int layer) { return at(layer).param; }
  const caffe::LayerParameter& param(int layer) const { return layers[static_cast<size_t>(layer)].param; }
  DeployLayer& at(int layer) { return layers[static_cast<size_t>(layer)]; }

  /// -1: nobody.
  int producer(const std::string& blob) const;
  /// Layers, each as often as it reads the blob.
  std::vector<int> readers(const std::string& blob) const;
  bool is_output(const std::string& blob) const { return outputs.contains(blob); }
  /// Whether the top of layer `from` goes to layer `to` alone, once.
  bool feeds_only(int from, int to) const;

  /// A new blob to be called `wanted` in the file, or that and a number where it is taken.
  std::string new_blob(const std::string& wanted);
  /// `wanted`, or that and a number: no layer has it.
  std::string free_layer_name(const std::string& wanted) const;
  /// `wanted`, or that and a number: no layer and no blob has it. OpenCV refuses a blob that is called like a layer
  /// which does not make it, so what is put in gets such names.
  std::string free_name(const std::string& wanted) const;

  /// Puts `layer` before layer `at`.
  void insert(int at, caffe::LayerParameter layer, const LayerSource& source, std::vector<BlobData> arrays = {});
  void remove(int at);
  /// Whoever reads `from` reads `to`.
  void read_instead(const std::string& from, const std::string& to);
  /// Puts a layer behind top 0 of layer `at`: it takes over the top's name and readers. Where it cannot work in place
  /// it takes over the layer's name, too, if the top is called like the layer or that is a Pooling. Returns its index.
  int append_behind(int at, caffe::LayerParameter layer, const std::string& suffix, std::vector<BlobData> arrays = {});
  /// Puts a layer before bottom `bottom` of layer `at`. Returns the new index of layer `at`.
  int put_before(int at, int bottom, caffe::LayerParameter layer, const std::string& suffix,
                 std::vector<BlobData> arrays = {});

  /// Of a layer; planned again after a change(). Throws what planning a net throws.
  const LayerShapes& shapes(int layer) const;
  /// To be called by whoever changes a layer's fields.
  void change() { shapes_.clear(); }

  /// Every blob under its own name.
  NetDef definition() const;
  FileForm file_form() const;

  std::string title;
  std::string file;
  int64_t batch = 0;  ///< of sources, for shapes(); 0: their own

 private:
  mutable std::vector<LayerShapes> shapes_;
};

/// A net in the phase TEST without backward, whose absent data are synthetic; its log is dropped.
std::unique_ptr<Net> build_net(const NetDef& def, int64_t batch, bool plan_only);

/// The nodes of `net` that stand for the layers of a definition, which may lack the net's Split layers.
std::vector<NodeId> nodes_of(const Net& net, const caffe::NetParameter& definition);

/// Throws `error` with name and line of a layer.
[[noreturn]] void throw_at(Error error, const DeployLayer& layer);

}  // namespace robusta::deploy
