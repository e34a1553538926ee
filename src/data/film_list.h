/// Films as folders of frames, which a text file lists, one per line: "folder number label". What the number is says
/// who reads the list: how many frames there are, or which comes first.
///
/// A record is a line; its frames are read by whoever knows which ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/reader.h"

namespace robusta {

struct Film {
  std::string folder;  ///< with the root folder
  int64_t number = 0;
  std::vector<int> labels;  ///< one, or those that are true of it
  int64_t line = 0;         ///< of the list, from 1 on
};

class FilmListReader : public RecordReader {
 public:
  /// `root` is put before each folder as it is. `many_labels`: they are written as 1,4,7. Throws Error{kData} at the
  /// line that is none.
  FilmListReader(const std::string& list, const std::string& root, bool many_labels);

  const std::string& source() const override { return list_; }
  int64_t size() const override { return static_cast<int64_t>(films_.size()); }
  /// Its folder.
  std::string_view record(int64_t index, std::string&) const override { return film(index).folder; }
  /// "films/dive, line 12".
  std::string key(int64_t index) const override;

  const Film& film(int64_t index) const { return films_[static_cast<size_t>(index)]; }
  /// "train.txt:12".
  std::string place(const Film& film) const;

 private:
  std::string list_;
  std::vector<Film> films_;
};

}  // namespace robusta
