/// From a folder of frames to one sample: which frames are taken, and how they become the planes of one image, so that
/// all of them are cut, scaled and mirrored alike.
///
/// Tops: data [planes, H, W], or [C, frames, H, W] where clips are volumes; the label, or a flag for each label. What
/// is drawn depends on the layer's name, the seed and the sample's position alone.
#pragma once

#include <memory>
#include <vector>

#include "data/film_list.h"
#include "data/frame_names.h"
#include "data/item_writer.h"
#include "layers/types/video_data/clip_settings.h"

namespace robusta {

class ClipFiller : public RecordFiller {
 public:
  /// `labels`: whether there is a top of them. Throws Error{kData} at a line whose film is too short.
  ClipFiller(const ClipSettings& settings, FrameNames names, ItemWriter writer, bool training, bool labels,
             std::shared_ptr<const FilmListReader> films);

  void decode_scaled() override { scaled_ = true; }
  std::vector<Shape> item_shapes(std::string_view record, int64_t index) const override;
  void fill(std::string_view record, const Sample& sample, Batch& batch) const override;
  std::optional<PixelForm> pixel_form(std::string_view record) const override;
  int label_top() const override { return labels_ && settings_.labels == 0 ? 1 : -1; }
  int label(std::string_view, int64_t index) const override { return films_->film(index).labels[0]; }

 private:
  /// A frame of a clip, in the order of the planes that come of it.
  struct Frame {
    int64_t number;
    char axis;
  };

  bool resizes() const { return settings_.size.height > 0; }
  void check_length(const Film& film) const;
  std::vector<int64_t> draw_starts(const Film& film, int64_t rate, PhiloxStream& draws) const;
  std::vector<Frame> draw_frames(const Film& film, const Sample& sample) const;
  void read_frame(const Film& film, const Frame& frame, std::string& file) const;
  Extent extent_of_frames(const Film& film) const;
  void decode(std::string_view file, Image& image) const;
  void read_clip(const Film& film, const std::vector<Frame>& frames, Image& clip) const;
  void write_labels(const Film& film, const Sample& sample, Batch& batch) const;

  ClipSettings settings_;
  FrameNames names_;
  ItemWriter writer_;
  bool training_, labels_, scaled_ = false;
  std::shared_ptr<const FilmListReader> films_;
};

}  // namespace robusta
