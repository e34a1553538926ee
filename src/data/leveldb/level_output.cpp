// LevelDB's doc/log_format.md, written.

#include "data/leveldb/level_output.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/atomic_file.h"
#include "base/crc32c.h"
#include "base/output_place.h"
#include "data/leveldb/level_bytes.h"

namespace robusta {

LevelOutput::LevelOutput(const std::string& folder, const std::string& name)
    : file_(::open((folder + "/" + name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0664)) {
  if (!file_.is_open()) fail_output("cannot make the file", name, errno);
}

void LevelOutput::append(std::string_view bytes) {
  constexpr size_t kAtOnce = size_t{1} << 20;
  size_ += bytes.size();
  waiting_ += bytes;
  if (waiting_.size() >= kAtOnce) flush();
}

void LevelOutput::flush() {
  write_all(file_.get(), waiting_.data(), waiting_.size());
  waiting_.clear();
}

void LevelOutput::close() {
  flush();
  // Some file systems find out only now that the disk is full.
  if (::fsync(file_.get()) != 0) fail_output("cannot write", "file", errno);
  file_ = Descriptor();
}

std::string level_log_of(std::string_view record) {
  constexpr size_t kBlock = 32768, kHeader = 7;
  enum Kind : char { kWhole = 1, kFirst, kMiddle, kLast };
  std::string log;
  bool begins = true, ends = false;
  while (!ends) {
    const size_t left = kBlock - log.size() % kBlock;
    if (left < kHeader) {
      log.append(left, '\0');
      continue;
    }
    const std::string_view piece = record.substr(0, left - kHeader);
    record.remove_prefix(piece.size());
    ends = record.empty();
    const char kind = begins ? (ends ? kWhole : kFirst) : (ends ? kLast : kMiddle);
    put_fixed(log, masked_crc({&kind, 1}, piece));
    put_fixed(log, static_cast<uint16_t>(piece.size()));
    log += kind;
    log += piece;
    begins = false;
  }
  return log;
}

}  // namespace robusta
