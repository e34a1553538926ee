// From the schemas and the registries of BVLC's, Intel's and NVIDIA's Caffe, and from 1,562 public nets, which name
// layers and fields of further forks.

#include "schema/known_names.h"

#include <algorithm>
#include <iterator>

#include "base/str.h"
#include "schema/known_names_of_forks.h"

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
    {"AutoCrop", "RCF"},
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
    {"ChannelScale", "caffe-windows"},
    {"Clip", "BVLC"},
    {"Concat", kAll},
    {"ConnectedComponent", "the MALIS forks"},
    {"ContinuationIndicator", "the CTC forks"},
    {"ContrastiveLoss", kAll},
    {"Convolution", kAll},
    {"Convolution3D", "C3D"},
    {"ConvolutionDepthWise", "the MobileNet forks"},
    {"ConvolutionDepthwise", "the MobileNet forks, Synopsys"},
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
    {"HardSwish", "Synopsys"},
    {"HDF5Data", kAll},
    {"HDF5Output", kAll},
    {"HingeLoss", kAll},
    {"Im2col", kAll},
    {"ImageData", kAll},
    {"ImageGtData", "mscnn"},
    {"ImageLabelmapData", "HED"},
    {"ImageSegData", "DeepLab, PSPNet"},
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
    {"MergeCrop", "naibaf7's Caffe"},
    {"MnActivation", kIntel},
    {"Mul", "Synopsys, the CTC forks"},
    {"MultiBoxLoss", kSsd},
    {"MultinomialLogisticLoss", kAll},
    {"MultiStageMeanfield", "CRF-RNN"},
    {"MVN", kAll},
    {"Normalize", kSsd},
    {"Pad", "Synopsys"},
    {"Parameter", "BVLC, Intel"},
    {"Permute", kSsd},
    {"Pooling", kAll},
    {"Pooling3D", "C3D, Synopsys"},
    {"Power", kAll},
    {"PReLU", kAll},
    {"PriorBox", kSsd},
    {"Proposal", "caffe-windows, Synopsys"},
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
    {"ResizeBilinear", "Synopsys"},
    {"ResizeNearestNeighbor", "Synopsys"},
    {"RNN", kAll},
    {"ROIPooling", kIntel},
    {"ROIWarping", "MNC"},
    {"Scale", kAll},
    {"ShuffleChannel", "ShuffleNet, Synopsys"},
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
    {"Squeeze", "Synopsys"},
    {"Swish", "BVLC, Intel"},
    {"TanH", kAll},
    {"Threshold", kAll},
    {"Tile", kAll},
    {"TRT", kNvidia},
    {"Upsample", "SegNet, MobileNet-YOLO"},
    {"UpsampleDarknet", "Synopsys"},
    {"VideoData", "Intel, NVIDIA, yjxiong's Caffe, C3D"},
    {"WindowData", kAll},
    {"YoloDetectionOutput", "MobileNet-YOLO"},
    {"Yolov3", "MobileNet-YOLO"},
    {"Yolov3DetectionOutput", "MobileNet-YOLO"},
};

struct WayRound {
  std::string_view type, instead;
};

constexpr std::string_view
    kMeanField =
        "train the scores in front of it with SoftmaxWithLoss; refining them by a mean field is "
        "for a plugin (docs/library.md) or a layer of type Python",
    kDilation = "around a convolution both are its dilation: give it dilation, and leave them out",
    kSelu = "write ELU with alpha: 1.6732632, and Power with scale: 1.0507010 behind it",
    kVoxels = "write the clips and what is true of each voxel as HDF5 files, and read them with HDF5Data",
    kBefore = "make what it computes of the labels before training, and read it with HDF5Data";

/// Of layers that are not built in, by their types and by their old ones.
constexpr WayRound kWaysRound[] = {
    {"Affinity", kBefore},
    {"BatchToSpaceND", kDilation},
    {"ConnectedComponent", kBefore},
    {"DenseCRF", kMeanField},
    {"DENSE_CRF", kMeanField},
    {"MULTI_STAGE_MEANFIELD", kMeanField},
    {"MultiStageMeanfield", kMeanField},
    {"SeLU", kSelu},
    {"SeLu", kSelu},
    {"SpaceToBatchND", kDilation},
    {"Transpose", "write Permute, whose order is what dim is here"},
    {"VIDEO_SEGMENTATION_DATA", kVoxels},
    {"VIDEO_WITH_VOXEL_TRUTH_DATA", kVoxels},
    {"VOLUME_DATA", kVoxels},
    {"VOXEL_SOFTMAX_LOSS", "write SOFTMAX_LOSS, which takes a label for each voxel, too"},
    {"MalisLoss", "examples/malis is it as a plugin: caffe train -plugin libmalis_loss.so"},
    {"MnActivation",
     "Intel's program puts it in by itself, for layers whose model is cut among ranks: take the net that was given to "
     "it, without this layer; here the layers that are cut redistribute their activations themselves"},
    {"SegmentationEvaluate", "score maps of classes with SegAccuracy, or in Python"},
    {"TRT",
     "it runs a trained net in TensorRT: train and test the layers that it stands for, and write them for TensorRT "
     "with "
     "caffe export (ONNX)"},
    {"YoloSeg",
     "its maps come from AnnotatedData's seg_ fields, which are not there either: train the boxes without it, and maps "
     "with ImageSegData and SigmoidCrossEntropyLoss"},
    {"VideoData",
     "make images of the frames with ffmpeg, and read these with an ImageData layer, or, as clips of several frames, "
     "with VideoData from a folder for each film: docs/compatibility.md, \"Films\", has the commands"},
};

constexpr Known kRules[] = {
    {"AdaDelta", kAll}, {"AdaGrad", kAll}, {"Adam", kAll}, {"Nesterov", kAll},
    {"RMSProp", kAll},  {"SAG", kNvidia},  {"SGD", kAll},
};

constexpr std::string_view kRemove = "remove it, if the net means the same without it",
                           kOfALayer = "it is for a layer that is not there, either: leave that out";

/// Whether the field holds what a layer of some type reads.
bool is_of_a_layer(std::string_view message, std::string_view name) {
  return (message == "LayerParameter" || message == "V1LayerParameter") && name.ends_with("_param");
}

template <typename Table>
std::optional<std::string_view> owner(const Table& table, std::string_view name) {
  const auto found =
      std::find_if(std::begin(table), std::end(table), [&](const auto& row) { return row.name == name; });
  if (found == std::end(table)) return std::nullopt;
  return found->whose;
}

}  // namespace

std::optional<std::string_view> who_knows_layer(std::string_view type) {
  const std::optional<std::string_view> whose = owner(kLayers, type);
  return whose ? whose : fork_of_layer(type);
}
std::string way_round_layer(std::string_view type) {
  const auto* found = std::ranges::find(kWaysRound, type, &WayRound::type);
  return found == std::end(kWaysRound) ? "" : std::string(found->instead);
}
std::optional<std::string_view> who_knows_old_layer(std::string_view type) { return fork_of_old_layer(type); }
std::optional<std::string_view> who_knows_rule(std::string_view solver_type) { return owner(kRules, solver_type); }

Error not_in_this_build(std::string_view what, std::string_view whose, std::string fix) {
  return Error(ErrorKind::kUnsupported, str(what, " (", whose, ") is not in this build"), std::move(fix));
}

std::optional<Error> refuse_known_field(std::string_view message, std::string_view name) {
  const std::optional<std::string_view> whose = fork_of_field(message, name);
  if (!whose) return std::nullopt;
  return not_in_this_build(str("field \"", name, "\""), *whose,
                           std::string(is_of_a_layer(message, name) ? kOfALayer : kRemove));
}

std::optional<Error> refuse_known_value(std::string_view field, std::string_view value) {
  const bool type = field == "type";
  const std::optional<std::string_view> whose = type ? who_knows_old_layer(value) : fork_of_value(value);
  if (!whose) return std::nullopt;
  return not_in_this_build(str(type ? "layer type \"" : "\"", value, "\""), *whose, type ? way_round_layer(value) : "");
}

}  // namespace robusta
