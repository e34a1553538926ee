/// Images that a text file lists with what is to be seen in them, one per line: "image map", where the map is an image
/// file of the same size with a label for each pixel; "image 3" with one label for all pixels; or "image" alone.
///
/// A record is the bytes of the files of a line, read anew each time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/reader.h"

namespace robusta {

/// What stands behind the image of a line.
enum class PixelLabels { kNone, kOneForAll, kMap };

/// A line of a list.
struct ListedPair {
  std::string image, map;  ///< without the root folder; no map unless there are maps
  int32_t label = 0;       ///< with kOneForAll
  int64_t line = 0;        ///< of the list, from 1 on
};

/// Words between blanks, so paths hold none; empty lines are left out. With kNone, words behind the image are not
/// looked at. Throws Error{kData} at the line where there are more or fewer words, or a label is no number.
std::vector<ListedPair> read_listed_pairs(const std::string& list, PixelLabels labels);

/// The two files of a record. The map is empty unless there are maps.
struct PairView {
  std::string_view image, map;
};
/// REQUIRES: a record of an ImagePairsReader.
PairView split_pair(std::string_view record);

class ImagePairsReader : public RecordReader {
 public:
  /// `root` is put before each path as it is.
  ImagePairsReader(const std::string& list, std::string root, PixelLabels labels);

  const std::string& source() const override { return list_; }
  int64_t size() const override { return static_cast<int64_t>(pairs_.size()); }
  std::string_view record(int64_t index, std::string& storage) const override;
  /// "photos/street.jpg, line 12".
  std::string key(int64_t index) const override;

  PixelLabels labels() const { return labels_; }
  const ListedPair& pair(int64_t index) const { return pairs_[static_cast<size_t>(index)]; }

 private:
  void append_file(const std::string& path, int64_t line, std::string& storage) const;

  std::string list_, root_;
  PixelLabels labels_;
  std::vector<ListedPair> pairs_;
};

}  // namespace robusta
