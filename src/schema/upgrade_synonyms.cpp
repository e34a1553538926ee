// What forks say by fields of their own, and BVLC's Caffe by a field or a type that it has.

#include <string>

#include "base/str.h"
#include "robusta/error.h"
#include "schema/source.h"
#include "schema/upgrade_steps.h"

namespace robusta {
namespace {

constexpr const char* kDilation = "convolution_param.dilation";

/// `hole` of DeepLab's Caffe, and dilation_h and dilation_w of yjxiong's: both say how far the taps are apart.
bool name_dilation(caffe::LayerParameter* layer, LayerSource* source) {
  if (!layer->has_convolution_param()) return false;
  caffe::ConvolutionParameter* p = layer->mutable_convolution_param();
  const bool holes = p->has_hole() || p->has_hole_h() || p->has_hole_w();
  if (!holes && !p->has_dilation_h() && !p->has_dilation_w()) return false;
  for (const char* name : {"hole", "hole_h", "hole_w", "dilation_h", "dilation_w"}) {
    move_line(source, str("convolution_param.", name), kDilation);
  }
  if (p->dilation_size() > 0) {
    throw Error(ErrorKind::kConfig,
                str(holes ? "hole" : "dilation_h or dilation_w", " is given together with dilation"),
                "give dilation alone")
        .at(source->where(kDilation))
        .in_layer(layer->name())
        .in_field(kDilation);
  }
  const uint32_t otherwise = holes ? p->hole() : 1;
  const uint32_t h = p->has_hole_h() ? p->hole_h() : p->has_dilation_h() ? p->dilation_h() : otherwise;
  const uint32_t w = p->has_hole_w() ? p->hole_w() : p->has_dilation_w() ? p->dilation_w() : otherwise;
  p->add_dilation(h);
  if (w != h) p->add_dilation(w);
  p->clear_hole();
  p->clear_hole_h();
  p->clear_hole_w();
  p->clear_dilation_h();
  p->clear_dilation_w();
  return true;
}

/// Synopsys's Caffe clips a ReLU at 6 by a field.
bool name_relu6(caffe::LayerParameter* layer, LayerSource* source) {
  if (layer->type() != "ReLU" || !layer->relu_param().relu6()) return false;
  if (layer->relu_param().negative_slope() != 0) {
    throw Error(ErrorKind::kUnsupported, "a ReLU with relu6 has a negative_slope", "remove one of the two")
        .at(source->where("relu_param.relu6"))
        .in_layer(layer->name())
        .in_field("relu_param.relu6");
  }
  layer->set_type("ReLU6");
  layer->clear_relu_param();
  return true;
}

}  // namespace

void upgrade_synonyms(NetDef* net, UpgradeNotes* notes) {
  bool dilation = false, relu6 = false;
  for (int i = 0; i < net->param.layer_size(); ++i) {
    caffe::LayerParameter* layer = net->param.mutable_layer(i);
    dilation |= name_dilation(layer, &net->source_of(i));
    relu6 |= name_relu6(layer, &net->source_of(i));
  }
  if (dilation) notes->done.emplace_back("wrote hole, dilation_h and dilation_w of convolutions as dilation");
  if (relu6) notes->done.emplace_back("gave ReLU layers with relu6 their type ReLU6");
}

}  // namespace robusta
