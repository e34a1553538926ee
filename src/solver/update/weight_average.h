/// The exponential moving average of the weights (`ema_decay`): average <- ema_decay * average + (1 - ema_decay) * w
/// after every update, from the weights that training began with.
///
/// Of all parameters whose lr_mult is not 0; the others, BatchNorm's statistics too, have no average and stay as they
/// are. Arrays lie in the memory of the net's device and are the same on all ranks, as the weights are, or each rank
/// has its own part of them (shards.h). One thread, that which drives the net; what is enqueued comes in the order of
/// the net's stream.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "net/net.h"
#include "schema/source.h"
#include "solver/update/device_average.h"
#include "solver/update/shards.h"

namespace robusta {

/// `ema_decay`. Throws Error{kConfig} at its line unless it lies between 0 and 1, without these.
double checked_decay(const SolverDef& solver);

class WeightAverage {
 public:
  /// Throws Error{kConfig} for a decay that is not in 0..1, Error{kMemory}.
  WeightAverage(const SolverDef& solver, Net& net, Shards* shards = nullptr);

  /// Whether the averages hold anything yet.
  bool begun() const { return begun_; }
  /// The averages become the weights as they are.
  void restart();
  /// Adds the weights of these parameters. REQUIRES: begun(), and to be called as the stream's work.
  void follow(std::span<Param* const> params) const;
  /// Exchanges averages and weights: twice leaves everything as it was, bit by bit. Collective where ranks have parts.
  /// REQUIRES: begun().
  void exchange();
  /// The averages of this rank's elements, in the order of the net's parameters that have one.
  std::vector<Tensor> tensors() const;
  /// That of one parameter, as far as it is this rank's; null data: it has none.
  Tensor average_of(const Param& param) const;

  size_t bytes() const { return memory_.bytes(); }

 private:
  /// This rank's part of a parameter that has an average.
  struct Part {
    Param* param;
    ElementRange elements;
    void* average;
  };
  AveragedArray array_of(const Part& part) const;

  Net& net_;
  Shards* const shards_;
  const std::string device_kind_;
  double keep_;  ///< ema_decay: the share of the average that stays
  DeviceBuffer memory_;
  std::vector<Part> parts_;
  std::unordered_map<const Param*, size_t> part_of_;  ///< in parts_
  bool begun_ = false;                                ///< false: there are no weights yet that it begins with
};

/// The net has the averaged weights while this lives, for tests and snapshots. Collective where ranks have parts.
class AveragedWeights {
 public:
  explicit AveragedWeights(WeightAverage& average) : average_(average) { average_.exchange(); }
  ~AveragedWeights();
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  WeightAverage& average_;
};

}  // namespace robusta
