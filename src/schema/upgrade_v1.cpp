#include "base/str.h"
#include "robusta/error.h"
#include "schema/reflect.h"
#include "schema/upgrade_steps.h"

namespace robusta {

using V1 = caffe::V1LayerParameter;

std::string v2_type_name(V1::LayerType type) {
  switch (type) {
    case V1::NONE: return "";
    case V1::ABSVAL: return "AbsVal";
    case V1::ACCURACY: return "Accuracy";
    case V1::ARGMAX: return "ArgMax";
    case V1::BNLL: return "BNLL";
    case V1::CONCAT: return "Concat";
    case V1::CONTRASTIVE_LOSS: return "ContrastiveLoss";
    case V1::CONVOLUTION: return "Convolution";
    case V1::DATA: return "Data";
    case V1::DECONVOLUTION: return "Deconvolution";
    case V1::DROPOUT: return "Dropout";
    case V1::DUMMY_DATA: return "DummyData";
    case V1::EUCLIDEAN_LOSS: return "EuclideanLoss";
    case V1::ELTWISE: return "Eltwise";
    case V1::EXP: return "Exp";
    case V1::FLATTEN: return "Flatten";
    case V1::HDF5_DATA: return "HDF5Data";
    case V1::HDF5_OUTPUT: return "HDF5Output";
    case V1::HINGE_LOSS: return "HingeLoss";
    case V1::IM2COL: return "Im2col";
    case V1::IMAGE_DATA: return "ImageData";
    case V1::INFOGAIN_LOSS: return "InfogainLoss";
    case V1::INNER_PRODUCT: return "InnerProduct";
    case V1::LRN: return "LRN";
    case V1::MEMORY_DATA: return "MemoryData";
    case V1::MULTINOMIAL_LOGISTIC_LOSS: return "MultinomialLogisticLoss";
    case V1::MVN: return "MVN";
    case V1::POOLING: return "Pooling";
    case V1::POWER: return "Power";
    case V1::RELU: return "ReLU";
    case V1::SIGMOID: return "Sigmoid";
    case V1::SIGMOID_CROSS_ENTROPY_LOSS: return "SigmoidCrossEntropyLoss";
    case V1::SILENCE: return "Silence";
    case V1::SOFTMAX: return "Softmax";
    case V1::SOFTMAX_LOSS: return "SoftmaxWithLoss";
    case V1::SPLIT: return "Split";
    case V1::SLICE: return "Slice";
    case V1::TANH: return "TanH";
    case V1::WINDOW_DATA: return "WindowData";
    case V1::THRESHOLD: return "Threshold";
  }
  return "";
}

namespace {

caffe::ParamSpec* param_at(caffe::LayerParameter* layer, int index) {
  while (layer->param_size() <= index) layer->add_param();
  return layer->mutable_param(index);
}

/// The four lists in parallel become one entry per parameter.
void convert_params(const V1& old, caffe::LayerParameter* layer) {
  for (int i = 0; i < old.param_size(); ++i) param_at(layer, i)->set_name(old.param(i));
  for (int i = 0; i < old.blob_share_mode_size(); ++i)
    param_at(layer, i)->set_share_mode(static_cast<caffe::ParamSpec::DimCheckMode>(old.blob_share_mode(i)));
  for (int i = 0; i < old.blobs_lr_size(); ++i) param_at(layer, i)->set_lr_mult(old.blobs_lr(i));
  for (int i = 0; i < old.weight_decay_size(); ++i) param_at(layer, i)->set_decay_mult(old.weight_decay(i));
}

/// All fields that kept name and type: bottom, top, name, include, exclude, blobs, loss_weight and the messages.
void copy_common_fields(const V1& old, caffe::LayerParameter* layer) {
  const auto* target = layer->GetDescriptor();
  for (int i = 0; i < old.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* from = old.GetDescriptor()->field(i);
    const FieldDescriptor* to = target->FindFieldByName(from->name());
    if (!to || to->cpp_type() != from->cpp_type() || to->message_type() != from->message_type()) continue;
    if (has_field(old, from)) copy_field(old, from, layer, to);
  }
}

}  // namespace

void upgrade_v1(NetDef* net, UpgradeNotes* notes) {
  caffe::NetParameter& param = net->param;
  if (param.layers_size() == 0) return;
  for (const V1& old : param.layers()) {
    caffe::LayerParameter* layer = param.add_layer();
    copy_common_fields(old, layer);
    convert_params(old, layer);
    if (old.has_type()) layer->set_type(v2_type_name(old.type()));
    if (old.has_layer()) notes->dropped.push_back(str("layer \"", old.name(), "\": ignored the nested layer"));
  }
  for (LayerSource& source : net->sources) {
    for (int i = 0; source.fields.contains(str("blobs_lr[", i, "]")); ++i)
      move_line(&source, str("blobs_lr[", i, "]"), str("param[", i, "].lr_mult"));
    for (int i = 0; source.fields.contains(str("weight_decay[", i, "]")); ++i)
      move_line(&source, str("weight_decay[", i, "]"), str("param[", i, "].decay_mult"));
  }
  param.clear_layers();
  notes->done.push_back("upgraded `layers` (V1) to `layer`");
}

}  // namespace robusta
