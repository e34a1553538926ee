/// Images that a text file lists with labels, one per line: "path label".
///
/// A record is the bytes of an image file, read anew each time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/reader.h"

namespace robusta {

/// The bytes of a file, into memory that is used again. Throws Error{kData} at the path: absent, or no regular file.
void read_image_file(const std::string& path, std::string& bytes);

/// A line of a list.
struct ListedImage {
  std::string path;  ///< without the root folder
  int32_t label = 0;
  int64_t line = 0;  ///< of the list, from 1 on
};

/// Paths may hold blanks: the label stands behind the last one. Of a label such as 1.0 the whole part counts; empty
/// lines are left out. Throws Error{kData} at the line, also where a line has no label or one that is no number.
std::vector<ListedImage> read_labelled_images(const std::string& list);

/// The whole part of a number that stands in a line of a list, as C's atoi() reads it. Throws Error{kData} at the line
/// for what is no number at all, or no int.
int32_t parse_label(std::string_view text, const std::string& list, int64_t line);

class ImageFilesReader : public RecordReader {
 public:
  /// `root` is put before each path as it is.
  ImageFilesReader(const std::string& list, std::string root);

  const std::string& source() const override { return list_; }
  int64_t size() const override { return static_cast<int64_t>(images_.size()); }
  std::string_view record(int64_t index, std::string& storage) const override;
  /// "photos/cat.jpg, line 12".
  std::string key(int64_t index) const override;
  int label(int64_t index) const { return images_[static_cast<size_t>(index)].label; }

 private:
  std::string list_, root_;
  std::vector<ListedImage> images_;
};

}  // namespace robusta
