// V1 to V2: enumerated types become names, and parallel lists of parameter settings become one entry each.

#include "base/str.h"
#include "schema/reflect.h"
#include "schema/upgrade.h"
#include "schema/upgrade_steps.h"

namespace robusta {

using V1 = caffe::V1LayerParameter;

namespace {

struct TypeName {
  V1::LayerType v1;
  const char* v2;
};

constexpr TypeName kTypeNames[] = {
    {V1::ABSVAL, "AbsVal"},
    {V1::ACCURACY, "Accuracy"},
    {V1::ARGMAX, "ArgMax"},
    {V1::BNLL, "BNLL"},
    {V1::CONCAT, "Concat"},
    {V1::CONTRASTIVE_LOSS, "ContrastiveLoss"},
    {V1::CONVOLUTION, "Convolution"},
    {V1::DATA, "Data"},
    {V1::DECONVOLUTION, "Deconvolution"},
    {V1::DROPOUT, "Dropout"},
    {V1::DUMMY_DATA, "DummyData"},
    {V1::EUCLIDEAN_LOSS, "EuclideanLoss"},
    {V1::ELTWISE, "Eltwise"},
    {V1::EXP, "Exp"},
    {V1::FLATTEN, "Flatten"},
    {V1::HDF5_DATA, "HDF5Data"},
    {V1::HDF5_OUTPUT, "HDF5Output"},
    {V1::HINGE_LOSS, "HingeLoss"},
    {V1::IM2COL, "Im2col"},
    {V1::IMAGE_DATA, "ImageData"},
    {V1::INFOGAIN_LOSS, "InfogainLoss"},
    {V1::INNER_PRODUCT, "InnerProduct"},
    {V1::LRN, "LRN"},
    {V1::MEMORY_DATA, "MemoryData"},
    {V1::MULTINOMIAL_LOGISTIC_LOSS, "MultinomialLogisticLoss"},
    {V1::MVN, "MVN"},
    {V1::POOLING, "Pooling"},
    {V1::POWER, "Power"},
    {V1::RELU, "ReLU"},
    {V1::SIGMOID, "Sigmoid"},
    {V1::SIGMOID_CROSS_ENTROPY_LOSS, "SigmoidCrossEntropyLoss"},
    {V1::SILENCE, "Silence"},
    {V1::SOFTMAX, "Softmax"},
    {V1::SOFTMAX_LOSS, "SoftmaxWithLoss"},
    {V1::SPLIT, "Split"},
    {V1::SLICE, "Slice"},
    {V1::TANH, "TanH"},
    {V1::WINDOW_DATA, "WindowData"},
    {V1::THRESHOLD, "Threshold"},
    {V1::BN, "BN"},
    {V1::UPSAMPLE, "Upsample"},
    {V1::DENSE_IMAGE_DATA, "DenseImageData"},
    {V1::IMAGE_SEG_DATA, "ImageSegData"},
    {V1::SEG_ACCURACY, "SegAccuracy"},
    {V1::INTERP, "Interp"},
    {V1::PADDING, "Padding"},
    {V1::CONVOLUTION3D, "Convolution3D"},
    {V1::POOLING3D, "Pooling3D"},
    {V1::DECONVOLUTION3D, "Deconvolution3D"},
    {V1::VIDEO_DATA, "VideoData"},
    {V1::CROP, "AutoCrop"},
    {V1::BATCH_NORM, "BatchNorm"},
    {V1::NORMALIZE, "Normalize"},
    {V1::ROIPOOLING, "ROIPooling"},
    {V1::RELU6, "ReLU6"},
    {V1::MAT_WRITE, "MatWrite"},
};

}  // namespace

std::string v2_type_name(V1::LayerType type) {
  for (const TypeName& row : kTypeNames)
    if (row.v1 == type) return row.v2;
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
  notes->done.emplace_back("upgraded `layers` (V1) to `layer`");
}

}  // namespace robusta
