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

struct Complaint {
  int line = 0, column = 0;  ///< from 0, as protobuf counts
  std::string said;
};

/// Keeps the first error; the others follow from it. Warnings are of fields that the parser has left out.
class Complaints : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& said) override {
    if (first.said.empty()) first = {line, column, said};
  }
  void AddWarning(int line, google::protobuf::io::ColumnNumber column, const std::string& said) override {
    left_out.push_back({line, column, said});
  }

  Complaint first;
  std::vector<Complaint> left_out;
};

/// Returns whether the parser could. `tolerant`: fields that the schema lacks are left out.
bool parse(const std::string& text, bool tolerant, google::protobuf::Message* message,
           google::protobuf::TextFormat::ParseInfoTree* tree, Complaints& complaints) {
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&complaints);
  parser.WriteLocationsTo(tree);
  parser.AllowUnknownField(tolerant);
  parser.SetRecursionLimit(100);  // deeper than any message, far from the end of the stack
  return parser.ParseFromString(text, message);
}

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
  Complaints complaints;
  if (parse(text, false, message, tree, complaints)) return;
  const auto& [line, column, said] = complaints.first;
  throw explain_parse_error(*message, text, name, line, column, said);
}

std::vector<Error> parse_what_is_known(std::string text, const std::string& name, google::protobuf::Message* message,
                                       google::protobuf::TextFormat::ParseInfoTree* tree) {
  constexpr int kMost = 1000;  // values that are no values of their enums; each takes another look
  const std::string whole = text;
  std::vector<Complaint> values;
  for (int i = 0; i < kMost; ++i) {
    Complaints complaints;
    const bool parsed = parse(text, true, message, nullptr, complaints);
    const Complaint& first = complaints.first;
    if (!parsed && (!is_unread(first.said) || !blank_unread_value(text, first.line, first.column, first.said)))
      return {};
    if (!parsed) {
      values.push_back(first);
      continue;
    }
    Complaints once_more;
    parse(text, true, message, tree, once_more);
    values.insert(values.end(), complaints.left_out.begin(), complaints.left_out.end());
    std::ranges::stable_sort(values, {}, [](const Complaint& one) { return std::pair(one.line, one.column); });
    std::vector<Error> errors;
    for (const auto& [line, column, said] : values) {
      if (is_unread(said)) errors.push_back(explain_parse_error(*message, whole, name, line, column, said));
    }
    return errors;
  }
  return {};
}

}  // namespace robusta
