/// Window files of R-CNN, and the images that they name.
///
/// For each image: "# <number> <path> <channels> <height> <width> <windows>", then for each window "<class> <overlap>
/// <x1> <y1> <x2> <y2>", between blanks or ends of lines; numbers count from 0 and corners belong to the window.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/named_images.h"
#include "data/reader.h"

namespace robusta {

struct Window {
  int32_t image = 0, label = 0;            ///< index of the image; class, 0: background
  int32_t x1 = 0, y1 = 0, x2 = 0, y2 = 0;  ///< pixels, the last ones included
};

/// Which windows are taken for what, and what of them is refused.
struct WindowRules {
  float foreground = 0.5f;       ///< least overlap of windows whose class counts
  float background = 0.5f;       ///< below it a window is of class 0
  bool may_leave_image = false;  ///< what is outside of the image is no error, as long as some of the window is inside
};

/// A record is the image file that its window lies in. The windows of the foreground come first, then those of the
/// background; others are left out.
class WindowReader : public RecordReader {
 public:
  /// `root` is put before each path as it is; `keep`: image files stay in memory once they are read. Throws
  /// Error{kData} at the line of the file.
  WindowReader(const std::string& file, std::string root, const WindowRules& rules, bool keep);

  const std::string& source() const override { return file_; }
  int64_t size() const override { return static_cast<int64_t>(windows_.size()); }
  std::string_view record(int64_t index, std::string& storage) const override;
  /// "window 3,5 .. 80,91 of photos/cat.jpg".
  std::string key(int64_t index) const override;
  const Window& window(int64_t index) const { return windows_[static_cast<size_t>(index)]; }
  int64_t foreground() const { return foreground_; }
  int64_t background() const { return size() - foreground_; }

 private:
  std::string file_;
  NamedImages images_;
  std::vector<Window> windows_;  ///< those of the foreground first
  int64_t foreground_ = 0;       ///< how many these are
};

}  // namespace robusta
