/// Which record stands at each place of a batch.
///
/// A pure function of the run's seed and of the position: nothing is stored and nothing advances, so that any number of
/// ranks and a resumed run see what one run without a stop would. Immutable, usable by many threads.
#pragma once

#include <cstdint>
#include <string>

#include "data/batch.h"

namespace robusta {

class RecordOrder {
 public:
  virtual ~RecordOrder() = default;
  /// The record at `place` of this batch, in 0..size-1 of its reader.
  virtual int64_t index(const BatchPlan& plan, int64_t place) const = 0;
  /// Whether each record comes once before any comes again.
  virtual bool has_epochs() const { return true; }
};

/// How epochs go over the records.
struct EpochSettings {
  std::string layer;        ///< key of what is drawn
  bool shuffle = false;     ///< each epoch has an order of its own
  uint32_t skip_below = 0;  ///< the first epoch begins with one of so many records, which is drawn; 0: with the first
};

/// All records, epoch after epoch.
class EpochOrder : public RecordOrder {
 public:
  /// REQUIRES: count > 0.
  EpochOrder(int64_t count, EpochSettings settings) : count_(count), settings_(std::move(settings)) {}
  int64_t index(const BatchPlan& plan, int64_t place) const override;

 private:
  int64_t count_;
  EpochSettings settings_;
};

}  // namespace robusta
