// The outer message is walked on its own, so that the bytes of the image are not copied; groups are small.
//
// The fields (weiliu89/caffe, branch ssd, caffe.proto): datum 1; type 2, 0 for boxes; annotation_group 3, one for each
// class: group_label 1, and annotation 2 with instance_id 1 and bbox 2, whose xmin, ymin, xmax and ymax are parts of
// the width and height of the image.

#include "data/annotated_datum.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "base/str.h"
#include "caffe.pb.h"
#include "robusta/error.h"

namespace robusta {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr char kAnnotatedFix[] = "write the database anew";

std::string text_of(const Box<float>& box) {
  return str("(", box.xmin, ", ", box.ymin, ") .. (", box.xmax, ", ", box.ymax, ")");
}

void check_box(const Box<float>& box, size_t number) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kData, str("box ", number, " of it, ", text_of(box), ", ", what),
                "correct its annotation, and write the database anew");
  };
  if (!box.is_finite()) refuse("is not finite");
  if (box.xmin > box.xmax || box.ymin > box.ymax) refuse("is upside down");
  if (box.xmin >= 1 || box.ymin >= 1 || box.xmax <= 0 || box.ymax <= 0) {
    if (box.area() > 0) refuse("lies outside of the image, which is 0 .. 1");
  }
}

/// Adds the boxes of a serialised AnnotationGroup. `seen` counts all boxes, from 1 on.
bool add_group(std::string_view bytes, size_t& seen, std::vector<AnnotatedBox>& boxes) {
  caffe::AnnotationGroup group;
  if (!group.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  for (const caffe::Annotation& annotation : group.annotation()) {
    const caffe::NormalizedBBox& b = annotation.bbox();
    const Box<float> box{b.xmin(), b.ymin(), b.xmax(), b.ymax()};
    check_box(box, ++seen);
    if (box.area() > 0) boxes.push_back({box, group.group_label(), annotation.instance_id(), b.difficult()});
  }
  return true;
}

bool parse(std::string_view record, AnnotatedView& view) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(record.data()), static_cast<int>(record.size()));
  in.PushLimit(static_cast<int>(record.size()));
  size_t seen = 0;
  while (const uint32_t tag = in.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const auto wire = WireFormatLite::GetTagWireType(tag);
    const bool is_bytes = wire == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (is_bytes && (field == caffe::AnnotatedDatum::kDatumFieldNumber ||
                     field == caffe::AnnotatedDatum::kAnnotationGroupFieldNumber)) {
      uint32_t length;
      if (!in.ReadVarint32(&length) || length > static_cast<uint32_t>(in.BytesUntilLimit())) return false;
      const std::string_view bytes = record.substr(static_cast<size_t>(in.CurrentPosition()), length);
      if (!in.Skip(static_cast<int>(length))) return false;
      if (field == caffe::AnnotatedDatum::kDatumFieldNumber)
        view.datum = bytes;
      else if (!add_group(bytes, seen, view.boxes))
        return false;
    } else if (field == caffe::AnnotatedDatum::kTypeFieldNumber && wire == WireFormatLite::WIRETYPE_VARINT) {
      uint64_t word;
      if (!in.ReadVarint64(&word)) return false;
      view.type = static_cast<int>(word);
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return false;
    }
  }
  return in.ConsumedEntireMessage();
}

}  // namespace

AnnotatedView parse_annotated_datum(std::string_view record) {
  constexpr size_t kMostBytes = 0x7fffffff;
  if (record.size() > kMostBytes) throw Error(ErrorKind::kData, "the record is larger than 2 GiB", kAnnotatedFix);
  AnnotatedView view;
  if (!parse(record, view)) {
    throw Error(ErrorKind::kData, str("the record (", record.size(), " bytes) is no AnnotatedDatum, or is damaged"),
                kAnnotatedFix);
  }
  if (view.datum.empty()) {
    throw Error(ErrorKind::kData, "the record is no AnnotatedDatum: it has no image",
                "read a database of images without boxes by a layer of type Data");
  }
  return view;
}

}  // namespace robusta
