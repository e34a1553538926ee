// Protobuf's own printer, with the shortest decimal that reads back to the same float.

#include "schema/print.h"

#include <google/protobuf/text_format.h>

#include "base/atomic_file.h"

namespace robusta {

std::string text_form(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return text;
}

void write_text_proto(const std::string& path, const google::protobuf::Message& message) {
  const std::string text = text_form(message);
  write_file_atomically(path, [&](int fd) { write_all(fd, text.data(), text.size()); });
}

}  // namespace robusta
