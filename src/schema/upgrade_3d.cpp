// Layers over time and space have types of their own in two forks, and here they are layers over three spatial axes.
//
// From facebook/C3D: C3D-v1.0 with the fields in convolution_param and pooling_param, C3D-v1.1 in convolution3d_param
// and pooling3d_param (src/caffe/layers/convolution3d_layer.cpp, deconvolution3d_layer.cpp, pool3d_layer.cpp of both).
// kernel_size, stride and pad are those of height and width; filter_group changes no result. And from
// foss-for-synopsys-dwc-arc-processors/synopsys-caffe (src/caffe/layers/pooling3d_layer.cpp), which has no
// kernel_depth.

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/str.h"
#include "robusta/error.h"
#include "schema/reflect.h"
#include "schema/source.h"
#include "schema/upgrade_steps.h"

namespace robusta {
namespace {

using google::protobuf::Message;

/// What is said of a window along depth, height and width.
struct Window3d {
  std::array<uint32_t, 3> kernel, stride, pad;
};

/// A layer that is being rewritten, and where its fields were written.
struct Rewritten {
  caffe::LayerParameter* layer;
  LayerSource* source;
  std::string message;  ///< that it was given in

  [[noreturn]] void refuse(ErrorKind kind, const std::string& field, const std::string& cause,
                           const std::string& fix) const {
    const std::string path = message + "." + field;
    throw Error(kind, cause, fix).at(source->where(path)).in_layer(layer->name()).in_field(path);
  }
  void move(const std::string& from, const std::string& to) const { move_line(source, message + "." + from, to); }
};

/// Refuses what else `message` says than the fields in `known`.
void refuse_others(const Rewritten& at, const Message& message, std::initializer_list<std::string_view> known) {
  std::vector<const FieldDescriptor*> given;
  message.GetReflection()->ListFields(message, &given);
  for (const FieldDescriptor* field : given) {
    if (std::find(known.begin(), known.end(), field->name()) != known.end() || says_default(message, field)) continue;
    at.refuse(ErrorKind::kUnsupported, field->name(), str(at.layer->type(), " has no ", field->name()),
              "write the layer without the ending 3D, with a number for each axis");
  }
}

/// One number where convolution_param may have many.
uint32_t only(const Rewritten& at, const char* field, const google::protobuf::RepeatedField<uint32_t>& values,
              uint32_t otherwise) {
  if (values.size() > 1) {
    at.refuse(ErrorKind::kConfig, field, str(field, " is given ", values.size(), " times"),
              "give it once, for height and width; depth has fields of its own");
  }
  return values.empty() ? otherwise : values[0];
}
uint32_t only(const Rewritten&, const char*, uint32_t value, uint32_t) { return value; }

/// The window of a convolution of C3D, of either version.
template <typename Param>
Window3d window_of_convolution(const Rewritten& at, const Param& p) {
  const uint32_t kernel = only(at, "kernel_size", p.kernel_size(), 0), stride = only(at, "stride", p.stride(), 1),
                 pad = only(at, "pad", p.pad(), 0);
  if (!p.has_kernel_depth()) {
    at.refuse(ErrorKind::kConfig, "kernel_depth", "no kernel_depth is given", "give the window's extent in time");
  }
  return {{p.kernel_depth(), kernel, kernel}, {p.temporal_stride(), stride, stride}, {p.temporal_pad(), pad, pad}};
}

template <typename Param>
void set_convolution(const Rewritten& at, const Param& from, caffe::ConvolutionParameter* to) {
  refuse_others(at, from,
                {"num_output", "bias_term", "kernel_size", "stride", "pad", "weight_filler", "bias_filler",
                 "kernel_depth", "temporal_stride", "temporal_pad", "filter_group", "engine"});
  const Window3d window = window_of_convolution(at, from);
  if (from.has_num_output()) to->set_num_output(from.num_output());
  if (from.has_bias_term()) to->set_bias_term(from.bias_term());
  if (from.has_weight_filler()) *to->mutable_weight_filler() = from.weight_filler();
  if (from.has_bias_filler()) *to->mutable_bias_filler() = from.bias_filler();
  for (size_t axis = 0; axis < 3; ++axis) {
    to->add_kernel_size(window.kernel[axis]);
    to->add_stride(window.stride[axis]);
    to->add_pad(window.pad[axis]);
  }
  at.move("kernel_size", "convolution_param.kernel_size");
  at.move("kernel_depth", "convolution_param.kernel_size");
  at.move("num_output", "convolution_param.num_output");
}

bool name_convolution(caffe::LayerParameter* layer, LayerSource* source) {
  if (layer->type() != "Convolution3D" && layer->type() != "Deconvolution3D") return false;
  const bool new_form = layer->has_convolution3d_param();
  const Rewritten at{layer, source, new_form ? "convolution3d_param" : "convolution_param"};
  caffe::ConvolutionParameter plain;
  if (new_form)
    set_convolution(at, layer->convolution3d_param(), &plain);
  else
    set_convolution(at, layer->convolution_param(), &plain);
  *layer->mutable_convolution_param() = plain;
  layer->clear_convolution3d_param();
  layer->set_type(layer->type() == "Convolution3D" ? "Convolution" : "Deconvolution");
  return true;
}

void add_3d(const Window3d& window, caffe::PoolingParameter* to) {
  for (const uint32_t kernel : window.kernel) to->add_kernel_size_3d(kernel);
  for (const uint32_t stride : window.stride) to->add_stride_3d(stride);
  for (const uint32_t pad : window.pad) to->add_pad_3d(pad);
}

/// C3D's, of either version: kernel_depth is given.
template <typename Param>
Window3d window_of_pooling(const Param& p, uint32_t temporal_pad) {
  return {{p.kernel_depth(), p.kernel_size(), p.kernel_size()},
          {p.temporal_stride(), p.stride(), p.stride()},
          {temporal_pad, p.pad(), p.pad()}};
}

/// Synopsys'.
Window3d window_of_synopsys(const Rewritten& at, const caffe::Pooling3DParameter& p) {
  if (p.pad_d0() != p.pad_d1() || p.pad_h0() != p.pad_h1() || p.pad_w0() != p.pad_w1()) {
    const char* field = p.pad_d0() != p.pad_d1() ? "pad_d1" : p.pad_h0() != p.pad_h1() ? "pad_h1" : "pad_w1";
    at.refuse(ErrorKind::kUnsupported, field, "padding that differs at the ends of an axis is not done by this build",
              "put a Pad layer before it");
  }
  Window3d window{{p.kernel_size(), p.kernel_size(), p.kernel_size()},
                  {p.stride(), p.stride(), p.stride()},
                  {p.pad(), p.pad(), p.pad()}};
  if (!p.has_kernel_size()) window.kernel = {p.kernel_d(), p.kernel_h(), p.kernel_w()};
  if (!p.has_stride() && (p.has_stride_d() || p.has_stride_h() || p.has_stride_w()))
    window.stride = {p.stride_d(), p.stride_h(), p.stride_w()};
  if (!p.has_pad()) window.pad = {p.pad_d0(), p.pad_h0(), p.pad_w0()};
  return window;
}

caffe::PoolingParameter::PoolMethod method_of(caffe::Pooling3DParameter::PoolMethod method) {
  switch (method) {
    case caffe::Pooling3DParameter::AVE:
      return caffe::PoolingParameter::AVE;
    case caffe::Pooling3DParameter::STOCHASTIC:
      return caffe::PoolingParameter::STOCHASTIC;
    case caffe::Pooling3DParameter::AVE_EXC_PAD:
      return caffe::PoolingParameter::AVE_EXC_PAD;
    default:
      return caffe::PoolingParameter::MAX;
  }
}

void set_pooling(const Rewritten& at, const caffe::Pooling3DParameter& from, caffe::PoolingParameter* to) {
  if (from.has_pool()) to->set_pool(method_of(from.pool()));
  if (from.has_kernel_depth()) {
    refuse_others(at, from, {"pool", "kernel_size", "kernel_depth", "stride", "temporal_stride", "pad"});
    return add_3d(window_of_pooling(from, 0), to);
  }
  if (!from.ceil_mode()) to->set_round_mode(caffe::PoolingParameter::FLOOR);
  Window3d window = window_of_synopsys(at, from);
  if (!from.global_pooling()) return add_3d(window, to);
  to->set_global_pooling(true);
  add_3d(window, to);
  to->clear_kernel_size_3d();
}

void set_pooling(const Rewritten& at, const caffe::PoolingParameter& from, caffe::PoolingParameter* to) {
  refuse_others(at, from,
                {"pool", "kernel_size", "kernel_depth", "stride", "temporal_stride", "pad", "temporal_pad", "engine"});
  if (!from.has_kernel_depth()) {
    at.refuse(ErrorKind::kConfig, "kernel_depth", "no kernel_depth is given", "give the window's extent in time");
  }
  if (from.has_pool()) to->set_pool(from.pool());
  add_3d(window_of_pooling(from, from.temporal_pad()), to);
}

bool name_pooling(caffe::LayerParameter* layer, LayerSource* source) {
  if (layer->type() != "Pooling3D") return false;
  const bool new_form = layer->has_pooling3d_param();
  const Rewritten at{layer, source, new_form ? "pooling3d_param" : "pooling_param"};
  caffe::PoolingParameter plain;
  if (new_form)
    set_pooling(at, layer->pooling3d_param(), &plain);
  else
    set_pooling(at, layer->pooling_param(), &plain);
  for (const char* field : {"kernel_size", "kernel_depth"}) at.move(field, "pooling_param.kernel_size_3d");
  at.move("stride", "pooling_param.stride_3d");
  at.move("pad", "pooling_param.pad_3d");
  *layer->mutable_pooling_param() = plain;
  layer->clear_pooling3d_param();
  layer->set_type("Pooling");
  return true;
}

}  // namespace

void upgrade_3d(NetDef* net, UpgradeNotes* notes) {
  bool any = false;
  for (int i = 0; i < net->param.layer_size(); ++i) {
    caffe::LayerParameter* layer = net->param.mutable_layer(i);
    any |= name_convolution(layer, &net->source_of(i));
    any |= name_pooling(layer, &net->source_of(i));
  }
  if (any) notes->done.emplace_back("wrote layers over time and space as layers over three axes");
}

}  // namespace robusta
