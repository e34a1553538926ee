// Crops, whose extents are those of another blob.

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "exchange/deploy/rule_layers.h"

namespace robusta::deploy {
namespace {

/// Pixels [begin, begin + count) of `size` along an axis.
struct Span {
  int axis;
  int64_t begin, count, size;
};

int first_cropped_axis(const caffe::CropParameter& p, int axes) { return p.axis() < 0 ? p.axis() + axes : p.axis(); }

/// What a Crop leaves along the axes of which it takes something away.
std::vector<Span> spans_of(const DeployNet& net, int layer) {
  const LayerShapes& shapes = net.shapes(layer);
  const caffe::CropParameter& p = net.param(layer).crop_param();
  const int axes = shapes.bottoms[0].axes(), first = first_cropped_axis(p, axes);
  std::vector<Span> spans;
  for (int axis = first; axis < axes; ++axis) {
    const int place = p.offset_size() > 1 ? axis - first : 0;
    const int64_t begin = p.offset_size() > 0 ? p.offset(place) : 0;
    const Span span{axis, begin, shapes.tops[0][axis], shapes.bottoms[0][axis]};
    if (span.count != span.size) spans.push_back(span);
  }
  return spans;
}

/// A Slice in the layer's place, with the wanted part as its top and a Silence behind it that takes the others.
void make_slice(DeployNet& net, int layer, const Span& span) {
  caffe::LayerParameter& param = net.param(layer);
  const std::string name = param.name(), wanted = param.top(0);
  param.set_type("Slice");
  param.clear_top();
  caffe::SliceParameter* p = param.mutable_slice_param();
  p->set_axis(span.axis);
  caffe::LayerParameter silence;
  silence.set_type("Silence");
  silence.set_name(net.free_name(str(name, "_rest")));
  const auto cut_at = [&](int64_t point) { p->add_slice_point(static_cast<uint32_t>(point)); };
  const auto add_rest = [&](const char* suffix) {
    silence.add_bottom(net.new_blob(net.free_name(str(name, suffix))));
    param.add_top(silence.bottom(silence.bottom_size() - 1));
  };
  if (span.begin > 0) cut_at(span.begin), add_rest("_before");
  param.add_top(wanted);
  if (span.begin + span.count < span.size) cut_at(span.begin + span.count), add_rest("_behind");
  net.change();
  net.insert(layer + 1, std::move(silence), LayerSource(net.at(layer).source));
}

}  // namespace

std::optional<Finding> check_crop_offset(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  if (param.type() != "Crop" || param.crop_param().offset_size() > 0) return std::nullopt;
  return Finding{"a Crop without offset is not understood", "crop_param"};
}

void mend_crop_offset(DeployNet& net, int layer) {
  net.param(layer).mutable_crop_param()->add_offset(0);
  net.change();
}

/// ncnn makes all axes but the first as long as the other blob's, and not those from `axis` on alone.
std::optional<Finding> check_crop_input(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  if (param.type() != "Crop" || param.bottom_size() < 2) return std::nullopt;
  const int producer = net.producer(param.bottom(1));
  if (producer >= 0 && net.param(producer).type() == "Input") return std::nullopt;
  return Finding{"a Crop to the size of what the net computes takes other pixels", "crop_param"};
}

std::optional<Finding> check_crop_slices(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "Crop") return std::nullopt;
  const std::vector<Shape>& bottoms = net.shapes(layer).bottoms;
  const int first = first_cropped_axis(net.param(layer).crop_param(), bottoms[0].axes());
  for (int axis = 1; axis < first; ++axis) {
    if (axis >= bottoms[1].axes() || bottoms[0][axis] != bottoms[1][axis]) {
      return Finding{str("a Crop is taken to crop axis ", axis, ", too"), "crop_param.axis"};
    }
  }
  return std::nullopt;
}

void mend_crop_slices(DeployNet& net, int layer) {
  const std::vector<Span> spans = spans_of(net, layer);
  caffe::LayerParameter& param = net.param(layer);
  param.clear_crop_param();
  param.mutable_bottom()->RemoveLast();
  net.change();
  if (spans.empty()) {
    param.set_type("Power");  // the identity
    return;
  }
  // The last one first, since layers are put before others.
  make_slice(net, layer, spans.back());
  for (size_t at = spans.size() - 1; at > 0; --at) {
    caffe::LayerParameter empty;
    net.put_before(layer, 0, empty, str("_", at));
    make_slice(net, layer, spans[at - 1]);
  }
}

}  // namespace robusta::deploy
