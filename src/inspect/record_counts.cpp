// Histograms and lists of the first few of each kind.

#include "inspect/record_counts.h"

#include <algorithm>
#include <iomanip>

#include "base/counted.h"
#include "base/excerpt.h"
#include "base/str.h"
#include "inspect/text_table.h"

namespace robusta {
namespace {

// what a strange database could make it hold
constexpr size_t kMostSizes = 10'000, kMostLabels = 1'000'000, kMostFailures = 10;
constexpr int64_t kRowsShown = 20;

/// The most frequent first; of equally many the smaller key.
template <typename Key>
std::vector<std::pair<Key, int64_t>> by_count(const std::map<Key, int64_t>& counts) {
  std::vector<std::pair<Key, int64_t>> rows(counts.begin(), counts.end());
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

template <typename Key>
void print_histogram(std::ostream& out, const std::string& title, const std::map<Key, int64_t>& counts, int64_t others,
                     int64_t total) {
  out << title << ": " << counts.size() << (others > 0 ? " and more" : "") << '\n';
  const auto rows = by_count(counts);
  TextTable table;
  for (size_t i = 0; i < std::min<size_t>(rows.size(), kRowsShown); ++i) {
    const double share = 100 * static_cast<double>(rows[i].second) / static_cast<double>(std::max<int64_t>(total, 1));
    table.add({str(rows[i].first), str(rows[i].second), str(std::fixed, std::setprecision(1), share, " %")});
  }
  table.print(out, "    ");
  if (rows.size() > kRowsShown) out << "    and " << rows.size() - kRowsShown << " others\n";
}

void print_list(std::ostream& out, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) out << "    " << line << '\n';
}

}  // namespace

void RecordCounts::add(int64_t index, const RecordFacts& facts) {
  ++records_;
  if (!facts.failure.empty()) {
    ++broken_;
    if (failures_.size() < kMostFailures)
      failures_.push_back(str("record ", index, " (", excerpt(facts.key), "): ", excerpt(facts.failure)));
    return;
  }
  encoded_ += facts.encoded;
  floats_ += facts.floats;
  boxes_ += facts.boxes;
  without_boxes_ += facts.boxes == 0;
  const std::string size = facts.extent.str();
  if (sizes_.size() < kMostSizes || sizes_.contains(size)) {
    ++sizes_[size];
  } else {
    ++other_sizes_;
  }
  if (labels_.size() < kMostLabels || labels_.contains(facts.label)) {
    ++labels_[facts.label];
  } else {
    ++other_labels_;
  }
  seen_.push_back({facts.hash, index, facts.label});
}

void RecordCounts::sort_seen() {
  std::ranges::sort(
      seen_, [](const Seen& a, const Seen& b) { return a.hash != b.hash ? a.hash < b.hash : a.index < b.index; });
}

void RecordCounts::print(std::ostream& out, bool annotated) const {
  const int64_t whole = records_ - broken_;
  out << "records: " << records_ << " (" << encoded_ << " image files, " << floats_ << " of floats, "
      << whole - encoded_ - floats_ << " of bytes)\n";
  if (annotated) out << "boxes: " << boxes_ << "; images without any: " << without_boxes_ << '\n';
  print_histogram(out, "sizes", sizes_, other_sizes_, whole);
  if (!annotated) {
    if (!labels_.empty()) out << "labels from " << labels_.begin()->first << " to " << labels_.rbegin()->first << '\n';
    print_histogram(out, "labels", labels_, other_labels_, whole);
  }
  out << "duplicates: " << duplicates_ << (other_label_ > 0 ? str(", ", other_label_, " with another label") : "")
      << '\n';
  print_list(out, duplicate_names_);
  out << "broken: " << broken_ << '\n';
  print_list(out, failures_);
}

}  // namespace robusta
