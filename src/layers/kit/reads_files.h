/// The role of layers that read files of their own which say nothing about shapes: where a net is only planned or timed
/// these may be absent, as data may (kit/stand_in.h).
#pragma once

namespace robusta {

class ReadsFiles {
 public:
  virtual ~ReadsFiles() = default;
  /// Before shapes are asked for; a layer that was not told reads its files then, as if none may be absent. Throws
  /// Error{kData} for files that cannot be read, but for absent ones that may be.
  virtual void read_files(bool may_be_absent) = 0;
};

}  // namespace robusta
