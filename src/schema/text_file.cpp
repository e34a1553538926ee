// Protobuf's parser reports to an error collector; its first complaint is kept, since the others follow from it.

#include "schema/text_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <google/protobuf/io/tokenizer.h>

#include "base/descriptor.h"
#include "base/input_text.h"
#include "base/str.h"
#include "robusta/error.h"
#include "schema/text_error.h"

namespace robusta {
namespace {

/// Keeps the first error; the others follow from it.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& said) override {
    if (!said_.empty()) return;
    line_ = line, column_ = column, said_ = said;
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}

  int line_ = 0, column_ = 0;  // from 0, as protobuf counts
  std::string said_;
};

[[noreturn]] void refuse(const std::string& path, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).at(path);
}

struct TextSource {
  Descriptor descriptor;
  bool is_pipe;
};

/// Also a pipe, as shells make of <(...).
TextSource open_text(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status = {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
    refuse(path, std::string("cannot read: ") + std::strerror(errno), "check the path");
  }
  if (S_ISDIR(status.st_mode)) refuse(path, "this is a folder", "name a prototxt file");
  if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode)) return {std::move(file), S_ISFIFO(status.st_mode)};
  refuse(path, "this is neither a file nor a pipe", "name a prototxt file");
}

/// Until there is something to read, or the last writer has gone. Of a pipe that nobody has opened for writing since it
/// was opened here, read() says that it is at its end; poll() waits.
void await_more(int fd, const std::string& path, std::chrono::seconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (int ready = -1; ready < 0;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd waiting{fd, POLLIN, 0};
    ready = ::poll(&waiting, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (ready < 0 && errno != EINTR) refuse(path, "cannot read to the end", "check the disk");
    if (ready == 0) {
      refuse(path, str("the pipe has brought nothing for ", patience.count(), " s"),
             "start what writes it first, or name a file");
    }
  }
}

/// Appends what there is, until `text` has `most` bytes.
void read_up_to(size_t most, int fd, const std::string& path, std::chrono::seconds patience, std::string& text) {
  while (text.size() < most) {
    char block[1 << 14];
    const ssize_t count = ::read(fd, block, std::min(sizeof block, most - text.size()));
    if (count == 0) return;
    if (count > 0) {
      text.append(block, static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      await_more(fd, path, patience);
    } else if (errno != EINTR) {
      refuse(path, "cannot read to the end", "check the disk");
    }
  }
}

}  // namespace

std::string load_text(const std::string& path, std::chrono::seconds patience) {
  const TextSource source = open_text(path);
  const int fd = source.descriptor.get();
  if (source.is_pipe) await_more(fd, path, patience);
  // A weights file given by mistake may have gigabytes: its first bytes tell.
  constexpr size_t kBeginning = 4096, kMost = size_t{1} << 30;
  std::string text;
  read_up_to(kBeginning, fd, path, patience, text);
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    refuse(path, "this is text in UTF-16", "save it as UTF-8, or as plain ASCII");
  if (text.find('\0') != std::string::npos) refuse(path, "this is a binary file", "a text file (prototxt) is wanted");
  read_up_to(kMost, fd, path, patience, text);
  if (text.size() == kMost) refuse(path, "there is more than a GiB of text", "name a prototxt file");
  drop_byte_order_mark(text);
  return text;
}

void parse_text(const std::string& text, const std::string& name, google::protobuf::Message* message,
                google::protobuf::TextFormat::ParseInfoTree* tree) {
  FirstError first;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&first);
  parser.WriteLocationsTo(tree);
  parser.SetRecursionLimit(100);  // deeper than any message, far from the end of the stack
  if (!parser.ParseFromString(text, message))
    throw explain_parse_error(*message, text, name, first.line_, first.column_, first.said_);
}

}  // namespace robusta
