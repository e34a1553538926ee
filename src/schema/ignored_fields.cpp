// The table, and a walk over what a message sets.

#include "schema/ignored_fields.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "schema/reflect.h"

namespace robusta {
namespace {

using google::protobuf::Message;

constexpr std::string_view kOfCaffe = "Caffe", kOfIntel = "Intel", kOfNvidia = "NVIDIA", kOfBoth = "Intel, NVIDIA",
                           kOfYolo = "MobileNet-YOLO", kOfWindows = "caffe-windows";
constexpr std::string_view kEngine = "kernels are chosen by -kernels", kDnn = "cuDNN's algorithms are timed",
                           kReadThreads = "-data_threads says how many threads read",
                           kSystemCaches = "the operating system caches what is read",
                           kRedistributed = "layers that are cut redistribute their activations themselves",
                           kTransform = "transform_param has it in layers of the new form",
                           kTransformAlone = "the layer reads it in transform_param",
                           kMath = "the GPU's kernels sum in f32",
                           kOneBlock = "gradients are summed by buckets of -ddl",
                           kOfYolo1 = "boxes are those of YOLO v2",
                           kNotWritten = "detections are the layer's top and are not written to files",
                           kNotShown = "detections are not shown", kNoWindows = "no images are shown",
                           kNoCaffe = "no Caffe reads it", kTrainsAlone = "no Caffe changes scores in the TEST phase";

constexpr IgnoredField kIgnored[] = {
    {"AnnotatedDataParameter", "label_map_file", kOfBoth, "records hold labels as numbers"},
    {"BlobProto", "double_diff", kOfCaffe, "gradients in files are not read"},
    {"BlobProto", "raw_diff", kOfNvidia, "gradients in files are not read"},
    {"BlobProto", "raw_diff_type", kOfNvidia, "gradients in files are not read"},
    {"BatchNormParameter", "engine", kOfCaffe, kEngine},
    {"BatchNormParameter", "icnet", "Synopsys", "the planner keeps no more than backward needs"},
    {"BatchNormParameter", "use_weight_bias", kOfIntel, "a Scale layer behind it scales and shifts"},
    {"BatchNormParameter", "bias_term", kOfIntel, "a Scale layer behind it scales and shifts"},
    {"BNParameter", "icnet", "Synopsys", "the planner keeps no more than backward needs"},
    {"BNParameter", "engine", "yjxiong's Caffe", kEngine},
    {"ConcatParameter", "engine", kOfIntel, kEngine},
    {"ConcatParameter", "per_fla_fuse", kOfIntel, "no engine but MKLDNN reads it, and that along channels alone"},
    {"ConvolutionParameter", "engine", kOfCaffe, kEngine},
    {"ConvolutionParameter", "force_nd_im2col", kOfCaffe, "every kernel takes any number of axes it can"},
    {"ConvolutionParameter", "conv_algorithm", kOfIntel, kEngine},
    {"ConvolutionParameter", "coeff", kOfIntel, "it belongs to Intel's fused inference"},
    {"ConvolutionParameter", "negative_slope", kOfIntel, "it belongs to Intel's fused inference"},
    {"ConvolutionParameter", "cudnn_convolution_algo_seeker", kOfNvidia, kDnn},
    {"ConvolutionParameter", "conv_algos_override", kOfNvidia, kDnn},
    {"DataParameter", "force_encoded_color", kOfCaffe, "transform_param.force_color does what it says"},
    {"DataParameter", "cache", kOfNvidia, kSystemCaches},
    {"DataParameter", "precache", kOfNvidia, kSystemCaches},
    {"DataParameter", "threads", kOfNvidia, kReadThreads},
    {"DataParameter", "parser_threads", kOfNvidia, kReadThreads},
    {"DataParameter", "crop_size", kOfCaffe, kTransform},
    {"DataParameter", "mean_file", kOfCaffe, kTransform},
    {"DataParameter", "mirror", kOfCaffe, kTransform},
    {"DataParameter", "rand_skip", kOfCaffe, "training begins with the first record"},
    {"DataParameter", "scale", kOfCaffe, kTransform},
    {"DetectNetAugmentationParameter", "distort_param", kOfNvidia, kNoCaffe},
    {"DetectNetAugmentationParameter", "emit_constraint", kOfNvidia, kNoCaffe},
    {"DetectNetAugmentationParameter", "expand_param", kOfNvidia, kNoCaffe},
    {"DetectNetAugmentationParameter", "noise_param", kOfNvidia, kNoCaffe},
    {"DetectNetAugmentationParameter", "resize_param", kOfNvidia, kNoCaffe},
    {"DetectionOutputParameter", "save_file", kOfBoth, kNotShown},
    {"DetectionOutputParameter", "save_output_param", kOfBoth, kNotWritten},
    {"DetectionOutputParameter", "visualize", kOfBoth, kNotShown},
    {"DetectionOutputParameter", "visualize_threshold", kOfBoth, kNotShown},
    {"DenseImageDataParameter", "crop_height", "SegNet", kTransformAlone},
    {"DenseImageDataParameter", "crop_width", "SegNet", kTransformAlone},
    {"DenseImageDataParameter", "mean_file", "SegNet", kTransformAlone},
    {"DenseImageDataParameter", "mirror", "SegNet", kTransformAlone},
    {"DropoutParameter", "engine", kOfNvidia, kEngine},
    {"EltwiseParameter", "engine", kOfIntel, kEngine},
    {"EvalDetectionParameter", "constriant", kOfIntel, kOfYolo1},
    {"EvalDetectionParameter", "sqrt", kOfIntel, kOfYolo1},
    {"FocalLossParameter", "beta", kOfWindows, kNoCaffe},
    {"ImageDataParameter", "cache", kOfNvidia, kSystemCaches},
    {"ImageDataParameter", "has_label", "DeepLab", "no Caffe reads it: label_type: NONE does what it says"},
    {"ImageDataParameter", "precache", kOfNvidia, kSystemCaches},
    {"ImageDataParameter", "threads", kOfNvidia, kReadThreads},
    {"ImageDataParameter", "crop_size", kOfCaffe, kTransform},
    {"ImageDataParameter", "mean_file", kOfCaffe, kTransform},
    {"ImageDataParameter", "mirror", kOfCaffe, kTransform},
    {"ImageDataParameter", "scale", kOfCaffe, kTransform},
    {"ImageDataParameter", "show_data", "C3D", kNoWindows},
    {"InnerProductParameter", "engine", kOfIntel, kEngine},
    {"InnerProductParameter", "negative_slope", kOfIntel, "it belongs to Intel's fused inference"},
    {"LabelSpecificAddParameter", "transform_test", kOfWindows, kTrainsAlone},
    {"LabelSpecificAffineParameter", "reset", kOfWindows, "it belongs to auto_tune"},
    {"LabelSpecificAffineParameter", "transform_test", kOfWindows, kTrainsAlone},
    {"LabelSpecificMarginParameter", "margin_on_test", kOfWindows, kTrainsAlone},
    {"LabelSpecificMarginParameter", "reset_margin", kOfWindows, kNoCaffe},
    {"LabelSpecificRescaleParameter", "negative_upper_bound", kOfWindows, kNoCaffe},
    {"LabelSpecificRescaleParameter", "positive_lower_bound", kOfWindows, kNoCaffe},
    {"LayerParameter", "cudnn_math_override", kOfNvidia, kMath},
    {"LayerParameter", "debug", kOfNvidia, "debug_info of the solver shows every layer"},
    {"LayerParameter", "forward_math", kOfNvidia, kMath},
    {"LayerParameter", "backward_math", kOfNvidia, kMath},
    {"LayerParameter", "mn_activation_param", kOfIntel, kRedistributed},
    {"LayerParameter", "quantization_param", kOfIntel, "no layer is computed in integers"},
    {"LayerParameter", "spatial_dropout_param", kOfIntel, "no Caffe reads it: SpatialDropout has dropout_param"},
    {"LayerParameter", "split_param", kOfIntel, kEngine},
    {"LRNParameter", "engine", kOfCaffe, kEngine},
    {"NetParameter", "bn_stats_batch_size", kOfIntel, "BatchNorm takes its statistics from the batch"},
    {"NetParameter", "compile_net_state", kOfIntel, "it is written by Intel's own compiler of nets"},
    {"NetParameter", "default_backward_math", kOfNvidia, kMath},
    {"MultiBoxLossParameter", "ignore_difficult_gt", kOfNvidia,
     "no Caffe reads it: use_difficult_gt does what it says"},
    {"NetParameter", "default_conv_algos_override", kOfNvidia, kDnn},
    {"NetParameter", "default_cudnn_math_override", kOfNvidia, kMath},
    {"NetParameter", "default_forward_math", kOfNvidia, kMath},
    {"NetParameter", "eltwise_mem_sharing", kOfNvidia, "the planner shares memory wherever it may (-share_memory)"},
    {"NetParameter", "engine", kOfIntel, kEngine},
    {"NetParameter", "global_grad_scale_adaptive", kOfNvidia, "the scale of f16 gradients always adapts"},
    {"NetParameter", "reduce_buckets", kOfNvidia, kOneBlock},
    {"NormalizeParameter", "bp_norm", "caffe-windows", "it is for a second top, which Normalize does not make"},
    {"PoolingParameter", "engine", kOfCaffe, kEngine},
    {"PoolingParameter", "torch_pooling", kOfNvidia, "no Caffe reads it: round_mode: FLOOR does what it says"},
    {"PythonParameter", "share_in_parallel", kOfCaffe, "each rank has a layer of its own"},
    {"RecurrentParameter", "debug_info", kOfCaffe, "no net is unrolled: debug_info of the solver shows the layer"},
    {"RegionLossParameter", "absolute", kOfIntel, kNoCaffe},
    {"RegionLossParameter", "jitter", kOfIntel, kNoCaffe},
    {"RegionLossParameter", "random", kOfIntel, kNoCaffe},
    {"RegionLossParameter", "side", kOfIntel, "the grid is that of the bottom"},
    {"RegionLossParameter", "softmax", kOfIntel, "scores of classes always go through a softmax"},
    {"ReLUParameter", "engine", kOfCaffe, kEngine},
    {"ReLUParameter", "fuse", kOfIntel, "the planner fuses where it can"},
    {"SegAccuracyParameter", "metric", "DeepLab", "all three shares are given"},
    {"SigmoidParameter", "engine", kOfCaffe, kEngine},
    {"SoftmaxParameter", "engine", kOfCaffe, kEngine},
    {"SolverParameter", "engine", kOfIntel, kEngine},
    {"SolverParameter", "layer_wise_reduce", kOfCaffe, kOneBlock},
    {"SolverParameter", "solver_data_type", kOfNvidia, "weights and histories are always f32"},
    {"SolverParameter", "store_blobs_in_old_format", kOfNvidia,
     "weights are always written as BVLC's Caffe reads them"},
    {"SplitParameter", "engine", kOfIntel, kEngine},
    {"SPPParameter", "engine", kOfCaffe, kEngine},
    {"TanHParameter", "engine", kOfCaffe, kEngine},
    {"TransformationParameter", "display", kOfNvidia, kNoWindows},
    {"TransformationParameter", "num_labels", kOfNvidia, "labels are those of the records"},
    {"TransformationParameter", "use_gpu_transform", kOfNvidia, "a GPU always transforms, with the bits of the host"},
    {"VideoDataParameter", "crop_size", "C3D", kTransformAlone},
    {"VideoDataParameter", "encoded", "yjxiong's Caffe", "frames are read as their files are"},
    {"VideoDataParameter", "mean_file", "C3D", kTransformAlone},
    {"VideoDataParameter", "mirror", "C3D", kTransformAlone},
    {"VideoDataParameter", "scale", "C3D", kTransformAlone},
    {"VideoDataParameter", "show_data", "C3D", kNoWindows},
    {"WindowDataParameter", "crop_size", kOfCaffe, kTransform},
    {"WindowDataParameter", "mean_file", kOfCaffe, kTransform},
    {"WindowDataParameter", "mirror", kOfCaffe, kTransform},
    {"WindowDataParameter", "scale", kOfCaffe, kTransform},
    {"YoloDetectionOutputParameter", "label_map_file", kOfYolo, kNotWritten},
    {"YoloDetectionOutputParameter", "side", kOfYolo, "the grid is that of the bottom"},
    {"Yolov3Parameter", "accumulate", kOfYolo, "it belongs to an iou_loss"},
    {"Yolov3Parameter", "iou_normalizer", kOfYolo, "it belongs to an iou_loss"},
    {"Yolov3Parameter", "max_delta", kOfYolo, "it belongs to an iou_loss"},
    {"Yolov3Parameter", "noobject_scale", kOfYolo, kNoCaffe},
    {"Yolov3Parameter", "side", kOfYolo, "the grid is that of the bottom"},
};

using Found = std::function<void(const IgnoredField&, const std::string& path)>;

/// Calls `found` for each ignored field that `message` sets, at any depth, with its path as FieldLines has it.
void walk(const Message& message, const std::string& prefix, const std::string& except, const Found& found) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->name() == except) continue;
    const std::string path = prefix + field->name();
    if (const IgnoredField* ignored = find_ignored(message.GetDescriptor()->name(), field->name())) {
      if (!says_default(message, field)) found(*ignored, path);
      continue;
    }
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) walk(reflection->GetMessage(message, field), path + ".", "", found);
    for (int i = 0; field->is_repeated() && i < reflection->FieldSize(message, field); ++i) {
      walk(reflection->GetRepeatedMessage(message, field, i), str(path, "[", i, "]."), "", found);
    }
  }
}

void warn(const std::string& where, const IgnoredField& field) {
  LOG_WARNING << where << ": " << field.field << " (" << field.whose << ") changes nothing here: " << field.why;
}

}  // namespace

std::span<const IgnoredField> ignored_fields() { return kIgnored; }

const IgnoredField* find_ignored(std::string_view message, std::string_view field) {
  const auto found = std::find_if(std::begin(kIgnored), std::end(kIgnored), [&](const IgnoredField& row) {
    return row.message == message && row.field == field;
  });
  return found == std::end(kIgnored) ? nullptr : found;
}

void IgnoredFieldWarnings::look_at(const NetDef& net) {
  const auto first = [&](const IgnoredField& field) {
    return warned_.insert(str(net.file, ":", field.message, ".", field.field)).second;
  };
  walk(net.param, "", "layer", [&](const IgnoredField& field, const std::string& path) {
    if (first(field)) warn(net.where(path), field);
  });
  for (int i = 0; i < net.param.layer_size(); ++i) {
    walk(net.param.layer(i), "", "blobs", [&](const IgnoredField& field, const std::string& path) {
      if (first(field)) warn(net.source_of(i).where(path), field);
    });
  }
}

/// Nets inside a solver are looked at as nets.
void IgnoredFieldWarnings::look_at(const SolverDef& solver) {
  caffe::SolverParameter own = solver.param;
  own.clear_net_param();
  own.clear_train_net_param();
  own.clear_test_net_param();
  walk(own, "", "", [&](const IgnoredField& field, const std::string& path) {
    const bool first = warned_.insert(str(solver.file, ":", field.message, ".", field.field)).second;
    if (first) warn(solver.where(path), field);
  });
}

}  // namespace robusta
