/// What stands behind a public Net: an engine's net, its own or a solver's, and where in the data it is.
#pragma once

#include <memory>
#include <string>

#include "net/net.h"
#include "net/tuning.h"
#include "robusta/net.h"

namespace robusta::v1 {

struct Net::Impl {
  std::shared_ptr<Device> device = nullptr;  ///< null: the processor, or somebody else's
  std::unique_ptr<RecordingTuner> tuner = nullptr;
  std::unique_ptr<robusta::Net> owned = nullptr;  ///< null: a solver's net
  robusta::Net* net = nullptr;
  Pass pass = {};         ///< the last one
  uint64_t position = 0;  ///< of the next one

  /// That of the batch at `position`.
  Pass next_pass() const;
  /// Throws Error{kUsage} for a layer that is not there, and for a range that goes the wrong way.
  NodeRange part(const LayerRange& range, bool backward) const;

  static robusta::Net& engine_of(const Net& net) { return *net.impl_->net; }

  /// Throws Error{kUsage} when there is none.
  Param& param(const std::string& layer, int index) const;
  /// Throws Error{kUsage} for a name or number of elements that does not fit.
  void check_size(const std::string& blob, size_t numbers) const;
  /// Throws Error{kUsage} where backward is not planned.
  void require_backward() const;
  /// Throws Error{kUsage} for a blob that a pass writes before anybody reads what the program has written.
  void require_writable(const std::string& blob) const;
  /// The same of gradients.
  void require_given_gradient(const std::string& blob) const;
  /// Throws Error{kUnsupported} where what is written and what is read of a blob lie in two places.
  void require_one_memory(const std::string& blob) const;
};

}  // namespace robusta::v1
