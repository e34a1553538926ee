/// Which rank has which stage of which pipeline, where a net is trained in stages by ranks.
///
/// Ranks are taken host after host, and a stage is as many of them in a row as there are pipelines. So the ranks of one
/// stage, which sum their gradients, are on one host where a host has as many, and what goes between hosts is what
/// stages send each other: blobs where the net was cut because they are small there, one link at a time, while others
/// compute. Gradients are as many numbers as a stage has weights, and the ranks wait for their sum (Narayanan et al.
/// 2021, "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", section 3, weighs the two).
/// Pure.
#pragma once

#include <string>
#include <vector>

namespace robusta {

class StagePlaces {
 public:
  /// `hosts`: of each rank. REQUIRES: the stages divide the ranks.
  StagePlaces(const std::vector<std::string>& hosts, int stages);

  int stages() const { return stages_; }
  int pipelines() const { return static_cast<int>(ranks_.size()) / stages_; }
  int stage_of(int rank) const { return place_of(rank) / pipelines(); }
  int pipeline_of(int rank) const { return place_of(rank) % pipelines(); }
  int rank_of(int stage, int pipeline) const { return ranks_[static_cast<size_t>(stage * pipelines() + pipeline)]; }

 private:
  int place_of(int rank) const { return place_[static_cast<size_t>(rank)]; }

  int stages_;
  std::vector<int> ranks_;  ///< host after host
  std::vector<int> place_;  ///< of each rank among them
};

}  // namespace robusta
