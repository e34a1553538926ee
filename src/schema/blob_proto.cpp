// Old shapes (num, channels, height, width) and new ones, floats, doubles and raw bytes become one array.

#include "schema/blob_proto.h"

#include <bit>
#include <cstring>

#include "base/half.h"
#include "base/str.h"

namespace robusta {

static_assert(std::endian::native == std::endian::little, "arrays in files are little-endian");

namespace {

template <typename Element, typename Convert>
void append_elements(const std::string& bytes, std::vector<float>* values, const Convert& convert) {
  if (bytes.size() % sizeof(Element) != 0)
    throw Error(ErrorKind::kModel, str(bytes.size(), " bytes are no whole number of values of ", sizeof(Element)));
  values->reserve(values->size() + bytes.size() / sizeof(Element));
  for (size_t at = 0; at < bytes.size(); at += sizeof(Element)) {
    Element element;
    std::memcpy(&element, bytes.data() + at, sizeof element);
    values->push_back(convert(element));
  }
}

std::vector<int64_t> shape_from(const caffe::BlobProto& proto, bool* legacy) {
  *legacy = proto.has_num() || proto.has_channels() || proto.has_height() || proto.has_width();
  if (*legacy) return {proto.num(), proto.channels(), proto.height(), proto.width()};
  return {proto.shape().dim().begin(), proto.shape().dim().end()};
}

}  // namespace

int64_t checked_count(const std::vector<int64_t>& shape) {
  constexpr int64_t kMost = int64_t{1} << 62;
  int64_t count = 1;
  for (const int64_t length : shape) {
    if (length < 0) throw Error(ErrorKind::kModel, str("negative length ", length, " in a shape"));
    if (length > 0 && count > kMost / length) throw Error(ErrorKind::kModel, "a shape with too many elements");
    count *= length;
  }
  return count;
}

/// As Blob::ShapeEquals of BVLC: an old shape has four lengths, to which a newer one with fewer axes is aligned at the
/// right, so that a bias of n is 1 x 1 x 1 x n. C3D's old shapes have five.
bool same_shape(const BlobData& blob, const std::vector<int64_t>& target) {
  if (!blob.legacy_dims) return blob.shape == target;
  if (target.size() > blob.shape.size()) return false;
  std::vector<int64_t> padded(blob.shape.size() - target.size(), 1);
  padded.insert(padded.end(), target.begin(), target.end());
  return blob.shape == padded;
}

void append_raw(caffe::Type type, const std::string& bytes, std::vector<float>* values) {
  switch (type) {
    case caffe::DOUBLE:
      return append_elements<double>(bytes, values, [](double x) { return static_cast<float>(x); });
    case caffe::FLOAT:
      return append_elements<float>(bytes, values, [](float x) { return x; });
    case caffe::FLOAT16:
      return append_elements<uint16_t>(bytes, values, from_fp16);
    default:
      break;
  }
  throw Error(ErrorKind::kUnsupported, str("raw values of type ", caffe::Type_Name(type), " are not read"));
}

BlobData blob_from_proto(const caffe::BlobProto& proto) {
  BlobData blob;
  blob.shape = shape_from(proto, &blob.legacy_dims);
  // Where a file has both, Caffe reads the doubles. raw_data is NVIDIA's, an array of raw_data_type in bytes.
  if (proto.double_data_size() > 0)
    blob.data.assign(proto.double_data().begin(), proto.double_data().end());
  else if (proto.data_size() > 0 || !proto.has_raw_data())
    blob.data.assign(proto.data().begin(), proto.data().end());
  else
    append_raw(proto.raw_data_type(), proto.raw_data(), &blob.data);
  require_full(blob);
  return blob;
}

void require_full(const BlobData& blob) {
  const int64_t count = checked_count(blob.shape);
  if (count != static_cast<int64_t>(blob.data.size()))
    throw Error(ErrorKind::kModel, str("an array has ", blob.data.size(), " values, its shape says ", count));
}

void blob_to_proto(const std::vector<int64_t>& shape, const float* data, caffe::BlobProto* proto) {
  proto->Clear();
  proto->mutable_shape()->mutable_dim()->Add(shape.begin(), shape.end());
  proto->mutable_data()->Add(data, data + checked_count(shape));
}

BlobData read_array_file(const std::string& path, std::string_view what) {
  caffe::BlobProto proto;
  read_binary_proto(path, &proto, ErrorKind::kData);
  try {
    return blob_from_proto(proto);
  } catch (const Error& error) {
    throw Error(ErrorKind::kData, str("this is no ", what, ": ", error.cause())).at(path);
  }
}

}  // namespace robusta
