/// oneDNN 2 and oneDNN 3 in the same words: what their interfaces say differently is said here, once.
///
/// Debian 12 has oneDNN 2.6, Debian 13 has 3.7. Version 3 made memory descriptors opaque, and gave up descriptors of
/// operations: all that an operation is told goes to its primitive descriptor. The headers that this is compiled with
/// settle which of them it is. What is not named here is the same in both.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layers/backends/onednn/desc.h"

namespace robusta::onednn {

int axes_of(const Desc& desc);
Dims dims_of(const Desc& desc);
dnnl::memory::data_type type_of(const Desc& desc);
/// False where the format is left open (any_desc) or is no order of the elements that numbers could tell.
bool is_blocked(const Desc& desc);

/// How a tensor lies: element i of an axis that is cut into blocks is element i % size of block i / size.
struct Blocking {
  struct Block {
    size_t axis;
    int64_t size;
  };
  Dims dims, padded_dims;
  Dims strides;  ///< of each axis, or of its blocks where it is cut
  int64_t offset = 0;
  std::vector<Block> blocks;  ///< within which elements lie densely: the last is the innermost
};

/// REQUIRES: is_blocked(desc).
Blocking blocking_of(const Desc& desc);

/// What each direction of a convolution is told; gradients lie as what they belong to.
struct ConvolutionRequest {
  dnnl::algorithm algorithm;
  Desc src, weights, bias, dst;  ///< an empty bias is none
  Dims strides, dilates, pads, pads_behind;
  dnnl::primitive_attr attr;
};

/// They throw dnnl::error where oneDNN does not do this. `hint`: the forward pass that a backward one belongs to.
dnnl::convolution_forward::primitive_desc forward_primitive(const ConvolutionRequest& request, dnnl::prop_kind kind);
dnnl::convolution_backward_data::primitive_desc backward_data_primitive(
    const ConvolutionRequest& request, const dnnl::convolution_forward::primitive_desc& hint);
/// The first implementation that is not refused, by its name.
dnnl::convolution_backward_weights::primitive_desc backward_weights_primitive(
    const ConvolutionRequest& request, const dnnl::convolution_forward::primitive_desc& hint,
    const std::function<bool(const std::string&)>& refuse);

/// x becomes x where it is positive, and slope * x elsewhere.
void append_relu(dnnl::post_ops& after, float slope);

}  // namespace robusta::onednn
