/// How the files are called that hold the frames of a film: a pattern of C's printf, as prototxts give it, with the
/// number of the frame, and with x or y where motion is stored as two images.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace robusta {

class FrameNames {
 public:
  /// `pattern`: one %d, which may have a width ("%05d"), and one %c where `axes` says so. Throws Error{kConfig} for
  /// anything else.
  FrameNames(std::string_view pattern, bool axes);

  /// "flow_x_00012.jpg". `axis` is left out where the pattern has none.
  std::string name(int64_t frame, char axis) const;

 private:
  std::string before_, between_, behind_;  ///< what stands around the two
  bool axes_, axis_first_ = true;
  bool zeros_ = false;
  size_t width_ = 0;
};

}  // namespace robusta
