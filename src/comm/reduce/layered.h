/// Reduce-scatter over each dimension in turn and all-gather back, the innermost first and last.
///
/// From M. Cho et al., "BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous Network Hierarchy"
/// (MLSys 2019): the further out a dimension, the less data it carries. All groups of a dimension work at the same
/// time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/reduce/reduction.h"
#include "comm/reduce/shared_regions.h"
#include "comm/reduce/stage.h"

namespace robusta {

struct ReduceLayer {
  std::string dimension;          ///< "X (4 ranks, within a host)"
  int members = 1, position = 0;  ///< of the group; this rank's among them
  std::shared_ptr<Stage> stage;
  bool innermost = false;  ///< it is X
};

class LayeredAllReduce : public AllReduce {
 public:
  /// `shape` and `notes` are what describe() and notes() say. With `regions`, data beside them goes through their
  /// staging window.
  LayeredAllReduce(std::vector<ReduceLayer> layers, std::string shape, std::shared_ptr<const SharedRegions> regions,
                   std::vector<std::string> notes);
  void sum(void* data, int64_t count, DType type, int64_t exact) override;
  bool has_halves() const override { return true; }
  ElementRange own(int64_t count) const override;
  void reduce_scatter(void* data, int64_t count, DType type, int64_t exact) override;
  void all_gather(void* data, int64_t count, DType type) override;
  void meet() override;
  bool add_left(void* data, int64_t count, float* left) override;
  void give_left(void* data, int64_t count, const float* left) override;
  void sum_inner(void* data, int64_t count, DType type) override;
  std::string describe() const override;
  std::vector<DimensionTime> take_times() override;
  std::vector<std::string> notes() const override { return notes_; }

 private:
  void sum_by_staging(const Span& span);
  void reduce(const Span& span, size_t depth);
  void scatter(const Span& span, size_t depth);
  void gather(const Span& span, size_t depth);
  /// That of a layer's group which this rank sums.
  Span piece_of(const Span& span, size_t depth) const {
    return span.piece(layers_[depth].position, layers_[depth].members);
  }
  /// Counts the time of work() and the bytes that it sends to the dimension.
  template <typename Work>
  void timed(size_t depth, const Span& span, int passes, const Work& work);

  std::vector<ReduceLayer> layers_;
  std::string shape_;
  std::shared_ptr<const SharedRegions> regions_;  ///< null: no layer shares memory
  std::vector<std::string> notes_;
  std::vector<double> seconds_, bytes_;  ///< of each layer, since take_times()
};

}  // namespace robusta
