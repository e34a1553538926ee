// mkdir(2) says who was first: two runs of the same second have folders of different names, on one host or several.

#include "solver/reports/tensorboard/event_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "base/output_place.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr const char* kCannotWriteEvents = "cannot write events for TensorBoard to";

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// "20260131-120000_lenet": UTC, and the name as far as it can be part of one of a file.
std::string run_title(const std::string& name) {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  std::string title = text;
  if (!name.empty()) title += '_';
  constexpr size_t kLongest = 100;
  for (const char c : name.substr(0, kLongest)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
    title += plain ? c : '_';
  }
  return title;
}

std::string make_run_folder(const std::string& folder, const std::string& name) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) fail_output(kCannotWriteEvents, folder, problem.value());
  const std::string title = (std::filesystem::path(folder) / run_title(name)).string();
  for (int number = 1;; ++number) {
    const std::string run = number == 1 ? title : str(title, '_', number);
    if (::mkdir(run.c_str(), 0777) == 0) return run;
    if (errno != EEXIST) fail_output(kCannotWriteEvents, run, errno);
  }
}

template <typename T>
void append_raw(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

}  // namespace

std::string tf_record(const std::string& bytes) {
  std::string record;
  record.reserve(bytes.size() + sizeof(uint64_t) + 2 * sizeof(uint32_t));
  append_raw(record, uint64_t{bytes.size()});
  append_raw(record, masked_crc(record));
  record += bytes;
  append_raw(record, masked_crc(bytes));
  return record;
}

EventFile::EventFile(const std::string& folder, const std::string& name) : run_(make_run_folder(folder, name)) {
  // By these words in its name TensorBoard knows the file.
  path_ = str(run_, "/events.out.tfevents.", std::time(nullptr), ".robusta");
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) fail_output(kCannotWriteEvents, path_, errno);
  file_ = Descriptor(fd);
  tensorboard::Event version;
  version.set_file_version("brain.Event:2");
  write(0, version);
}

void EventFile::write(int64_t step, tensorboard::Event& event) {
  if (!file_.is_open()) return;
  event.set_wall_time(seconds_since_1970());
  event.set_step(step);
  const std::string record = tf_record(event.SerializeAsString());
  try {
    write_all(file_.get(), record.data(), record.size());
  } catch (const Error& error) {
    LOG_WARNING << path_ << ": " << error.what() << "; training goes on, and TensorBoard sees no more of it";
    file_ = Descriptor();
  }
}

}  // namespace robusta
