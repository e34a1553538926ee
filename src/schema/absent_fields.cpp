// The table, and a walk over what a layer sets. From the schemas that proto/caffe.proto names at each field.

#include "schema/absent_fields.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/str.h"
#include "schema/known_names.h"
#include "schema/reflect.h"

namespace robusta {
namespace {

using google::protobuf::Message;

constexpr std::string_view kSynopsys = "Synopsys", kC3d = "C3D", kDeepLab = "DeepLab", kWindows = "caffe-windows",
                           kYolo = "caffe-yolov2", kOneFork = "single forks of SSD", kMobileNetYolo = "MobileNet-YOLO",
                           kCtc = "the CTC forks";
constexpr std::string_view kLeaveOut = "remove it, if the net means the same without it",
                           kThird =
                               "make it a Convolution3D, Deconvolution3D or Pooling3D, or give a number for each axis",
                           kFilms = "write the frames as images, or the clips as HDF5 files for HDF5Data",
                           kClips = "clips are read by a VideoData layer",
                           kOfFilms = "cameras and files of films are not read: write the frames as images",
                           kManyLabels = "write images and their labels as HDF5 files for HDF5Data",
                           kRegions = "train with RegionLoss",
                           kYoloBoxes =
                               "here DetectionOutput is SSD's: YOLO's boxes are those of YoloDetectionOutput, with "
                               "yolo_detection_output_param",
                           kShares = "ranks share one list; or give each its own, with %# for the rank in its name";

constexpr AbsentField kAbsent[] = {
    {"AnnotatedDataParameter", "difficult_label_warmup", kMobileNetYolo, kLeaveOut},
    {"AnnotatedDataParameter", "seg_resize_height", kMobileNetYolo, kLeaveOut},
    {"AnnotatedDataParameter", "seg_resize_width", kMobileNetYolo, kLeaveOut},
    {"AnnotatedDataParameter", "seg_scales", kMobileNetYolo, kLeaveOut},
    {"AnnotatedDataParameter", "single_class", kMobileNetYolo, kLeaveOut},
    {"CTCLossParameter", "blank_index", kCtc, "write blank_label"},
    {"CTCLossParameter", "ctc_merge_repeated", kCtc, kLeaveOut},
    {"CTCLossParameter", "loss_calculation_t", kCtc, kLeaveOut},
    {"CTCLossParameter", "output_delay", kCtc, kLeaveOut},
    {"CTCLossParameter", "preprocess_collapse_repeated", kCtc, kLeaveOut},
    {"ChannelScaleParameter", "do_backward_feature", kWindows, kLeaveOut},
    {"ChannelScaleParameter", "do_forward", kWindows, kLeaveOut},
    {"ChannelScaleParameter", "global_scale", kWindows, kLeaveOut},
    {"ChannelScaleParameter", "init_global_scale", kWindows, kLeaveOut},
    {"ChannelScaleParameter", "max_global_scale", kWindows, kLeaveOut},
    {"ChannelScaleParameter", "min_global_scale", kWindows, kLeaveOut},
    {"ConvolutionParameter", "filter_group", kC3d, kLeaveOut},
    {"ConvolutionParameter", "kernel_depth", kC3d, kThird},
    {"ConvolutionParameter", "temporal_pad", kC3d, kThird},
    {"ConvolutionParameter", "temporal_stride", kC3d, kThird},
    {"DetectionLossParameter", "class_scale", kYolo, kRegions},
    {"DetectionLossParameter", "constriant", kYolo, kRegions},
    {"DetectionLossParameter", "coord_scale", kYolo, kRegions},
    {"DetectionLossParameter", "noobject_scale", kYolo, kRegions},
    {"DetectionLossParameter", "num_class", kYolo, kRegions},
    {"DetectionLossParameter", "num_object", kYolo, kRegions},
    {"DetectionLossParameter", "object_scale", kYolo, kRegions},
    {"DetectionLossParameter", "side", kYolo, kRegions},
    {"DetectionLossParameter", "sqrt", kYolo, kRegions},
    {"DetectionOutputParameter", "biases", kYolo, kYoloBoxes},
    {"DetectionOutputParameter", "coords", kYolo, kYoloBoxes},
    {"DetectionOutputParameter", "label_map_file", kYolo, kYoloBoxes},
    {"DetectionOutputParameter", "nms_threshold", kYolo, "write nms_param { nms_threshold: ... }"},
    {"DetectionOutputParameter", "num_box", kYolo, kYoloBoxes},
    {"DetectionOutputParameter", "side", kYolo, kYoloBoxes},
    {"DetectionOutputParameter", "theta", kOneFork, kLeaveOut},
    {"ImageDataParameter", "clip_max", kC3d, kFilms},
    {"ImageDataParameter", "clip_min", kC3d, kFilms},
    {"ImageDataParameter", "dataset_share_per_node", "NVIDIA", kShares},
    {"ImageDataParameter", "is_flow", kC3d, kFilms},
    {"ImageDataParameter", "max_labels", kDeepLab, kManyLabels},
    {"ImageDataParameter", "mean_value", kC3d, kClips, "VideoData"},
    {"ImageDataParameter", "new_length", kC3d, kClips, "VideoData"},
    {"ImageDataParameter", "num_truth_channels", kC3d, kFilms},
    {"ImageDataParameter", "sampling_rate", kC3d, kClips, "VideoData"},
    {"ImageDataParameter", "truth_scale", kC3d, kFilms},
    {"ImageDataParameter", "use_byte_input", kC3d, kFilms},
    {"ImageDataParameter", "use_image", kC3d, kClips, "VideoData"},
    {"ImageDataParameter", "use_label", kC3d, kFilms},
    {"ImageDataParameter", "use_temporal_jitter", kC3d, kClips, "VideoData"},
    {"ImageGtDataParameter", "mean_file", "mscnn", "write transform_param { mean_value: ... }"},
    {"ImageGtDataParameter", "mirror", "mscnn", "write transform_param { mirror: true }"},
    {"InterpParameter", "full_zoom_factor", "single forks", "write height and width"},
    {"LabelSpecificAffineParameter", "auto_tune", kWindows, kLeaveOut},
    {"LabelSpecificMarginParameter", "auto_tune", kWindows, kLeaveOut},
    {"NonMaximumSuppressionParameter", "soft_nms", kOneFork, kLeaveOut},
    {"NonMaximumSuppressionParameter", "theta", kOneFork, kLeaveOut},
    {"NormalizeParameter", "fix_gradient", kWindows, kLeaveOut},
    {"PoolingParameter", "kernel_depth", kC3d, kThird},
    {"PoolingParameter", "temporal_pad", kC3d, kThird},
    {"PoolingParameter", "temporal_stride", kC3d, kThird},
    {"ProposalParameter", "anchor_base_size", kSynopsys, "write base_size"},
    {"ProposalParameter", "anchor_ratio", kSynopsys, "write ratio"},
    {"ProposalParameter", "anchor_scale", kSynopsys, "write scale"},
    {"ProposalParameter", "iou_threshold", "Huawei", "write nms_thresh"},
    {"ProposalParameter", "max_rois", kSynopsys, "write post_nms_topn"},
    {"ProposalParameter", "output_actual_rois_num", "Huawei", kLeaveOut},
    {"ProposalParameter", "rpn_min_size", kSynopsys, "write min_size"},
    {"ProposalParameter", "rpn_nms_thresh", kSynopsys, "write nms_thresh"},
    {"ReLUParameter", "relu6", kSynopsys, kLeaveOut},
    {"RegionLossParameter", "class_map", "Intel", "write the classes of the net into the data"},
    {"RegionLossParameter", "softmax_tree", "Intel", "train on classes without a tree"},
    {"ResizeBilinearParameter", "output_depth", kSynopsys, kLeaveOut},
    {"ResizeBilinearParameter", "scale_depth", kSynopsys, kLeaveOut},
    {"ResizeNearestNeighborParameter", "half_pixel_onnx", kSynopsys, kLeaveOut},
    {"VideoDataParameter", "device_id", "Intel, NVIDIA", kOfFilms},
    {"VideoDataParameter", "skip_frames", "Intel, NVIDIA", kOfFilms},
    {"VideoDataParameter", "video_file", "Intel, NVIDIA", kOfFilms},
    {"VideoDataParameter", "video_type", "Intel, NVIDIA", kOfFilms},
    {"Yolov3DetectionOutputParameter", "gaussian_box", kMobileNetYolo, "train and deploy without it"},
    {"Yolov3Parameter", "iou_loss", kMobileNetYolo, "train with MSE"},
    {"Yolov3Parameter", "use_focal_loss", kMobileNetYolo, "train without it"},
};

/// `type`: of the layer that all of it belongs to.
void look_into(const Message& message, const std::string& type, const std::string& prefix, std::vector<Error>& found) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> given;
  reflection->ListFields(message, &given);
  for (const FieldDescriptor* field : given) {
    const std::string path = prefix + field->name();
    const AbsentField* row = find_absent(message.GetDescriptor()->name(), field->name());
    const bool elsewhere = row && (row->but_of.empty() || row->but_of != type);
    if (elsewhere && !says_default(message, field)) {
      found.push_back(not_in_this_build(str("field \"", row->field, "\""), row->whose, std::string(row->fix)));
      found.back().in_field(path);
    }
    if (row || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
    look_into(reflection->GetMessage(message, field), type, path + ".", found);
  }
}

}  // namespace

std::span<const AbsentField> absent_fields() { return kAbsent; }

const AbsentField* find_absent(std::string_view message, std::string_view field) {
  const auto found = std::find_if(std::begin(kAbsent), std::end(kAbsent),
                                  [&](const AbsentField& row) { return row.message == message && row.field == field; });
  return found == std::end(kAbsent) ? nullptr : found;
}

std::vector<Error> absent_fields_in(const caffe::LayerParameter& layer) {
  std::vector<Error> found;
  look_into(layer, layer.type(), "", found);
  return found;
}

}  // namespace robusta
