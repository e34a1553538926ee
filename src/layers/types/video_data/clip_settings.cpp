// Whose fields they are: image_data_param is C3D's first version's, use_image C3D's of both, segments, modality and
// name patterns are yjxiong's; a list without any of these is chuckcho/video-caffe's.

#include "layers/types/video_data/clip_settings.h"

#include <algorithm>

#include "base/str.h"
#include "layers/kit/known_layers.h"
#include "schema/known_names.h"

namespace robusta {
namespace {

using caffe::ImageDataParameter;
using caffe::VideoDataParameter;

constexpr int64_t kMostFrames = 1 << 16;

[[noreturn]] void wrong(const std::string& field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field(field);
}

/// The fields that all forks have.
template <typename Param>
ClipSettings common(const caffe::LayerParameter& layer, const Param& param, const std::string& message) {
  const auto fail = [&](const char* field, const std::string& cause, const std::string& fix) {
    wrong(str(message, ".", field), cause, fix);
  };
  const int64_t height = param.new_height(), width = param.new_width();
  if ((height > 0) != (width > 0))
    fail(height > 0 ? "new_width" : "new_height", "new_height and new_width go together", "set both, or neither");
  if (height > 0 && height > kMostPixels / width)
    fail("new_height", str("frames of ", height, " x ", width, " pixels; at most ", kMostPixels), "make them smaller");
  const int64_t batch = param.has_batch_size() ? param.batch_size() : 1;
  if (batch == 0) fail("batch_size", "batch_size is 0", "set it to 1 or more");
  const int64_t frames = param.has_new_length() ? param.new_length() : 1;
  if (frames == 0 || frames > kMostFrames)
    fail("new_length", str("a clip of ", frames, " frames"), str("give 1 to ", kMostFrames));
  return {.reading = {.source = param.source(),
                      .field = message + ".source",
                      .source_fix = "name a text file of \"folder number label\" lines",
                      .batch = batch,
                      .prefetch = prefetched_batches(layer),
                      .shuffle = param.shuffle(),
                      .skip_below = param.rand_skip()},
          .message = message,
          .root_folder = param.root_folder(),
          .size = {param.is_color() ? 3 : 1, height, width},
          .pattern = {},
          .frames = frames};
}

/// Clips as volumes: C3D (facebook/C3D, src/caffe/util/image_io.cpp, ReadImageSequenceToVolumeDatum) and
/// chuckcho/video-caffe (src/caffe/util/io.cpp, ReadVideoToCVMat).
template <typename Param>
void read_volume(const Param& param, ClipSettings& settings) {
  settings.volumes = true;
  settings.draws_start = param.use_temporal_jitter();
  settings.pattern = param.use_image() || settings.message == "image_data_param" ? "%06d.jpg" : "image_%04d.jpg";
  settings.rate = param.sampling_rate();
  if (settings.rate < 1 || settings.rate > kMostFrames)
    wrong(settings.message + ".sampling_rate", str("it is ", settings.rate), str("give 1 to ", kMostFrames));
}

void read_labels_and_rates(const VideoDataParameter& param, ClipSettings& settings) {
  if (param.use_sampling_rate_jitter()) {
    settings.draws_rate = true;
    settings.rate = param.max_sampling_rate();
    if (settings.rate < 1 || settings.rate > kMostFrames)
      wrong("video_data_param.max_sampling_rate", str("it is ", settings.rate), str("give 1 to ", kMostFrames));
  }
  if (!param.use_multiple_label()) return;
  constexpr uint32_t kMostLabels = 1 << 20;
  if (!param.has_num_of_labels() || param.num_of_labels() == 0 || param.num_of_labels() > kMostLabels)
    wrong("video_data_param.num_of_labels", "use_multiple_label needs their number", str("give 1 to ", kMostLabels));
  settings.labels = param.num_of_labels();
}

/// Temporal segment networks (yjxiong/caffe, src/caffe/util/io.cpp, ReadSegmentRGBToDatum and ReadSegmentFlowToDatum).
void read_segments(const VideoDataParameter& param, ClipSettings& settings) {
  settings.segments = param.num_segments();
  if (settings.segments == 0 || settings.segments > kMostFrames)
    wrong("video_data_param.num_segments", str("it is ", settings.segments), str("give 1 to ", kMostFrames));
  settings.flow = param.modality() == VideoDataParameter::FLOW;
  settings.pattern = !param.name_pattern().empty() ? param.name_pattern()
                     : settings.flow               ? "flow_%c_%04d.jpg"
                                                   : "image_%04d.jpg";
  if (settings.flow || param.grayscale()) settings.size.channels = 1;
}

bool is_of_segments(const VideoDataParameter& param) {
  return param.has_num_segments() || param.has_modality() || param.has_name_pattern() || param.has_grayscale();
}

/// Asked of every layer before any is made.
void refuse_cameras(const caffe::LayerParameter& layer) {
  const bool reads_a_list = layer.has_image_data_param() || layer.video_data_param().has_source();
  if (!reads_a_list && (layer.has_video_data_param() || layer.has_data_param()))
    throw films_are_not_read("VideoData of cameras and of files of films (Intel, NVIDIA) is not in this build")
        .in_field(layer.has_video_data_param() ? "video_data_param" : "type");
}

[[maybe_unused]] const bool looks_for_cameras = register_look("VideoData", refuse_cameras);

}  // namespace

Error films_are_not_read(const std::string& cause) {
  return Error(ErrorKind::kUnsupported, cause, way_round_layer("VideoData"));
}

ClipSettings clip_settings(const caffe::LayerParameter& layer) {
  if (layer.has_image_data_param()) {
    ClipSettings settings = common(layer, layer.image_data_param(), "image_data_param");
    read_volume(layer.image_data_param(), settings);
    return settings;
  }
  const VideoDataParameter& param = layer.video_data_param();
  ClipSettings settings = common(layer, param, "video_data_param");
  if (is_of_segments(param)) {
    read_segments(param, settings);
  } else {
    read_volume(param, settings);
    read_labels_and_rates(param, settings);
  }
  if (settings.planes() > kMostFrames)
    wrong("video_data_param.new_length", str("a sample has ", settings.planes(), " planes"),
          str("at most ", kMostFrames));
  return settings;
}

/// A mean for all, for each channel of a frame or of a segment: the sample's planes have them in turn, or, where time
/// is an axis of its own, each channel's for all of its frames.
caffe::TransformationParameter clip_transform(const caffe::LayerParameter& layer, const ClipSettings& settings) {
  caffe::TransformationParameter param = layer.transform_param();
  for (const auto& [given, field] :
       {std::pair{param.has_distort_param(), "distort_param"}, std::pair{param.has_noise_param(), "noise_param"}}) {
    if (given)
      throw Error(ErrorKind::kUnsupported, str(field, " is for single images, not for clips"), "leave it out")
          .in_field(str("transform_param.", field));
  }
  if (settings.message == "image_data_param" && layer.image_data_param().has_mean_value() && !param.has_mean_file())
    param.add_mean_value(layer.image_data_param().mean_value());
  const std::vector<float> means(param.mean_value().begin(), param.mean_value().end());
  if (means.size() <= 1) return param;
  const auto values = static_cast<int64_t>(means.size()), planes = settings.planes();
  if (settings.volumes ? values != settings.size.channels : planes % values != 0)
    wrong("transform_param.mean_value",
          str(values, " values for the ", settings.size.channels * settings.files_a_frame(), " channels of a frame"),
          "give one, or one per channel");
  param.clear_mean_value();
  for (int64_t plane = 0; plane < planes; ++plane)
    param.add_mean_value(means[static_cast<size_t>(settings.volumes ? plane / settings.frames : plane % values)]);
  return param;
}

}  // namespace robusta
