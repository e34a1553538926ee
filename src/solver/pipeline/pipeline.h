/// A net that is trained in stages, as the loop sees it.
///
/// Two kinds: the stages are devices of this process (devices/device_pipeline.h), or ranks, each of which has one
/// (ranks/rank_pipeline.h). Over ranks every member but the last three is collective over the pipeline, and each rank
/// answers for its own stage: losses are those of its layers, and outputs of other stages are zeros, so that sums over
/// the ranks are those of the whole net.
#pragma once

#include <string>
#include <vector>

#include "net/net.h"
#include "solver/reports/training_log.h"

namespace robusta {

class Pipeline {
 public:
  virtual ~Pipeline() = default;

  /// The stages take the weights of the net that holds the whole, where they have others of their own.
  virtual void scatter() {}

  /// One forward pass of the train net, or of a test net; its loss.
  virtual double forward(const Pass& pass) = 0;
  virtual double test(size_t net, const Pass& pass) = 0;
  /// Outputs of the whole net after the last pass, by name, as read_outputs gives them for a net on one device.
  virtual std::vector<OutputBlob> outputs() = 0;
  virtual std::vector<OutputBlob> test_outputs(size_t net) = 0;
  /// A line about the time in which stages have stood idle.
  virtual std::string describe_idle() = 0;

  /// As of a net, and of its updater: all stages have the same scale, and skip the same iterations.
  virtual bool stores(DType type) const = 0;
  virtual void set_loss_scale(double scale) = 0;
  virtual bool skipped() const = 0;
  /// Seconds the sources of all stages, or of this rank's, have waited for data so far.
  virtual double seconds_waited() = 0;

  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

 protected:
  Pipeline() = default;
};

}  // namespace robusta
