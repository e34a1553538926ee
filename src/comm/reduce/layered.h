/// Reduce-scatter over each dimension in turn and all-gather back, the innermost first and last.
///
/// From M. Cho et al., "BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous Network Hierarchy"
/// (MLSys 2019): the further out a dimension, the less data it carries. All groups of a dimension work at the same
/// time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/all_reduce.h"
#include "comm/reduce/stage.h"

namespace robusta {

struct Layer {
  std::string dimension;  ///< "X (4 ranks, within a host)"
  int members = 1, position = 0;
  std::unique_ptr<Stage> stage;
};

class LayeredAllReduce : public AllReduce {
 public:
  /// `shape` is said in describe(): "4x2 ranks".
  LayeredAllReduce(std::vector<Layer> layers, std::string shape);
  void sum(void* data, int64_t count, DType type) override;
  std::string describe() const override;
  std::vector<DimensionTime> take_times() override;

 private:
  void reduce(const Span& span, size_t depth);
  /// Counts the time of work() and the bytes that it sends to the dimension.
  template <typename Work>
  void timed(size_t depth, const Span& span, int passes, const Work& work);

  std::vector<Layer> layers_;
  std::string shape_;
  std::vector<double> seconds_, bytes_;
};

}  // namespace robusta
