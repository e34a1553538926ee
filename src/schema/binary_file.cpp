// A file is looked at before it is read: what cannot be a message, or is too large for one, is said before memory is
// taken.

#include "schema/binary_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include "base/atomic_file.h"
#include "base/excerpt.h"
#include "base/str.h"
#include "schema/blob_proto.h"

namespace robusta {

namespace {

/// The first line of a file of letters; none where it has other bytes, as each of our messages has: its first field
/// that is no name begins with one of them.
std::optional<std::string> first_line_of_text(int fd) {
  char begin[256];
  const ssize_t count = ::pread(fd, begin, sizeof begin, 0);
  const std::string_view seen(begin, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  const bool text = std::ranges::all_of(seen, [](char letter) {
    return (letter >= ' ' && letter <= '~') || letter == '\n' || letter == '\r' || letter == '\t';
  });
  if (!text) return std::nullopt;
  return std::string(seen.substr(0, seen.find('\n', 1)));
}

}  // namespace

BinaryFile::BinaryFile(const std::string& path, ErrorKind kind) : file_(open_input_file(path, kind)) {
  check(path, kind);
}

void BinaryFile::check(const std::string& path, ErrorKind kind) const {
  const int64_t bytes = file_.info.st_size;
  if (bytes == 0) throw Error(kind, "the file is empty").at(path);
  constexpr char kHdf5[] = "\x89HDF\r\n\x1a\n";
  char begin[8] = {};
  if (::pread(fd(), begin, sizeof begin, 0) == sizeof begin && std::memcmp(begin, kHdf5, sizeof begin) == 0)
    throw Error(ErrorKind::kUnsupported, "this is an HDF5 file, which is not read here",
                "save it with snapshot_format: BINARYPROTO, or, if it is a snapshot, take a build with libhdf5")
        .at(path);
  if (const auto line = first_line_of_text(fd())) {
    throw Error(kind, "this is text: \"" + excerpt(*line) + "\"",
                "give the binary file; where its download failed, a page or a pointer of Git LFS lies in its place")
        .at(path);
  }
  if (bytes > kLargestMessage)
    throw Error(kind, str("the file has ", bytes, " bytes; a protobuf message has less than 2 GiB"),
                "save the net as HDF5 (snapshot_format: HDF5), or in parts, which flags for weights take as a list")
        .at(path);
}

void read_binary_proto(const std::string& path, google::protobuf::Message* message, ErrorKind kind) {
  const BinaryFile file(path, kind);
  google::protobuf::io::FileInputStream stream(file.fd());
  google::protobuf::io::CodedInputStream coded(&stream);
  if (message->ParsePartialFromCodedStream(&coded) && coded.ConsumedEntireMessage()) return;
  throw Error(kind, str("the file is cut or no ", message->GetDescriptor()->name()), "check where it comes from")
      .at(path);
}

void require_message(size_t bytes, const std::string& path) {
  if (bytes <= static_cast<size_t>(kLargestMessage)) return;
  throw Error(ErrorKind::kOutput, str("a message of ", bytes, " bytes; protobuf files end at 2 GiB")).at(path);
}

void write_binary_proto(const std::string& path, const google::protobuf::Message& message) {
  require_message(message.ByteSizeLong(), path);
  write_file_atomically(path, [&](int fd) {
    google::protobuf::io::FileOutputStream stream(fd);
    if (!message.SerializePartialToZeroCopyStream(&stream) || !stream.Flush())
      throw Error(ErrorKind::kOutput, str("cannot write: ", std::strerror(stream.GetErrno())),
                  stream.GetErrno() == ENOSPC ? "free some space or write elsewhere" : "");
  });
}

}  // namespace robusta
