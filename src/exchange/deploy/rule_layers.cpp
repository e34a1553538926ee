// Layers as deploy writes them, with no more fields than they need.

#include "exchange/deploy/rule_layers.h"

#include <utility>

namespace robusta::deploy {
namespace {

/// One field for both axes where they agree, else one for each.
template <typename Clear, typename Both, typename Own>
void set_pair(std::pair<int64_t, int64_t> values, int64_t standard, Clear clear, Both both, Own own) {
  clear();
  if (values.first == values.second) {
    if (values.first != standard) both(static_cast<uint32_t>(values.first));
  } else {
    own(static_cast<uint32_t>(values.first), static_cast<uint32_t>(values.second));
  }
}

}  // namespace

caffe::LayerParameter reshape_layer(const std::vector<int64_t>& dims) {
  caffe::LayerParameter layer;
  layer.set_type("Reshape");
  for (const int64_t dim : dims) layer.mutable_reshape_param()->mutable_shape()->add_dim(dim);
  return layer;
}

caffe::LayerParameter power_layer(float scale, float shift) {
  caffe::LayerParameter layer;
  layer.set_type("Power");
  layer.mutable_power_param()->set_scale(scale);
  if (shift != 0) layer.mutable_power_param()->set_shift(shift);
  return layer;
}

void write_windows(const std::vector<WindowAxis>& axes, caffe::ConvolutionParameter* p) {
  set_pair(
      {axes[0].kernel, axes[1].kernel}, 0,  //
      [&] { p->clear_kernel_size(), p->clear_kernel_h(), p->clear_kernel_w(); },
      [&](uint32_t k) { p->add_kernel_size(k); },
      [&](uint32_t h, uint32_t w) { p->set_kernel_h(h), p->set_kernel_w(w); });
  set_pair(
      {axes[0].pad, axes[1].pad}, 0,  //
      [&] { p->clear_pad(), p->clear_pad_h(), p->clear_pad_w(); }, [&](uint32_t k) { p->add_pad(k); },
      [&](uint32_t h, uint32_t w) { p->set_pad_h(h), p->set_pad_w(w); });
  set_pair(
      {axes[0].stride, axes[1].stride}, 1,  //
      [&] { p->clear_stride(), p->clear_stride_h(), p->clear_stride_w(); }, [&](uint32_t k) { p->add_stride(k); },
      [&](uint32_t h, uint32_t w) { p->set_stride_h(h), p->set_stride_w(w); });
  p->clear_dilation();
  if (axes[0].dilation != 1) p->add_dilation(static_cast<uint32_t>(axes[0].dilation));
}

}  // namespace robusta::deploy
