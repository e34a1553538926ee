/// A folder that pictures are written into: never outside of it, and never over a file that is there.
///
/// Names are made of numbers by whoever writes, not of what a database calls its records. For one thread.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "data/pixels.h"

namespace robusta {

class PictureFolder {
 public:
  /// Makes the folder where it is not there. Throws Error{kOutput}.
  explicit PictureFolder(const std::string& folder);

  /// Writes `stem`.png, or where there are not 1, 3 or 4 channels `stem`_c0.png and so on, 16 at most, each grey.
  /// Numbers are rounded to 0 .. 255. Throws Error{kOutput}: a file of that name is there, the disk is full.
  void write(const std::string& stem, const Pixels& pixels);
  int64_t written() const { return written_; }

 private:
  void write_file(const std::string& name, const std::string& bytes);

  std::string folder_;
  Descriptor descriptor_;
  int64_t written_ = 0;  ///< pictures
};

}  // namespace robusta
