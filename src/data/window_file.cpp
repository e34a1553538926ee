// An image after the other, each with its windows.

#include "data/window_file.h"

#include "base/str.h"
#include "data/window_words.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr int64_t kMostSide = WindowWords::kMostSide;
constexpr char kWindowFix[] =
    "write \"# number path channels height width windows\" for each image, and for each of its windows \"class overlap "
    "x1 y1 x2 y2\"";

/// What the file says of an image.
struct ImageHead {
  std::string path;
  int64_t line = 0;
  int64_t height = 0, width = 0, windows = 0;
};

enum class Part { kForeground, kBackground, kNeither };

/// Of the image that follows `before` others.
ImageHead read_head(WindowWords& words, size_t before) {
  if (!words.is("#")) words.fail("an image begins with #");
  if (words.whole("number of an image", 0, INT32_MAX) != static_cast<int64_t>(before))
    words.fail(str("the images are numbered 0, 1, 2, ...; this is the one after ", before, " others"));
  ImageHead image;
  image.path = words.word("the path of the image");
  image.line = words.line();
  words.whole("number of channels", 1, kMostSide);
  image.height = words.whole("height", 1, kMostSide);
  image.width = words.whole("width", 1, kMostSide);
  image.windows = words.whole("number of windows", 0, INT64_MAX);
  return image;
}

void check_place(const WindowWords& words, const Window& window, const ImageHead& image, const WindowRules& rules) {
  if (window.x1 > window.x2 || window.y1 > window.y2) words.fail("the window ends before it begins");
  const bool inside = window.x1 >= 0 && window.y1 >= 0 && window.x2 < image.width && window.y2 < image.height;
  const bool apart = window.x2 < 0 || window.y2 < 0 || window.x1 >= image.width || window.y1 >= image.height;
  if (apart || (!inside && !rules.may_leave_image)) {
    words.fail(str("the window ", window.x1, ",", window.y1, " .. ", window.x2, ",", window.y2,
                   " is outside of its image of ", image.height, " x ", image.width, " (rows x columns)"));
  }
}

Part read_window(WindowWords& words, const ImageHead& image, const WindowRules& rules, Window& window) {
  window.label = static_cast<int32_t>(words.whole("class", INT32_MIN, INT32_MAX));
  const float overlap = words.fraction("overlap");
  for (int32_t* corner : {&window.x1, &window.y1, &window.x2, &window.y2})
    *corner = static_cast<int32_t>(words.whole("corner of a window", -kMostSide, kMostSide));
  const bool foreground = overlap >= rules.foreground;
  if (!foreground && !(overlap < rules.background)) return Part::kNeither;
  check_place(words, window, image, rules);
  if (foreground && window.label <= 0) words.fail("a window of the foreground needs a class above 0");
  if (!foreground) window.label = 0;
  return foreground ? Part::kForeground : Part::kBackground;
}

}  // namespace

WindowReader::WindowReader(const std::string& file, std::string root, const WindowRules& rules, bool keep)
    : file_(file), images_(file, std::move(root), keep) {
  WindowWords words(file, kWindowFix);
  std::vector<Window> background;
  while (words.next()) {
    const ImageHead image = read_head(words, images_.size());
    images_.add(image.path, image.line);
    for (int64_t i = 0; i < image.windows; ++i) {
      Window window{.image = static_cast<int32_t>(images_.size() - 1)};
      const Part part = read_window(words, image, rules, window);
      if (part != Part::kNeither) (part == Part::kForeground ? windows_ : background).push_back(window);
    }
  }
  foreground_ = static_cast<int64_t>(windows_.size());
  windows_.insert(windows_.end(), background.begin(), background.end());
  if (windows_.empty()) {
    throw Error(ErrorKind::kData, "no window is of the foreground or of the background",
                "look at fg_threshold, bg_threshold and the overlaps in the file")
        .at(file);
  }
}

std::string_view WindowReader::record(int64_t index, std::string& storage) const {
  return images_.bytes(static_cast<size_t>(window(index).image), storage);
}

std::string WindowReader::key(int64_t index) const {
  const Window& w = window(index);
  return str("window ", w.x1, ",", w.y1, " .. ", w.x2, ",", w.y2, " of ", images_.path(static_cast<size_t>(w.image)));
}

}  // namespace robusta
