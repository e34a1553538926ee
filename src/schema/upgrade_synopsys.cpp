// Layers of foss-for-synopsys-dwc-arc-processors/synopsys-caffe that are others of ours, or a few of them.
//
// Depth to space, as src/caffe/layers/depth_to_space_layer.cpp and reshape_layer.cpp (`pixelshuffler`, which Intel's
// schema has, too) have it, is Reorg with `reverse`.
//
// DetectionOutput (detection_output_layer.cpp) takes the heads of a detector one by one: `nbottom` bottoms of scores,
// as many of codes, and the prior boxes, together or as many again. Where `no_permute` is given codes are as a
// convolution leaves them, [n, boxes * 4, h, w], and scores [n, classes, boxes, h * w]; where not, both have been
// permuted and flattened. What SSD has in front of the layer then is put there. The boxes are the same ones; of equal
// scores another one may come first, since the fork counts them by their kind before it counts them by their place.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "robusta/error.h"
#include "schema/source.h"
#include "schema/upgrade_steps.h"

namespace robusta {
namespace {

void make_reorg(caffe::LayerParameter* layer, LayerSource* source, int32_t block, bool by_channel, const char* field) {
  if (block < 1) {
    throw Error(ErrorKind::kConfig, str(field, " is ", block), "give the height and width of the squares")
        .at(source->where(field))
        .in_layer(layer->name())
        .in_field(field);
  }
  layer->set_type("Reorg");
  layer->mutable_reorg_param()->set_stride(static_cast<uint32_t>(block));
  layer->mutable_reorg_param()->set_reverse(true);
  if (by_channel) layer->mutable_reorg_param()->set_by_channel(true);
  move_line(source, field, "reorg_param.stride");
}

bool name_depth_to_space(caffe::LayerParameter* layer, LayerSource* source) {
  const int32_t shuffled = layer->reshape_param().pixelshuffler();
  if (layer->type() == "Reshape" && shuffled != 1) {
    make_reorg(layer, source, shuffled, true, "reshape_param.pixelshuffler");
    layer->clear_reshape_param();
    return true;
  }
  if (layer->type() != "DepthToSpace") return false;
  const std::string format = layer->depth_to_space_param().data_format();
  if (format != "NCHW" && format != "DCR" && format != "CRD") {
    const char* field = "depth_to_space_param.data_format";
    throw Error(ErrorKind::kUnsupported, str("data_format is ", format, ": channels last"),
                "give NCHW, where axis 1 holds the channels, or CRD for PyTorch's order of them")
        .at(source->where(field))
        .in_layer(layer->name())
        .in_field(field);
  }
  make_reorg(layer, source, layer->depth_to_space_param().block_size(), format == "CRD",
             "depth_to_space_param.block_size");
  layer->clear_depth_to_space_param();
  return true;
}

/// The layers in front of a DetectionOutput, which say where it stands.
class HeadJoiner {
 public:
  HeadJoiner(NetDef* net, int at) : net_(net), at_(at), heads_(param().nbottom()) {}

  /// False: the bottoms are SSD's.
  bool wanted() const {
    const int bottoms = layer().bottom_size();
    return heads_ > 1 && heads_ < bottoms && (bottoms == 2 * heads_ + 1 || bottoms == 3 * heads_);
  }

  /// Returns where the DetectionOutput is now.
  int join() {
    std::vector<std::string> bottoms(layer().bottom().begin(), layer().bottom().end());
    std::vector<std::string> scores, codes;
    for (int head = 0; head < heads_; ++head) {
      scores.push_back(plain(bottoms[static_cast<size_t>(head)], {0, 3, 2, 1}, str("scores", head)));
      codes.push_back(plain(bottoms[static_cast<size_t>(heads_ + head)], {0, 2, 3, 1}, str("codes", head)));
    }
    const std::vector<std::string> priors(bottoms.begin() + 2 * heads_, bottoms.end());
    const std::string joined[] = {concat(codes, 1, "codes"), concat(scores, 1, "scores"),
                                  priors.size() == 1 ? priors[0] : concat(priors, 2, "priors")};
    caffe::LayerParameter* detections = net_->param.mutable_layer(at_);
    detections->clear_bottom();
    for (const std::string& bottom : joined) detections->add_bottom(bottom);
    return at_;
  }

 private:
  const caffe::LayerParameter& layer() const { return net_->param.layer(at_); }
  const caffe::DetectionOutputParameter& param() const { return layer().detection_output_param(); }

  /// The blob of a head as SSD's layer wants it; the blob itself where it is so already.
  std::string plain(const std::string& blob, const std::array<uint32_t, 4>& order, const std::string& what) {
    if (!param().no_permute()) return blob;
    caffe::LayerParameter permute = part_of_layer(*net_, at_, "Permute", {blob}, what + "_permuted");
    for (const uint32_t axis : order) permute.mutable_permute_param()->add_order(axis);
    const std::string permuted = put_in_front(net_, &at_, std::move(permute));
    return put_in_front(net_, &at_, part_of_layer(*net_, at_, "Flatten", {permuted}, what + "_flat"));
  }

  std::string concat(const std::vector<std::string>& blobs, int axis, const std::string& what) {
    caffe::LayerParameter layer = part_of_layer(*net_, at_, "Concat", blobs, what);
    layer.mutable_concat_param()->set_axis(axis);
    return put_in_front(net_, &at_, std::move(layer));
  }

  NetDef* net_;
  int at_;
  int heads_;
};

}  // namespace

void upgrade_synopsys(NetDef* net, UpgradeNotes* notes) {
  bool moved = false, joined = false;
  for (int i = 0; i < net->param.layer_size(); ++i) {
    moved |= name_depth_to_space(net->param.mutable_layer(i), &net->source_of(i));
    if (net->param.layer(i).type() != "DetectionOutput") continue;
    HeadJoiner joiner(net, i);
    if (joiner.wanted()) {
      i = joiner.join();
      joined = true;
    }
    caffe::LayerParameter* layer = net->param.mutable_layer(i);
    if (!layer->has_detection_output_param()) continue;
    layer->mutable_detection_output_param()->clear_no_permute();
    layer->mutable_detection_output_param()->clear_nbottom();
  }
  if (moved) notes->done.emplace_back("wrote depth to space as Reorg with reverse");
  if (joined) notes->done.emplace_back("joined the heads that DetectionOutput layers take one by one");
}

}  // namespace robusta
