/// An event file of TensorBoard's, in a folder of its own: TFRecords of Event messages.
///
/// A folder belongs to one run and is made by it: what another run has written is never touched. A file that cannot be
/// written any more is told of once, and training goes on without it.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "tensorboard.pb.h"

namespace robusta {

/// A record as TFRecordWriter frames it: length, its checksum, the bytes, theirs (TensorFlow's lib/io/record_writer.h).
std::string tf_record(const std::string& bytes);

class EventFile {
 public:
  /// Makes `folder`/<time>_<name>, with a number behind it where that is there already, and a file in it. Throws
  /// Error{kOutput}.
  EventFile(const std::string& folder, const std::string& name);

  /// The folder of this run.
  const std::string& run() const { return run_; }
  /// Appends an event of now. Each goes out in one write, so that who reads along sees no part of one.
  void write(int64_t step, tensorboard::Event& event);

 private:
  std::string run_, path_;
  Descriptor file_;  ///< closed once it has failed
};

}  // namespace robusta
