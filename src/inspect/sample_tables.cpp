// The tables of SampleScores, for people.

#include <algorithm>
#include <iomanip>

#include "inspect/sample_scores.h"

namespace robusta {
namespace {

constexpr int64_t kWholeMatrix = 20;  // classes that fit into a line

void print_matrix(std::ostream& out, const SampleScores& scores) {
  const auto classes = static_cast<size_t>(scores.classes());
  out << "      ";
  for (size_t found = 0; found < classes; ++found) out << std::setw(7) << found;
  out << "  recall\n";
  for (size_t label = 0; label < classes; ++label) {
    const double* row = scores.counts().data() + label * classes;
    double all = 0;
    out << std::setw(6) << label;
    for (size_t found = 0; found < classes; ++found) {
      out << std::setw(7) << static_cast<int64_t>(row[found]);
      all += row[found];
    }
    out << std::setw(8) << std::fixed << std::setprecision(4) << (all > 0 ? row[label] / all : 0) << std::defaultfloat
        << std::setprecision(6) << '\n';
  }
}

void print_pairs(std::ostream& out, const SampleScores& scores) {
  const auto classes = static_cast<size_t>(scores.classes());
  std::vector<size_t> cells;
  for (size_t cell = 0; cell < classes * classes; ++cell) {
    if (cell / classes != cell % classes && scores.counts()[cell] > 0) cells.push_back(cell);
  }
  constexpr size_t kShown = 30;
  const size_t shown = std::min(kShown, cells.size());
  std::partial_sort(cells.begin(), cells.begin() + static_cast<ptrdiff_t>(shown), cells.end(), [&](size_t a, size_t b) {
    return scores.counts()[a] != scores.counts()[b] ? scores.counts()[a] > scores.counts()[b] : a < b;
  });
  out << " label  taken for  samples\n";
  for (size_t i = 0; i < shown; ++i) {
    out << std::setw(6) << cells[i] / classes << std::setw(11) << cells[i] % classes << std::setw(9)
        << static_cast<int64_t>(scores.counts()[cells[i]]) << '\n';
  }
}

}  // namespace

void print_left_out(std::ostream& out, const SampleScores& scores) {
  if (scores.repeated() == 0) return;
  out << scores.repeated()
      << " samples are of records that had come before, and are left out: the test has more samples"
      << " than the source has records" << std::endl;
}

void print_confusion(std::ostream& out, const SampleScores& scores) {
  double all = 0, right = 0;
  const auto classes = static_cast<size_t>(scores.classes());
  for (size_t cell = 0; cell < scores.counts().size(); ++cell) {
    all += scores.counts()[cell];
    if (cell / classes == cell % classes) right += scores.counts()[cell];
  }
  out << "Confusion of " << scores.scores() << ": " << static_cast<int64_t>(all) << " labels, "
      << (all > 0 ? 100 * right / all : 0) << " % right (rows: labels, columns: predictions)\n";
  if (scores.undecided() > 0) out << scores.undecided() << " labels are left out: their scores are not numbers\n";
  scores.classes() <= kWholeMatrix ? print_matrix(out, scores) : print_pairs(out, scores);
  out << std::flush;
}

void print_top_losses(std::ostream& out, const SampleScores& scores) {
  out << "      loss  label  prediction  sample\n";
  for (const ScoredSample& sample : scores.top()) {
    out << std::setw(10) << sample.loss << std::setw(7) << sample.label << std::setw(12) << sample.prediction << "  "
        << (sample.record.empty() ? "number " + std::to_string(sample.position) : sample.record) << '\n';
  }
  out << std::flush;
}

}  // namespace robusta
