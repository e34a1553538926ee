// From the schemas and the registries of BVLC's, Intel's and NVIDIA's Caffe, and from 1,562 public nets, which name
// layers and fields of further forks.

#include "schema/known_names.h"

#include <algorithm>
#include <iterator>

#include "base/str.h"

namespace robusta {
namespace {

struct Known {
  std::string_view name, whose;
};

constexpr std::string_view kAll = "BVLC, Intel, NVIDIA", kSsd = "Intel, NVIDIA", kIntel = "Intel", kNvidia = "NVIDIA";

constexpr Known kLayers[] = {
    {"AbsVal", kAll},
    {"Accuracy", kAll},
    {"Affinity", "the MALIS forks"},
    {"AnnotatedData", kSsd},
    {"ArgMax", kAll},
    {"AutoCrop", "MergeCrop's fork"},
    {"Axpy", kSsd},
    {"BatchNorm", kAll},
    {"BatchReindex", kAll},
    {"BboxAccuracy", "mscnn"},
    {"Bias", kAll},
    {"BN", "SegNet, PSPNet, caffe-windows"},
    {"BNConv", "single forks"},
    {"BNLL", kAll},
    {"BoxAnnotatorOHEM", kIntel},
    {"BoxData", kIntel},
    {"BoxOutput", "mscnn"},
    {"ChannelScale", "single forks"},
    {"Clip", "BVLC"},
    {"Concat", kAll},
    {"ConnectedComponent", "the MALIS forks"},
    {"ContinuationIndicator", "the CTC forks"},
    {"ContrastiveLoss", kAll},
    {"Convolution", kAll},
    {"Convolution3D", "C3D"},
    {"ConvolutionDepthwise", "the MobileNet forks"},
    {"Crop", kAll},
    {"CtcLoss", "the CTC forks"},
    {"Data", kAll},
    {"DecodeBBox", "mscnn"},
    {"Deconvolution", kAll},
    {"Deconvolution3D", "C3D"},
    {"DenseImageData", "SegNet"},
    {"DepthwiseConvolution", "the MobileNet forks"},
    {"DetectionAccuracy", "mscnn"},
    {"DetectionEvaluate", kSsd},
    {"DetectionLoss", "mscnn"},
    {"DetectionOutput", kSsd},
    {"DetectNetTransformation", kNvidia},
    {"Dropout", kAll},
    {"DummyData", kAll},
    {"Eltwise", kAll},
    {"ELU", kAll},
    {"Embed", kAll},
    {"EuclideanLoss", kAll},
    {"EvalDetection", kIntel},
    {"Exp", kAll},
    {"Filter", kAll},
    {"Flatten", kAll},
    {"HardSwish", "single forks"},
    {"HDF5Data", kAll},
    {"HDF5Output", kAll},
    {"HingeLoss", kAll},
    {"Im2col", kAll},
    {"ImageData", kAll},
    {"ImageGtData", "mscnn"},
    {"ImageLabelmapData", "the holistic edge detection forks"},
    {"ImageSegData", "DeepLab"},
    {"InfogainLoss", kAll},
    {"InnerProduct", kAll},
    {"Input", kAll},
    {"Interp", "DeepLab, PSPNet"},
    {"L1Loss", kNvidia},
    {"L2Norm", "single forks"},
    {"LabelsequenceAccuracy", "the CTC forks"},
    {"Log", kAll},
    {"LRN", kAll},
    {"LSTM", kAll},
    {"LSTMUnit", kAll},
    {"MalisLoss", "the MALIS forks"},
    {"MaskPooling", "MNC"},
    {"MaskResize", "MNC"},
    {"MemoryData", kAll},
    {"MergeCrop", "MergeCrop's fork"},
    {"MnActivation", kIntel},
    {"Mul", "the CTC forks"},
    {"MultiBoxLoss", kSsd},
    {"MultinomialLogisticLoss", kAll},
    {"MultiStageMeanfield", "CRF-RNN"},
    {"MVN", kAll},
    {"Normalize", kSsd},
    {"Pad", "single forks"},
    {"Parameter", "BVLC, Intel"},
    {"Permute", kSsd},
    {"Pooling", kAll},
    {"Pooling3D", "C3D"},
    {"Power", kAll},
    {"PReLU", kAll},
    {"PriorBox", kSsd},
    {"Proposal", "the Faster R-CNN forks"},
    {"ProposalTarget", "mscnn"},
    {"PSROIPooling", kIntel},
    {"Python", kAll},
    {"QuantTruncAbs", "the steganalysis forks"},
    {"Reduction", kAll},
    {"RegionLoss", kIntel},
    {"ReLU", kAll},
    {"ReLU6", "the MobileNet forks"},
    {"Reorg", kIntel},
    {"Reshape", kAll},
    {"ResizeBilinear", "single forks"},
    {"ResizeNearestNeighbor", "single forks"},
    {"RNN", kAll},
    {"ROIPooling", kIntel},
    {"ROIWarping", "MNC"},
    {"Scale", kAll},
    {"ShuffleChannel", "the ShuffleNet forks"},
    {"Sigmoid", kAll},
    {"SigmoidCrossEntropyLoss", kAll},
    {"Silence", kAll},
    {"Slice", kAll},
    {"SmoothL1Loss", kSsd},
    {"SmoothL1LossOHEM", kIntel},
    {"Softmax", kAll},
    {"SoftmaxWithLoss", kAll},
    {"SoftmaxWithLossOHEM", kIntel},
    {"SpatialDropout", kIntel},
    {"Split", kAll},
    {"SPP", kAll},
    {"Squeeze", "single forks"},
    {"Swish", "BVLC, Intel"},
    {"TanH", kAll},
    {"Threshold", kAll},
    {"Tile", kAll},
    {"TRT", kNvidia},
    {"Upsample", "SegNet, MobileNet-YOLO"},
    {"UpsampleDarknet", "single forks"},
    {"VideoData", kSsd},
    {"WindowData", kAll},
    {"YoloDetectionOutput", "MobileNet-YOLO"},
    {"Yolov3", "MobileNet-YOLO"},
    {"Yolov3DetectionOutput", "MobileNet-YOLO"},
};

constexpr Known kOldLayers[] = {
    {"BN", "SegNet"},
    {"CONVOLUTION3D", "C3D"},
    {"DECONVOLUTION3D", "C3D"},
    {"DENSE_IMAGE_DATA", "SegNet"},
    {"IMAGE_SEG_DATA", "DeepLab"},
    {"INTERP", "DeepLab"},
    {"PADDING", "single forks"},
    {"POOLING3D", "C3D"},
    {"UPSAMPLE", "SegNet"},
    {"VIDEO_DATA", "C3D"},
};

constexpr Known kRules[] = {
    {"AdaDelta", kAll}, {"AdaGrad", kAll}, {"Adam", kAll}, {"Nesterov", kAll},
    {"RMSProp", kAll},  {"SAG", kNvidia},  {"SGD", kAll},
};

struct KnownField {
  std::string_view message, name, whose, fix;
};

constexpr std::string_view kRemove = "remove it, if the net means the same without it";

/// Fields that none of the three forks has; theirs are all in the schema.
constexpr KnownField kFields[] = {
    {"PoolingParameter", "ceil_mode", "converters from PyTorch",
     "write round_mode: CEIL for ceil_mode: true, round_mode: FLOOR for ceil_mode: false"},
    {"PoolingParameter", "dilation", "single forks", kRemove},
    {"PoolingParameter", "kernel_depth", "C3D", kRemove},
    {"PoolingParameter", "temporal_stride", "C3D", kRemove},
    {"PoolingParameter", "temporal_pad", "C3D", kRemove},
    {"PoolingParameter", "pad_t", "Synopsys", "write pad_h and pad_w, where the two sides are padded alike"},
    {"PoolingParameter", "pad_b", "Synopsys", "write pad_h and pad_w, where the two sides are padded alike"},
    {"PoolingParameter", "pad_l", "Synopsys", "write pad_h and pad_w, where the two sides are padded alike"},
    {"PoolingParameter", "pad_r", "Synopsys", "write pad_h and pad_w, where the two sides are padded alike"},
    {"ConvolutionParameter", "pad_t", "Synopsys", "write pad_h and pad_w, where the two sides are padded alike"},
    {"ConvolutionParameter", "pad_b", "Synopsys", "write pad_h and pad_w, where the two sides are padded alike"},
    {"ConvolutionParameter", "pad_l", "Synopsys", "write pad_h and pad_w, where the two sides are padded alike"},
    {"ConvolutionParameter", "pad_r", "Synopsys", "write pad_h and pad_w, where the two sides are padded alike"},
    {"ConvolutionParameter", "kernel_depth", "C3D", kRemove},
    {"ConvolutionParameter", "temporal_stride", "C3D", kRemove},
    {"ConvolutionParameter", "temporal_pad", "C3D", kRemove},
    {"ConvolutionParameter", "hole", "DeepLab", "write dilation"},
    {"ConvolutionParameter", "hole_h", "DeepLab", "write dilation"},
    {"ConvolutionParameter", "hole_w", "DeepLab", "write dilation"},
    {"ReLUParameter", "relu6", "Synopsys", kRemove},
    {"LossParameter", "weight_by_label_freqs", "SegNet", kRemove},
    {"LossParameter", "class_weighting", "SegNet", kRemove},
    {"DropoutParameter", "scale_train", "Microsoft's Caffe", "remove scale_train: true, which is what Dropout does"},
    {"SoftmaxParameter", "strict_dim", "DeepLab", kRemove},
    {"LayerParameter", "strict_dim", "DeepLab", kRemove},
    {"EltwiseParameter", "strict_dim", "DeepLab", kRemove},
    {"MemoryDataParameter", "dim", "single forks", "write batch_size, channels, height and width"},
    {"ImageDataParameter", "label_type", "DeepLab", kRemove},
    {"ImageDataParameter", "use_image", "C3D", kRemove},
    {"ImageDataParameter", "new_length", "C3D", kRemove},
    {"ImageDataParameter", "use_temporal_jitter", "C3D", kRemove},
    {"ImageDataParameter", "show_data", "C3D", kRemove},
    {"VideoDataParameter", "source", "yjxiong's Caffe", kRemove},
    {"VideoDataParameter", "batch_size", "yjxiong's Caffe", kRemove},
    {"VideoDataParameter", "new_length", "yjxiong's Caffe", kRemove},
    {"AnnotatedDataParameter", "yolo_data_type", "MobileNet-YOLO", kRemove},
    {"AnnotatedDataParameter", "yolo_data_jitter", "MobileNet-YOLO", kRemove},
    {"DetectionOutputParameter", "theta", "single forks", kRemove},
    {"DetectionOutputParameter", "no_permute", "single forks", kRemove},
    {"NonMaximumSuppressionParameter", "soft_nms", "single forks", kRemove},
    {"NonMaximumSuppressionParameter", "theta", "single forks", kRemove},
    {"LayerParameter", "bn_param", "SegNet, PSPNet, caffe-windows", "write BatchNorm and Scale layers"},
    {"LayerParameter", "interp_param", "DeepLab, PSPNet", kRemove},
    {"LayerParameter", "upsample_param", "SegNet, MobileNet-YOLO", kRemove},
    {"LayerParameter", "dense_image_data_param", "SegNet", kRemove},
    {"LayerParameter", "shuffle_channel_param", "the ShuffleNet forks", kRemove},
    {"LayerParameter", "proposal_param", "the Faster R-CNN forks", kRemove},
    {"LayerParameter", "padding_param", "single forks", kRemove},
    {"LayerParameter", "conv_dw_param", "the MobileNet forks", kRemove},
    {"V1LayerParameter", "bn_param", "SegNet", "write BatchNorm and Scale layers"},
    {"V1LayerParameter", "interp_param", "DeepLab", kRemove},
    {"V1LayerParameter", "upsample_param", "SegNet", kRemove},
    {"V1LayerParameter", "dense_image_data_param", "SegNet", kRemove},
    {"V1LayerParameter", "strict_dim", "DeepLab", kRemove},
};

constexpr KnownField kValues[] = {
    {"", "AVE_EXC_PAD", "Synopsys", "write AVE, which counts the padding, or pad: 0"},
};

template <typename Table>
std::optional<std::string_view> owner(const Table& table, std::string_view name) {
  const auto found =
      std::find_if(std::begin(table), std::end(table), [&](const auto& row) { return row.name == name; });
  if (found == std::end(table)) return std::nullopt;
  return found->whose;
}

}  // namespace

std::optional<std::string_view> who_knows_layer(std::string_view type) { return owner(kLayers, type); }
std::optional<std::string_view> who_knows_old_layer(std::string_view type) { return owner(kOldLayers, type); }
std::optional<std::string_view> who_knows_rule(std::string_view solver_type) { return owner(kRules, solver_type); }

Error not_in_this_build(std::string_view what, std::string_view whose, std::string fix) {
  return Error(ErrorKind::kUnsupported, str(what, " (", whose, ") is not in this build"), std::move(fix));
}

std::optional<Error> refuse_known_field(std::string_view message, std::string_view name) {
  for (const KnownField& field : kFields) {
    if (field.name != name || (!message.empty() && field.message != message)) continue;
    return not_in_this_build(str("field \"", name, "\""), field.whose, std::string(field.fix));
  }
  return std::nullopt;
}

std::optional<Error> refuse_known_value(std::string_view field, std::string_view value) {
  if (field == "type") {
    const std::optional<std::string_view> whose = who_knows_old_layer(value);
    if (whose) return not_in_this_build(str("layer type \"", value, "\""), *whose, "");
  }
  for (const KnownField& known : kValues) {
    if (known.name == value) return not_in_this_build(str("\"", value, "\""), known.whose, std::string(known.fix));
  }
  return std::nullopt;
}

}  // namespace robusta
