// Where a sample's image goes is drawn twice, from the same numbers: for its boxes, which say how large the batch is,
// and for its pixels.

#include "data/annotated_filler.h"

#include <algorithm>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr int64_t kRowWidth = 8;

/// Of the thread that fills.
DecodeBuffers& annotated_buffers() {
  thread_local DecodeBuffers buffers;
  return buffers;
}

Extent extent_of(const AnnotatedView& view, ColorMode mode) {
  DecodeBuffers& buffers = annotated_buffers();
  const DatumView datum = parse_datum(view.datum, buffers.floats);
  return datum_extent(datum, mode, buffers.floats.size());
}

}  // namespace

AnnotatedView AnnotatedFiller::parse(std::string_view record) const {
  AnnotatedView view = parse_annotated_datum(record);
  if (!has_boxes() || type_is_given_) return view;
  if (!view.type) {
    throw Error(ErrorKind::kData, "it has no annotation type, record 0 has one",
                "write records of one kind, or set annotated_data_param.anno_type");
  }
  if (*view.type != caffe::AnnotatedDatum::BBOX) {
    throw Error(ErrorKind::kData,
                str("its annotations are of type ", *view.type, "; only those of type BBOX are known"),
                "write the database anew");
  }
  return view;
}

Annotations AnnotatedFiller::annotations(AnnotatedView view) const {
  return {std::move(view.boxes), sampler_.is_nothing() ? nullptr : &sampler_};
}

std::vector<Shape> AnnotatedFiller::item_shapes(std::string_view record, int64_t) const {
  const AnnotatedView view = parse(record);
  std::vector<Shape> shapes = writer_.shapes(extent_of(view, color_mode()));
  if (top_ == AnnotatedTop::kBoxes)
    shapes[1] = {1, 1, std::max<int64_t>(1, static_cast<int64_t>(view.boxes.size())), kRowWidth};
  if (top_ == AnnotatedTop::kCentredBoxes) shapes[1] = {1, kCentredRows, kCentredNumbers};
  return shapes;
}

std::vector<float> AnnotatedFiller::rows(std::string_view record, const Sample& sample) const {
  AnnotatedView view = parse(record);
  const Extent extent = extent_of(view, color_mode());
  Annotations moved = annotations(std::move(view));
  writer_.transformer().draw(extent, writer_.key(sample), sample.position, &moved);
  std::vector<float> rows;
  rows.reserve(moved.boxes.size() * kRowWidth);
  for (const auto& [box, label, instance, difficult] : moved.boxes) {
    rows.insert(rows.end(), {static_cast<float>(sample.place), static_cast<float>(label), static_cast<float>(instance),
                             box.xmin, box.ymin, box.xmax, box.ymax, static_cast<float>(difficult)});
  }
  return rows;
}

void AnnotatedFiller::fill(std::string_view record, const Sample& sample, Batch& batch) const {
  DecodeBuffers& buffers = annotated_buffers();
  AnnotatedView view = parse(record);
  const DatumView datum = parse_datum(view.datum, buffers.floats);
  const Pixels pixels = decode_datum(datum, color_mode(), buffers, {.size = writer_.wanted_size(), .part = nullptr});
  Annotations moved = annotations(std::move(view));
  writer_.write_image(pixels, sample, batch, &moved);
  if (top_ == AnnotatedTop::kLabels) batch.numbers(1)[sample.place] = static_cast<float>(datum.label);
  if (top_ == AnnotatedTop::kCentredBoxes) write_centred(moved.boxes, sample.place, batch);
}

void AnnotatedFiller::write_centred(const std::vector<AnnotatedBox>& boxes, int64_t place, Batch& batch) const {
  float* out = batch.numbers(1) + place * kCentredRows * kCentredNumbers;
  float* const end = out + kCentredRows * kCentredNumbers;
  std::fill(out, end, 0.0f);
  for (const auto& [box, label, instance, difficult] : boxes) {
    if (out == end) return;
    if (difficult && !takes_difficult_) continue;
    out = std::ranges::copy(
              std::initializer_list<float>{static_cast<float>(label) - 1, (box.xmin + box.xmax) / 2,
                                           (box.ymin + box.ymax) / 2, box.xmax - box.xmin, box.ymax - box.ymin},
              out)
              .out;
  }
}

std::optional<PixelForm> AnnotatedFiller::pixel_form(std::string_view record) const {
  const AnnotatedView view = parse(record);
  if (parse_datum(view.datum, annotated_buffers().floats).data.empty()) return std::nullopt;
  return writer_.transformer().form();
}

int AnnotatedFiller::label(std::string_view record, int64_t) const {
  const AnnotatedView view = parse(record);
  return parse_datum(view.datum, annotated_buffers().floats).label;
}

}  // namespace robusta
