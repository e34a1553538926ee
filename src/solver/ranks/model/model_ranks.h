/// The ranks of a training as Intel's fields deal out its layers: of a layer of P parts, ranks 0 to P - 1 are one group
/// that has all parts, the next P ranks another one, and ranks of equal number within their groups have the same part
/// (data parallel among them).
///
/// Of each number of parts there are three communicators. Two are of the thread that sums gradients (bucket_sum.h), one
/// is of the thread that drives the training.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layers/kit/model_group.h"
#include "layers/kit/param.h"
#include "solver/ranks/model/model_cuts.h"
#include "solver/ranks/ranks.h"

namespace robusta {

class ModelRanks {
 public:
  /// Collective. `ranks` is kept by reference. REQUIRES: cuts, the same on all ranks.
  ModelRanks(Ranks& ranks, std::vector<ModelCut> cuts);
  ~ModelRanks();

  const std::vector<ModelCut>& cuts() const { return cuts_; }
  /// By layer, for NetOptions::model_groups.
  std::map<std::string, ModelGroup*> groups() const;
  /// Null: the parameter's layer is not cut. By the thread that drives the training.
  ModelGroup* group_of(const Param& param) const;

  // By the thread that sums. REQUIRES: group_of(param).

  /// The ranks that have the same part of it, and those that have all parts.
  Communicator& same_part(const Param& param) const;
  Communicator& all_parts(const Param& param) const;

  /// What this rank has sent so far of activations and their gradients, and for how long it took part in that, waiting
  /// for others included. By the thread that drives the training.
  struct Exchanged {
    double bytes = 0, seconds = 0;
  };
  Exchanged exchanged() const;

 private:
  class Group;
  const Group* find(const std::string& layer) const;

  std::vector<ModelCut> cuts_;
  std::map<int, std::unique_ptr<Group>> group_of_parts_;
  std::map<std::string, int> parts_of_layer_;
};

}  // namespace robusta
