// VideoData: clips out of films that lie as folders of frames, with a label for each. From
// src/caffe/layers/video_data_layer.cpp of three forks, which their fields tell apart (clip_settings.cpp):
//
// - yjxiong/caffe: of each of num_segments parts of a film new_length frames, of colours or of motion. A line is
// "folder
//   frames label", data [batch, planes, H, W].
// - facebook/C3D, VIDEO_DATA of its first version too, and chuckcho/video-caffe: new_length frames from the one on that
// a
//   line names, "folder frame label", data [batch, channels, frames, H, W].
//
// Films in one file and cameras, as Intel's, NVIDIA's and these read them, too, are not read.

#include "layers/kit/assumed_extent.h"
#include "layers/kit/forced_colors.h"
#include "layers/types/video_data/clip_filler.h"

namespace robusta {
namespace {

class VideoDataLayer : public PrefetchedSource {
 public:
  explicit VideoDataLayer(const caffe::LayerParameter& param) : VideoDataLayer(param, clip_settings(param)) {}
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 1, .max_tops = 2}; }

 protected:
  RecordSource open_records(const std::string& source) const override {
    warn_of_forced_colors(param(), "is_color and modality decide");
    auto films = std::make_shared<FilmListReader>(source, settings_.root_folder, settings_.labels > 0);
    ItemWriter writer(transformer(), name(), false, "set new_height and new_width");
    auto filler =
        std::make_unique<ClipFiller>(settings_, names_, std::move(writer), training(), param().top_size() > 1, films);
    return {std::move(films), std::move(filler)};
  }

  void check_without_data() const override { Transformer::check(clip_transform(param(), settings_), training()); }

  AssumedItem assumed_item(const std::string& source) const override {
    const auto [extent, reason] = assumed_extent(source, param().transform_param());
    const bool crops = param().transform_param().crop_size() > 0 || param().transform_param().crop_h() > 0;
    const bool resized = !crops && settings_.size.height > 0;
    const int64_t height = resized ? settings_.size.height : extent.height,
                  width = resized ? settings_.size.width : extent.width;
    return {.shape = settings_.volumes ? Shape{settings_.size.channels, settings_.frames, height, width}
                                       : Shape{settings_.planes(), height, width},
            .reason = resized ? "new_height and new_width" : reason,
            .channels_known = true,
            .size_known = crops || resized || settings_.volumes};
  }

  Shape assumed_top(int top, int64_t batch) const override {
    return settings_.labels > 0 ? Shape{batch, settings_.labels} : PrefetchedSource::assumed_top(top, batch);
  }

 private:
  VideoDataLayer(const caffe::LayerParameter& param, ClipSettings settings)
      : PrefetchedSource(param, settings.reading), settings_(std::move(settings)), names_(names()) {}

  FrameNames names() const {
    try {
      return {settings_.pattern, settings_.flow};
    } catch (Error& error) {
      throw error.in_field("video_data_param.name_pattern");
    }
  }
  Transformer transformer() const { return Transformer(clip_transform(param(), settings_), training()); }

  ClipSettings settings_;
  FrameNames names_;
};

ROBUSTA_REGISTER_LAYER("VideoData", VideoDataLayer);

}  // namespace
}  // namespace robusta
