// Forms of layers that readers do not take; the tables of rule_types.cpp say which reader.

#include "exchange/deploy/rule_forms.h"

#include <algorithm>

#include "layers/kit/windows.h"

namespace robusta::deploy {

bool is_over_other_than_channels(const DeployNet& net, int layer) {
  return net.param(layer).convolution_param().axis() != 1;
}

bool is_no_image(const DeployNet& net, int layer) { return net.shapes(layer).bottoms[0].axes() != 4; }

bool is_of_volumes(const DeployNet& net, int layer) { return net.shapes(layer).bottoms[0].axes() > 4; }

bool has_several_bottoms(const DeployNet& net, int layer) { return net.param(layer).bottom_size() > 1; }
bool has_several_tops(const DeployNet& net, int layer) { return net.param(layer).top_size() > 1; }

bool is_of_other_axes(const DeployNet& net, int layer) {
  const caffe::ScaleParameter& p = net.param(layer).scale_param();
  const int from_the_end = 1 - net.shapes(layer).bottoms[0].axes();
  return (p.axis() != 1 && p.axis() != from_the_end) || p.num_axes() != 1;
}

bool is_learned_along_other_axes(const DeployNet& net, int layer) {
  return !has_several_bottoms(net, layer) && is_of_other_axes(net, layer);
}

bool is_across_channels(const DeployNet& net, int layer) { return net.param(layer).mvn_param().across_channels(); }

bool is_stochastic(const DeployNet& net, int layer) {
  return net.param(layer).pooling_param().pool() == caffe::PoolingParameter::STOCHASTIC;
}

bool leaves_gaps(const DeployNet& net, int layer) {
  const caffe::PoolingParameter& p = net.param(layer).pooling_param();
  if (p.global_pooling()) return false;
  const std::vector<WindowAxis> axes = read_windows(p, net.shapes(layer).bottoms[0]);
  return std::any_of(axes.begin(), axes.end(), [](const WindowAxis& axis) { return axis.stride > axis.extent(); });
}

/// Along both axes.
bool moves_by_single_pixels(const DeployNet& net, int layer) {
  const std::vector<WindowAxis> axes = read_windows(net.param(layer).convolution_param(), size_t{2});
  return std::all_of(axes.begin(), axes.end(), [](const WindowAxis& axis) { return axis.stride == 1; });
}

/// Of a Deconvolution: neither one group, nor one for each channel of both sides.
bool has_groups_of_several(const DeployNet& net, int layer) {
  const caffe::ConvolutionParameter& p = net.param(layer).convolution_param();
  return p.group() != 1 && (p.group() != p.num_output() || p.group() != net.shapes(layer).bottoms[0][1]);
}

bool has_a_static_input(const DeployNet& net, int layer) { return net.param(layer).bottom_size() == 3; }

bool is_other_than_one_place(const DeployNet& net, int layer) {
  const caffe::ArgMaxParameter& p = net.param(layer).argmax_param();
  return !p.has_axis() || p.top_k() != 1 || p.out_max_val();
}

bool is_within_channels(const DeployNet& net, int layer) {
  return net.param(layer).lrn_param().norm_region() == caffe::LRNParameter::WITHIN_CHANNEL;
}

bool is_constant(const DeployNet& net, int layer) { return net.param(layer).power_param().scale() == 0; }

bool multiplies_the_samples(const DeployNet& net, int layer) {
  const int axis = net.param(layer).inner_product_param().axis();
  return axis == 0 || axis == -net.shapes(layer).bottoms[0].axes();
}

/// Rows of a matrix are multiplied one by one.
bool multiplies_other_than_rows(const DeployNet& net, int layer) {
  const int axis = net.param(layer).inner_product_param().axis();
  return axis != 1 && !(axis == 2 && net.shapes(layer).bottoms[0].axes() == 3);
}

/// Of two bottoms.
bool is_by_other_than_channels(const DeployNet& net, int layer) {
  if (!has_several_bottoms(net, layer)) return false;
  const std::vector<Shape>& bottoms = net.shapes(layer).bottoms;
  return bottoms[0].axes() < 2 || bottoms[1] != Shape{bottoms[0][0], bottoms[0][1]};
}

/// Of two bottoms, the second with fewer axes, which are counted from another than the first.
bool is_multiplied_from_a_later_axis(const DeployNet& net, int layer) {
  if (!has_several_bottoms(net, layer)) return false;
  const std::vector<Shape>& bottoms = net.shapes(layer).bottoms;
  const int axis = net.param(layer).scale_param().axis();
  return bottoms[1].axes() > 0 && axis != 0 && axis != -bottoms[0].axes();
}

bool has_other_than_two_or_four_axes(const DeployNet& net, int layer) {
  const int axes = net.shapes(layer).bottoms[0].axes();
  return axes != 2 && axes != 4;
}

bool works_along_the_samples(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  const int axis = param.type() == "Concat"    ? param.concat_param().axis()
                   : param.type() == "Slice"   ? param.slice_param().axis()
                   : param.type() == "Softmax" ? param.softmax_param().axis()
                                               : param.crop_param().axis();
  return axis == 0 || axis == -net.shapes(layer).bottoms[0].axes();
}

bool changes_the_samples(const DeployNet& net, int layer) {
  const LayerShapes& shapes = net.shapes(layer);
  return shapes.tops[0].axes() == 0 || shapes.bottoms[0].axes() == 0 || shapes.tops[0][0] != shapes.bottoms[0][0];
}

bool has_other_than_two_to_four_axes(const DeployNet& net, int layer) {
  const int axes = net.shapes(layer).tops[0].axes();
  return axes < 2 || axes > 4;
}

bool moves_the_samples(const DeployNet& net, int layer) {
  const caffe::PermuteParameter& p = net.param(layer).permute_param();
  return p.order_size() > 0 && p.order(0) != 0;
}

bool has_no_samples(const DeployNet& net, int layer) { return net.shapes(layer).tops[0].axes() < 2; }

/// Caffe leaves out a last window that would begin in the padding.
bool leaves_out_a_window(const DeployNet& net, int layer) {
  const LayerShapes& shapes = net.shapes(layer);
  if (net.param(layer).pooling_param().global_pooling()) return false;
  const std::vector<WindowAxis> axes = read_windows(net.param(layer).pooling_param(), shapes.bottoms[0]);
  for (size_t a = 0; a < axes.size(); ++a) {
    const int64_t steps = axes[a].padded_in() - axes[a].extent();
    const int64_t all = (steps + axes[a].stride - 1) / axes[a].stride + 1;
    if (shapes.tops[0][static_cast<int>(a) + 2] < all) return true;
  }
  return false;
}

}  // namespace robusta::deploy
