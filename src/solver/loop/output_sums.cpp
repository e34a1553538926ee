// All outputs of a net go over the ranks in one message.
#include "solver/loop/output_sums.h"

#include <algorithm>

namespace robusta {

std::vector<OutputBlob> zeros_like(std::vector<OutputBlob> outputs) {
  for (OutputBlob& blob : outputs) std::fill(blob.values.begin(), blob.values.end(), 0.0);
  return outputs;
}

void add(std::vector<OutputBlob>& sums, const std::vector<OutputBlob>& outputs) {
  for (size_t b = 0; b < sums.size(); ++b) {
    for (size_t i = 0; i < sums[b].values.size(); ++i) sums[b].values[i] += outputs[b].values[i];
  }
}

void divide(std::vector<OutputBlob>& sums, double by) {
  for (OutputBlob& blob : sums) {
    for (double& value : blob.values) value /= by;
  }
}

void sum_over_ranks(Ranks& ranks, std::vector<OutputBlob>& outputs, double& loss) {
  std::vector<double> flat{loss};
  for (const OutputBlob& blob : outputs) flat.insert(flat.end(), blob.values.begin(), blob.values.end());
  ranks.sum(flat);
  auto from = flat.begin();
  loss = *from++;
  for (OutputBlob& blob : outputs) {
    std::copy_n(from, blob.values.size(), blob.values.begin());
    from += static_cast<ptrdiff_t>(blob.values.size());
  }
}

void average_over_ranks(Ranks& ranks, int together, std::vector<OutputBlob>& outputs) {
  if (ranks.alone()) return;
  double unused = 0;
  sum_over_ranks(ranks, outputs, unused);
  divide(outputs, ranks.count() / together);
}

}  // namespace robusta
