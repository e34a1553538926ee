// Sizes are known from the shapes, so that lengths can be written before what they are of.
#include "schema/array_message.h"

#include <unistd.h>

#include <cerrno>
#include <memory>

#include <google/protobuf/wire_format_lite.h>

#include "base/atomic_file.h"
#include "base/output_place.h"
#include "base/str.h"
#include "caffe.pb.h"
#include "robusta/error.h"
#include "schema/binary_file.h"
#include "schema/blob_proto.h"

namespace robusta {
namespace {

using google::protobuf::Message;
using google::protobuf::internal::WireFormatLite;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}

/// The message with those of its fields alone that `keeps` names, unknown ones among them or not.
template <typename Keeps>
std::string fields_of(const Message& message, const Keeps& keeps, bool unknown) {
  const std::unique_ptr<Message> part(message.New());
  part->CopyFrom(message);
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  const google::protobuf::Reflection& reflection = *part->GetReflection();
  reflection.ListFields(*part, &fields);
  for (const auto* field : fields) {
    if (!keeps(field->number())) reflection.ClearField(part.get(), field);
  }
  if (!unknown) reflection.MutableUnknownFields(part.get())->Clear();
  return part->SerializePartialAsString();
}

}  // namespace

void ArrayMessage::add(std::string bytes) {
  bytes_ += bytes.size();
  pieces_.push_back({std::move(bytes), 0, nullptr});
}

void ArrayMessage::add_below(const Message& message, int field) {
  add(fields_of(
      message, [=](int number) { return number < field; }, false));
}

void ArrayMessage::add_above(const Message& message, int field) {
  add(fields_of(
      message, [=](int number) { return number > field; }, true));
}

void ArrayMessage::add_header(int field, size_t bytes) {
  add(varint(WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) + varint(bytes));
}

void ArrayMessage::add_array(int field, size_t count, std::function<std::vector<float>()> array) {
  if (!array || count == 0) return;
  add_header(field, count * sizeof(float));
  pieces_.back().count = count;
  pieces_.back().array = std::move(array);
  bytes_ += count * sizeof(float);
}

void ArrayMessage::add_message(int field, ArrayMessage message) {
  add_header(field, message.bytes_);
  for (Piece& piece : message.pieces_) pieces_.push_back(std::move(piece));
  bytes_ += message.bytes_;
}

void ArrayMessage::add_blob(int field, ArrayBlob blob) {
  static_assert(caffe::BlobProto::kDataFieldNumber < caffe::BlobProto::kDiffFieldNumber &&
                caffe::BlobProto::kDiffFieldNumber < caffe::BlobProto::kShapeFieldNumber);
  const auto count = static_cast<size_t>(checked_count(blob.shape));
  caffe::BlobProto rest;
  rest.mutable_shape()->mutable_dim()->Add(blob.shape.begin(), blob.shape.end());
  ArrayMessage message;
  message.add_array(caffe::BlobProto::kDataFieldNumber, count, std::move(blob.data));
  message.add_array(caffe::BlobProto::kDiffFieldNumber, count, std::move(blob.diff));
  message.add(rest.SerializeAsString());
  add_message(field, std::move(message));
}

std::vector<size_t> ArrayMessage::array_places() const {
  std::vector<size_t> places;
  size_t at = 0;
  for (const Piece& piece : pieces_) {
    at += piece.bytes.size();
    if (piece.array) places.push_back(at);
    at += piece.count * sizeof(float);
  }
  return places;
}

void ArrayMessage::write_frames(int fd) const {
  if (::ftruncate(fd, static_cast<off_t>(bytes_)) != 0) fail_output("cannot write", "file", errno);
  size_t at = 0;
  for (const Piece& piece : pieces_) {
    write_all_at(fd, piece.bytes.data(), piece.bytes.size(), at);
    at += piece.bytes.size() + piece.count * sizeof(float);
  }
}

void ArrayMessage::write(const std::string& path) const {
  require_message(bytes_, path);
  write_file_atomically(path, [&](int fd) {
    for (const Piece& piece : pieces_) {
      write_all(fd, piece.bytes.data(), piece.bytes.size());
      if (!piece.array) continue;
      const std::vector<float> values = piece.array();
      if (values.size() != piece.count)
        throw Error(ErrorKind::kInternal, str("an array of ", values.size(), " numbers in place of ", piece.count));
      write_all(fd, values.data(), values.size() * sizeof(float));
    }
  });
}

}  // namespace robusta
