/// A list of images with classes, or with files of boxes, made into a database of AnnotatedDatum records.
#pragma once

#include <cstdint>
#include <string>

#include "data/convert/annotation_files.h"
#include "data/convert/image_datum.h"

namespace robusta {

struct AnnotationSetOptions {
  std::string root;              ///< put before each path, without a separator
  std::string list;              ///< a file of such lines
  std::string folder;            ///< database to make
  std::string backend = "lmdb";  ///< its kind (writer_kinds.h)
  bool detection = false;        ///< lines "image annotation-file" in place of "image class"
  AnnotationFormat format = AnnotationFormat::kXml;
  std::string label_map;     ///< needed for boxes; of plain text it is read and not used
  bool check_label = false;  ///< names of the label map may not come twice
  bool shuffle = false;
  uint64_t seed = 1;        ///< of the shuffle
  bool check_size = false;  ///< all images must have the size of the first
  ImageDatumOptions image;
};

struct AnnotationSetResult {
  int64_t written = 0, skipped = 0, boxes = 0;  ///< records; images that could not be read; boxes in the records
};

/// Key: "%08d_" and the path as listed, as convert_image_set() has it. Images that cannot be read are logged and
/// skipped; the first file of boxes that cannot be is an error, for boxes that are missing teach what is wrong. Throws
/// Error{kData} for that, and where no image can be read; Error{kConfig} for the label map; Error{kOutput}. Then there
/// is no folder.
AnnotationSetResult convert_annotation_set(const AnnotationSetOptions& options);

}  // namespace robusta
