/// What is counted while the records of a database pass by.
///
/// For one thread. What hostile records could make grow without end - sizes and labels that never come twice - is
/// counted up to a limit, and the rest as one.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "data/pixels.h"

namespace robusta {

/// One record that was read.
struct RecordFacts {
  Extent extent;
  int32_t label = 0;
  int64_t boxes = 0;  ///< of an AnnotatedDatum
  bool encoded = false, floats = false;
  uint64_t hash = 0;    ///< of its pixels or of its image file
  std::string failure;  ///< not empty: it is broken, and nothing above holds
  std::string key;      ///< "" where nobody asks for it, or it cannot be read
};

class RecordCounts {
 public:
  void add(int64_t index, const RecordFacts& facts);
  /// `payload(index)` is what was hashed of a record, to compare those of equal hashes.
  template <typename Payload>
  void count_duplicates(const Payload& payload);
  void print(std::ostream& out, bool annotated) const;
  int64_t broken() const { return broken_; }

 private:
  struct Seen {
    uint64_t hash;
    int64_t index;
    int32_t label;
  };
  void sort_seen();

  int64_t records_ = 0, broken_ = 0, encoded_ = 0, floats_ = 0, boxes_ = 0, without_boxes_ = 0;
  /// beyond what is listed; duplicates, and those of them with another label
  int64_t other_sizes_ = 0, other_labels_ = 0, duplicates_ = 0, other_label_ = 0;
  std::map<std::string, int64_t> sizes_;
  std::map<int32_t, int64_t> labels_;
  std::vector<Seen> seen_;
  std::vector<std::string> failures_, duplicate_names_;
};

template <typename Payload>
void RecordCounts::count_duplicates(const Payload& payload) {
  constexpr size_t kMostNames = 5;
  sort_seen();
  for (size_t first = 0, next = 0; first < seen_.size(); first = next) {
    std::string original;
    for (next = first + 1; next < seen_.size() && seen_[next].hash == seen_[first].hash; ++next) {
      if (next == first + 1) original = payload(seen_[first].index);
      if (payload(seen_[next].index) != original) continue;
      ++duplicates_;
      const bool other_label = seen_[next].label != seen_[first].label;
      other_label_ += other_label;
      if (duplicate_names_.size() >= kMostNames) continue;
      duplicate_names_.push_back("record " + std::to_string(seen_[next].index) + " is record " +
                                 std::to_string(seen_[first].index) + (other_label ? ", with another label" : ""));
    }
  }
}

}  // namespace robusta
