// Which frames: src/caffe/layers/video_data_layer.cpp of yjxiong/caffe, facebook/C3D and chuckcho/video-caffe, with
// draws of our own.

#include "layers/types/video_data/clip_filler.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/str.h"
#include "data/image_files.h"
#include "data/transform/draws.h"

namespace robusta {
namespace {

bool is_file(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

ClipFiller::ClipFiller(const ClipSettings& settings, FrameNames names, ItemWriter writer, bool training, bool labels,
                       std::shared_ptr<const FilmListReader> films)
    : settings_(settings),
      names_(std::move(names)),
      writer_(std::move(writer)),
      training_(training),
      labels_(labels),
      films_(std::move(films)) {
  for (int64_t i = 0; i < films_->size(); ++i) check_length(films_->film(i));
}

/// And the labels.
void ClipFiller::check_length(const Film& film) const {
  const auto refuse = [&](const std::string& cause, const std::string& fix) {
    throw Error(ErrorKind::kData, cause, fix).at(films_->place(film));
  };
  if (settings_.counts_frames() && film.number < settings_.span()) {
    refuse(str("the film has ", film.number, " frames, a clip spans ", settings_.span()),
           "leave the line out, or lower new_length");
  }
  if (film.number < 0) refuse(str("there is no frame ", film.number), "give the number of the first frame");
  for (const int label : film.labels) {
    if (settings_.labels > 0 && (label < 0 || label >= settings_.labels))
      refuse(str("label ", label, " of ", settings_.labels), "correct it, or num_of_labels");
  }
}

/// The first frames of its clips.
std::vector<int64_t> ClipFiller::draw_starts(const Film& film, int64_t rate, PhiloxStream& draws) const {
  const auto anywhere = [&](int64_t room) {
    return static_cast<int64_t>(draws.below(static_cast<uint64_t>(room + 1)));
  };
  if (settings_.segments == 0) {
    if (!settings_.draws_start) return {film.number};
    return {1 + (training_ ? anywhere(film.number - settings_.frames * rate) : 0)};
  }
  // Where a segment is shorter than a clip all of them begin with the film.
  const int64_t length = film.number / settings_.segments, room = length - settings_.frames;
  std::vector<int64_t> starts(static_cast<size_t>(settings_.segments), 1);
  for (int64_t i = 0; room >= 0 && i < settings_.segments; ++i)
    starts[static_cast<size_t>(i)] = 1 + i * length + (training_ ? anywhere(room) : (room + 1) / 2);
  return starts;
}

std::vector<ClipFiller::Frame> ClipFiller::draw_frames(const Film& film, const Sample& sample) const {
  PhiloxStream draws = draws_of(writer_.key(sample), sample.position, DrawnFor::kFrames);
  const int64_t rate = settings_.draws_rate
                           ? 1 + static_cast<int64_t>(draws.below(static_cast<uint64_t>(settings_.rate)))
                           : settings_.rate;
  std::vector<Frame> frames;
  for (const int64_t start : draw_starts(film, rate, draws)) {
    for (int64_t i = 0; i < settings_.frames; ++i) {
      frames.push_back({start + i * rate, 'x'});
      if (settings_.flow) frames.push_back({start + i * rate, 'y'});
    }
  }
  return frames;
}

void ClipFiller::read_frame(const Film& film, const Frame& frame, std::string& file) const {
  const std::string path = film.folder + "/" + names_.name(frame.number, frame.axis);
  try {
    read_image_file(path, file);
  } catch (const Error& error) {
    if (is_file(film.folder)) throw films_are_not_read("it is a film, not a folder of frames");
    throw Error(error.kind(), path + ": " + error.cause(),
                "check the folder, the number in the line, and how its frames are called");
  }
}

Extent ClipFiller::extent_of_frames(const Film& film) const {
  if (resizes()) return settings_.size;
  thread_local std::string file;
  read_frame(film, {settings_.counts_frames() ? 1 : film.number, 'x'}, file);
  return image_extent(file, settings_.size.channels == 3 ? ColorMode::kColor : ColorMode::kGray);
}

std::vector<Shape> ClipFiller::item_shapes(std::string_view, int64_t index) const {
  Extent item = extent_of_frames(films_->film(index));
  item.channels = settings_.planes();
  const Extent out = writer_.transformer().output(item);
  std::vector<Shape> shapes{settings_.volumes ? Shape{settings_.size.channels, settings_.frames, out.height, out.width}
                                              : Shape{out.channels, out.height, out.width}};
  if (labels_) shapes.push_back(settings_.labels > 0 ? Shape{settings_.labels} : Shape{});
  return shapes;
}

/// A frame in its final size.
void ClipFiller::decode(std::string_view file, Image& image) const {
  thread_local Image whole;
  const ColorMode mode = settings_.size.channels == 3 ? ColorMode::kColor : ColorMode::kGray;
  if (!resizes()) return decode_image(file, mode, image);
  const auto resized = [this](const Extent&) { return settings_.size; };
  decode_image(file, mode, {.size = scaled_ ? WantedSize(resized) : nullptr, .part = nullptr}, whole);
  resize_bilinear(whole.pixels(), settings_.size.height, settings_.size.width, image);
}

/// Frame by frame, or, of volumes, all frames of a channel and then those of the next.
void ClipFiller::read_clip(const Film& film, const std::vector<Frame>& frames, Image& clip) const {
  thread_local std::string file;
  thread_local Image image;
  const auto count = static_cast<int64_t>(frames.size());
  for (int64_t i = 0; i < count; ++i) {
    const Frame& frame = frames[static_cast<size_t>(i)];
    read_frame(film, frame, file);
    try {
      decode(file, image);
    } catch (const Error& error) {
      throw Error(error.kind(), str("its ", names_.name(frame.number, frame.axis), ": ", error.cause()), error.fix());
    }
    const Extent& size = image.extent;
    if (i == 0) clip.reset({settings_.planes(), size.height, size.width});
    if (size.height != clip.extent.height || size.width != clip.extent.width) {
      throw Error(ErrorKind::kData,
                  str("its ", names_.name(frame.number, frame.axis), " is ", size.height, " x ", size.width,
                      " (rows x columns), the first frame ", clip.extent.height, " x ", clip.extent.width),
                  "set new_height and new_width");
    }
    for (int64_t c = 0; c < size.channels; ++c) {
      const int64_t plane = settings_.volumes ? c * count + i : i * size.channels + c;
      std::copy_n(image.row(c, 0), size.height * size.width, clip.row(plane, 0));
    }
  }
}

void ClipFiller::write_labels(const Film& film, const Sample& sample, Batch& batch) const {
  if (settings_.labels == 0) {
    batch.numbers(1)[sample.place] = static_cast<float>(film.labels[0]);
    return;
  }
  float* flags = batch.numbers(1) + sample.place * settings_.labels;
  std::fill_n(flags, settings_.labels, 0.0f);
  for (const int label : film.labels) flags[label] = 1;
}

void ClipFiller::fill(std::string_view, const Sample& sample, Batch& batch) const {
  thread_local Image clip;
  const Film& film = films_->film(sample.record);
  read_clip(film, draw_frames(film, sample), clip);
  writer_.write_image(clip.pixels(), sample, batch);
  if (labels_) write_labels(film, sample, batch);
}

/// A device expands images; volumes go there as numbers.
std::optional<PixelForm> ClipFiller::pixel_form(std::string_view) const {
  if (settings_.volumes) return std::nullopt;
  return writer_.transformer().form();
}

}  // namespace robusta
