// What Intel's program does with BatchNorm's scales and shifts, with a ReLU inside of other layers' parameters, and
// with what belongs to a Concat.
//
// `relu` and `negative_slope` are written by its rewriting of nets (intel/caffe, src/caffe/net.cpp, CompileNet), and by
// hand; its layers for engine MKLDNN append the ReLU to what they compute (mkldnn_convolution_layer.cpp,
// mkldnn_inner_product_layer.cpp, mkldnn_batch_norm_layer.cpp), those for CAFFE and MKL2017 do not look at the fields.

#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "schema/upgrade_steps.h"

namespace robusta {
namespace {

/// The first layer after `at` that reads `blob`; -1 where there is none.
int reader_of(const std::string& blob, const caffe::NetParameter& net, int at) {
  for (int i = at + 1; i < net.layer_size(); ++i) {
    for (const std::string& bottom : net.layer(i).bottom()) {
      if (bottom == blob) return i;
    }
  }
  return -1;
}

/// One scale and one shift per channel, as a BatchNorm layer may have itself.
bool is_pair_per_channel(const caffe::LayerParameter& layer) {
  const caffe::ScaleParameter& p = layer.scale_param();
  return layer.type() == "Scale" && layer.bottom_size() == 1 && p.axis() == 1 && p.num_axes() == 1 && p.bias_term();
}

/// The Scale layer behind a BatchNorm, which Intel's program makes a part of it; -1 where there is none.
int pair_behind(const caffe::NetParameter& net, int at) {
  const caffe::LayerParameter& layer = net.layer(at);
  if (layer.type() != "BatchNorm" || layer.top_size() != 1) return -1;
  const int next = reader_of(layer.top(0), net, at);
  return next >= 0 && is_pair_per_channel(net.layer(next)) ? next : -1;
}

/// A ReLU that a layer has in its parameters.
struct InnerRelu {
  bool wanted = false, heeded = true;  ///< heeded: by the layer's engine
  float slope = 0;
};

/// Takes it out of them.
template <typename Param>
InnerRelu take_relu(Param* p, bool by_default) {
  using Engine = typename Param::Engine;
  InnerRelu relu{.wanted = p->relu()};
  if (p->engine() != Param::DEFAULT) relu.heeded = p->engine() == static_cast<Engine>(Param::MKLDNN);
  if (p->engine() == Param::DEFAULT) relu.heeded = by_default;
  if (relu.wanted) p->clear_relu();
  return relu;
}

template <typename Param>
InnerRelu take_relu_and_slope(Param* p, bool by_default) {
  InnerRelu relu = take_relu(p, by_default);
  if (!relu.wanted) return relu;
  relu.slope = p->negative_slope();
  p->clear_negative_slope();
  return relu;
}

InnerRelu take_relu(caffe::LayerParameter* layer, bool by_default) {
  if (layer->type() == "BatchNorm" && layer->batch_norm_param().relu())
    return take_relu(layer->mutable_batch_norm_param(), by_default);
  if (layer->type() == "InnerProduct" && layer->inner_product_param().relu())
    return take_relu_and_slope(layer->mutable_inner_product_param(), by_default);
  if (layer->convolution_param().relu()) return take_relu_and_slope(layer->mutable_convolution_param(), by_default);
  return {};
}

/// Puts a ReLU in place on each top of the layer at `at`, for the fields of the layer at `owner`.
void put_relus(NetDef* net, int at, int owner, float slope) {
  const caffe::LayerParameter layer = net->param.layer(at);
  const std::string name = net->param.layer(owner).name();
  for (int top = 0; top < layer.top_size(); ++top) {
    caffe::LayerParameter relu;
    relu.set_name(top == 0 ? str(name, "/relu") : str(name, "/relu", top));
    relu.set_type("ReLU");
    relu.add_bottom(layer.top(top));
    relu.add_top(layer.top(top));
    if (slope != 0) relu.mutable_relu_param()->set_negative_slope(slope);
    *relu.mutable_include() = layer.include();
    *relu.mutable_exclude() = layer.exclude();
    insert_layer(net, at + 1 + top, std::move(relu), {net->source_of(owner).file, net->source_of(owner).line, {}});
  }
}

/// `per_fla_fuse` of a Concat along the channels: each bottom is permuted to n x h x w x c and flattened before, as
/// mkldnn_concat_layer.cpp has it. Returns where the Concat is then.
int join_permuted(NetDef* net, int at) {
  const std::vector<std::string> bottoms(net->param.layer(at).bottom().begin(), net->param.layer(at).bottom().end());
  std::vector<std::string> flat;
  for (size_t i = 0; i < bottoms.size(); ++i) {
    caffe::LayerParameter permute = part_of_layer(*net, at, "Permute", {bottoms[i]}, str("permuted", i));
    for (const uint32_t axis : {0, 2, 3, 1}) permute.mutable_permute_param()->add_order(axis);
    const std::string permuted = put_in_front(net, &at, std::move(permute));
    caffe::LayerParameter reshape = part_of_layer(*net, at, "Reshape", {permuted}, str("flat", i));
    for (const int64_t dim : {0, -1, 1, 1}) reshape.mutable_reshape_param()->mutable_shape()->add_dim(dim);
    flat.push_back(put_in_front(net, &at, std::move(reshape)));
  }
  caffe::LayerParameter* concat = net->param.mutable_layer(at);
  concat->mutable_concat_param()->clear_per_fla_fuse();
  for (size_t i = 0; i < flat.size(); ++i) concat->set_bottom(static_cast<int>(i), flat[i]);
  return at;
}

bool along_channels(const caffe::ConcatParameter& p) {
  return p.has_concat_dim() ? p.concat_dim() == 1 : p.axis() == 1;
}

}  // namespace

void upgrade_second_pairs(NetDef* net, UpgradeNotes* notes) {
  bool changed = false;
  for (int i = 0; i < net->param.layer_size(); ++i) {
    caffe::LayerParameter& layer = *net->param.mutable_layer(i);
    const caffe::BatchNormParameter& p = layer.batch_norm_param();
    if (layer.type() != "BatchNorm" || layer.top_size() != 1 || !p.has_filler() || p.has_scale_filler()) continue;
    if (pair_behind(net->param, i) < 0) continue;
    layer.mutable_batch_norm_param()->clear_filler();
    layer.mutable_batch_norm_param()->clear_bias_filler();
    changed = true;
  }
  if (changed) {
    notes->done.emplace_back("left scale and shift of Intel's BatchNorm layers to the Scale layers that follow them");
  }
}

void upgrade_permuting_concats(NetDef* net, UpgradeNotes* notes) {
  bool joined = false;
  for (int i = 0; i < net->param.layer_size(); ++i) {
    const caffe::LayerParameter& layer = net->param.layer(i);
    if (layer.type() != "Concat" || !layer.concat_param().per_fla_fuse()) continue;
    if (!along_channels(layer.concat_param()) || layer.concat_param().engine() == caffe::ConcatParameter::CAFFE)
      continue;
    i = join_permuted(net, i);
    joined = true;
  }
  if (joined) notes->done.emplace_back("made layers of what Concat layers with per_fla_fuse do first");
}

void upgrade_inner_relus(NetDef* net, UpgradeNotes* notes) {
  bool put = false, left = false;
  for (int i = net->param.layer_size() - 1; i >= 0; --i) {
    caffe::LayerParameter* layer = net->param.mutable_layer(i);
    const std::string& engine = layer->engine().empty() ? net->param.engine() : layer->engine();
    const InnerRelu relu = take_relu(layer, !engine.starts_with("CAFFE") && !engine.starts_with("MKL2017"));
    if (!relu.wanted) continue;
    (relu.heeded ? put : left) = true;
    const int pair = pair_behind(net->param, i);
    if (relu.heeded) put_relus(net, pair < 0 ? i : pair, i, relu.slope);
  }
  if (put) notes->done.emplace_back("made layers of the ReLUs inside of other layers' parameters");
  if (left)
    notes->done.emplace_back("left out `relu` of layers whose engine, CAFFE or MKL2017, ignores it in Intel's program");
}

}  // namespace robusta
