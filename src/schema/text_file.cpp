// Protobuf's parser reports to an error collector; its first complaint is kept, since the others follow from it.

#include "schema/text_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <google/protobuf/io/tokenizer.h>

#include "base/descriptor.h"
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

/// That of UTF-8, with which some editors begin every file; protobuf takes it for a character that is out of place.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

[[noreturn]] void refuse(const std::string& path, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).at(path);
}

/// Also a pipe, as shells make of <(...); of one that nobody writes nobody waits for the writer.
Descriptor open_text(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status = {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
    refuse(path, std::string("cannot read: ") + std::strerror(errno), "check the path");
  }
  if (S_ISDIR(status.st_mode)) refuse(path, "this is a folder", "name a prototxt file");
  if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode)) return file;
  refuse(path, "this is neither a file nor a pipe", "name a prototxt file");
}

void await_more(int fd, const std::string& path) {
  constexpr int kSeconds = 10;
  pollfd waiting{fd, POLLIN, 0};
  if (::poll(&waiting, 1, kSeconds * 1000) == 0) {
    refuse(path, "the pipe has brought nothing for 10 s", "start what writes it first, or name a file");
  }
}

/// Appends what there is, until `text` has `most` bytes.
void read_up_to(size_t most, int fd, const std::string& path, std::string& text) {
  while (text.size() < most) {
    char block[1 << 14];
    const ssize_t count = ::read(fd, block, std::min(sizeof block, most - text.size()));
    if (count == 0) return;
    if (count > 0) {
      text.append(block, static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      await_more(fd, path);
    } else if (errno != EINTR) {
      refuse(path, "cannot read to the end", "check the disk");
    }
  }
}

}  // namespace

std::string load_text(const std::string& path) {
  const Descriptor file = open_text(path);
  // A weights file given by mistake may have gigabytes: its first bytes tell.
  constexpr size_t kBeginning = 4096, kMost = size_t{1} << 30;
  std::string text;
  read_up_to(kBeginning, file.get(), path, text);
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    refuse(path, "this is text in UTF-16", "save it as UTF-8, or as plain ASCII");
  if (text.find('\0') != std::string::npos) refuse(path, "this is a binary file", "a text file (prototxt) is wanted");
  read_up_to(kMost, file.get(), path, text);
  if (text.size() == kMost) refuse(path, "there is more than a GiB of text", "name a prototxt file");
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
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
