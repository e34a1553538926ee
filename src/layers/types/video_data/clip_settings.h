/// What a VideoData layer is told, by which fork's fields so ever.
#pragma once

#include <string>

#include "data/image.h"
#include "data/sampler.h"
#include "layers/kit/prefetched_source.h"

namespace robusta {

/// Frames are numbered from 1 on.
struct ClipSettings {
  ReadingSettings reading;
  std::string message;  ///< "video_data_param"
  std::string root_folder;
  Extent size;               ///< planes of a frame: 3 or 1; with a height, frames are resized
  std::string pattern;       ///< of the names of frames
  bool flow = false;         ///< a frame is two files, of motion along x and along y
  bool volumes = false;      ///< clips have an axis of time, behind that of channels
  int64_t segments = 0;      ///< parts of a film of which each shows a clip; 0: there is one clip
  int64_t frames = 1;        ///< of a clip
  int64_t rate = 1;          ///< of so many frames each the first is taken
  bool draws_rate = false;   ///< of 1 ... rate
  bool draws_start = false;  ///< the list's numbers count frames, and a clip begins anywhere
  int64_t labels = 0;        ///< flags of so many labels; 0: one label

  /// Planes of a sample: what a frame has, of all clips.
  int64_t files_a_frame() const { return flow ? 2 : 1; }
  int64_t planes() const { return size.channels * files_a_frame() * frames * std::max<int64_t>(segments, 1); }
  /// The number in a line is that of all frames, not that of the first.
  bool counts_frames() const { return segments > 0 || draws_start; }
  /// How many frames a clip spans at most.
  int64_t span() const { return frames * rate; }
};

/// Throws Error{kConfig} in the field that cannot be, Error{kUnsupported} for a camera or files of films.
ClipSettings clip_settings(const caffe::LayerParameter& layer);

/// The transform_param of the layer, with a mean for each plane of a sample. Throws Error{kConfig} in mean_value,
/// Error{kUnsupported} for what no fork does to clips.
caffe::TransformationParameter clip_transform(const caffe::LayerParameter& layer, const ClipSettings& settings);

/// Of what is no folder of frames.
Error films_are_not_read(const std::string& cause);

}  // namespace robusta
