// Protobuf's parser reports to an error collector; its first complaint is kept, since the others follow from it.

#include "schema/text_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <google/protobuf/io/tokenizer.h>

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

  int line_ = 0, column_ = 0;
  std::string said_;
};

[[noreturn]] void refuse(const std::string& path, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).at(path);
}

}  // namespace

std::string load_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse(path, "this is a folder", "name a prototxt file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse(path, std::string("cannot read: ") + std::strerror(errno), "check the path");
  // A weights file given by mistake may have gigabytes: its first bytes tell.
  std::string text(4096, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.find('\0') != std::string::npos) refuse(path, "this is a binary file", "a text file (prototxt) is wanted");
  text.append(std::istreambuf_iterator<char>(in), {});
  if (in.bad()) refuse(path, "cannot read to the end", "check the disk");
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
