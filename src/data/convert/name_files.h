/// Small text files that SSD's scripts make and read: maps of labels, sizes of images.
#pragma once

#include <cstdint>
#include <string>

namespace robusta {

/// Writes a LabelMap (text) of lines "name [label] [display name]", words between `delimiter`; without a label it is
/// the number of the line, from 0, or from 1 with `include_background`, which puts none_of_the_above in front as 0.
/// Empty lines are left out. Returns the number of items. Throws Error{kData} at the line: a label that is no number,
/// or one that comes twice; Error{kOutput}.
int64_t create_label_map(const std::string& map_file, const std::string& out_file, char delimiter,
                         bool include_background);

/// Writes a line "name height width" for each image of a list: of its lines, the first word is the image, which `root`
/// is put before; `name_ids` (a file of lines "name id", may be "") gives the id to write in place of the name, which
/// is the image's without folders and ending. Returns the number of images. Throws Error{kData} at the list's line: an
/// image that cannot be read, a name without id; Error{kOutput}.
int64_t write_image_sizes(const std::string& root, const std::string& list, const std::string& out_file,
                          const std::string& name_ids);

}  // namespace robusta
