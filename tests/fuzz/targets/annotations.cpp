// Files of boxes: each input as XML, as JSON and as plain text.

#include "data/convert/annotation_files.h"

#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void read_boxes(std::string_view input) {
  const std::string path = file_of(input);
  const std::map<std::string, int32_t> labels{{"cat", 1}, {"dog", 2}, {"1", 1}};
  for (const AnnotationFormat format : {AnnotationFormat::kXml, AnnotationFormat::kJson, AnnotationFormat::kText}) {
    reads([&] {
      caffe::AnnotatedDatum record;
      read_annotations(path, format, Extent{3, 100, 200}, labels, record);
    });
  }
}

[[maybe_unused]] const bool registered_annotations = register_target("annotations", read_boxes);

}  // namespace
}  // namespace robusta::fuzz
