// The two generations of oneDNN's interface, one after the other.

#include "layers/backends/onednn/generation.h"

#include <cassert>

namespace robusta::onednn {
namespace {

using Refuse = std::function<bool(const std::string&)>;

dnnl::convolution_backward_weights::primitive_desc first_of(dnnl::convolution_backward_weights::primitive_desc found,
                                                            const Refuse& refuse) {
  while (refuse(found.impl_info_str())) {
    if (!found.next_impl()) throw dnnl::error(dnnl_unimplemented, "there is no other implementation");
  }
  return found;
}

}  // namespace

#if DNNL_VERSION_MAJOR >= 3

int axes_of(const Desc& desc) { return desc.get_ndims(); }
Dims dims_of(const Desc& desc) { return desc.get_dims(); }
dnnl::memory::data_type type_of(const Desc& desc) { return desc.get_data_type(); }
bool is_blocked(const Desc& desc) { return desc.get_format_kind() == dnnl::memory::format_kind::blocked; }

Blocking blocking_of(const Desc& desc) {
  assert(is_blocked(desc));
  Blocking blocking{desc.get_dims(), desc.get_padded_dims(), desc.get_strides(), desc.get_submemory_offset(), {}};
  const Dims axes = desc.get_inner_idxs(), sizes = desc.get_inner_blks();
  for (size_t i = 0; i < axes.size(); ++i) blocking.blocks.push_back({static_cast<size_t>(axes[i]), sizes[i]});
  return blocking;
}

dnnl::convolution_forward::primitive_desc forward_primitive(const ConvolutionRequest& r, dnnl::prop_kind kind) {
  return {engine(), kind,      r.algorithm, r.src,  r.weights,     r.bias,
          r.dst,    r.strides, r.dilates,   r.pads, r.pads_behind, r.attr};
}

dnnl::convolution_backward_data::primitive_desc backward_data_primitive(
    const ConvolutionRequest& r, const dnnl::convolution_forward::primitive_desc& hint) {
  return {engine(), r.algorithm, r.src, r.weights, r.dst, r.strides, r.dilates, r.pads, r.pads_behind, hint, r.attr};
}

dnnl::convolution_backward_weights::primitive_desc backward_weights_primitive(
    const ConvolutionRequest& r, const dnnl::convolution_forward::primitive_desc& hint, const Refuse& refuse) {
  return first_of({engine(), r.algorithm, r.src, r.weights, r.bias, r.dst, r.strides, r.dilates, r.pads, r.pads_behind,
                   hint, r.attr},
                  refuse);
}

void append_relu(dnnl::post_ops& after, float slope) {
  after.append_eltwise(dnnl::algorithm::eltwise_relu, slope, 0.0f);
}

#else

int axes_of(const Desc& desc) { return desc.data.ndims; }
Dims dims_of(const Desc& desc) { return desc.dims(); }
dnnl::memory::data_type type_of(const Desc& desc) { return desc.data_type(); }
bool is_blocked(const Desc& desc) { return desc.data.format_kind == dnnl_blocked; }

Blocking blocking_of(const Desc& desc) {
  assert(is_blocked(desc));
  const dnnl_memory_desc_t& d = desc.data;
  const dnnl_blocking_desc_t& b = d.format_desc.blocking;
  const auto array = [&d](const dnnl_dims_t& values) { return Dims(values, values + d.ndims); };
  Blocking blocking{array(d.dims), array(d.padded_dims), array(b.strides), d.offset0, {}};
  for (int i = 0; i < b.inner_nblks; ++i) {
    blocking.blocks.push_back({static_cast<size_t>(b.inner_idxs[i]), b.inner_blks[i]});
  }
  return blocking;
}

dnnl::convolution_forward::primitive_desc forward_primitive(const ConvolutionRequest& r, dnnl::prop_kind kind) {
  return {{kind, r.algorithm, r.src, r.weights, r.bias, r.dst, r.strides, r.dilates, r.pads, r.pads_behind},
          r.attr,
          engine()};
}

dnnl::convolution_backward_data::primitive_desc backward_data_primitive(
    const ConvolutionRequest& r, const dnnl::convolution_forward::primitive_desc& hint) {
  return {{r.algorithm, r.src, r.weights, r.dst, r.strides, r.dilates, r.pads, r.pads_behind}, r.attr, engine(), hint};
}

dnnl::convolution_backward_weights::primitive_desc backward_weights_primitive(
    const ConvolutionRequest& r, const dnnl::convolution_forward::primitive_desc& hint, const Refuse& refuse) {
  // next_impl() reads it again, where this one lies.
  const dnnl::convolution_backward_weights::desc operation(r.algorithm, r.src, r.weights, r.bias, r.dst, r.strides,
                                                           r.dilates, r.pads, r.pads_behind);
  return first_of({operation, r.attr, engine(), hint}, refuse);
}

void append_relu(dnnl::post_ops& after, float slope) {
  after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, slope, 0.0f);
}

#endif

}  // namespace robusta::onednn
