/// Files that say which boxes an image has: XML as PASCAL VOC and ILSVRC have it, JSON as SSD makes of COCO, plain
/// text.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "caffe.pb.h"
#include "data/pixels.h"

namespace robusta {

enum class AnnotationFormat { kXml, kJson, kText };

/// From "xml", "json" and "txt". Throws Error{kUsage} for anything else.
AnnotationFormat parse_annotation_format(const std::string& word);

/// Labels by the names of a LabelMap in a text file. `check`: names may not come twice. Throws Error{kConfig} at the
/// file.
std::map<std::string, int32_t> read_label_map(const std::string& path, bool check);

/// Adds the groups of boxes of the file to `record`: coordinates in parts of the image, a group for each label in the
/// order in which labels first come, instances counted in each. `image` is the size of the image as it was; a file that
/// states another is believed, with a warning, as in SSD. Boxes that reach out of the image are warned of; those that
/// are upside down, empty or wholly outside are left out with a warning. Throws Error{kData} at the file and line:
/// absent, damaged, or a name that `labels` does not have. Plain text has labels as numbers: "label xmin ymin xmax
/// ymax".
void read_annotations(const std::string& path, AnnotationFormat format, const Extent& image,
                      const std::map<std::string, int32_t>& labels, caffe::AnnotatedDatum& record);

}  // namespace robusta
