// A group waits for its slowest rank within a step, as a sum inside a step does.
#include "solver/ranks/model/model_ranks.h"

#include <chrono>

#include "comm/pairwise.h"

namespace robusta {

class ModelRanks::Group : public ModelGroup {
 public:
  Group(Ranks& ranks, int parts) : ranks_(ranks), parts_(parts), part_(ranks.rank() % parts) {
    const int group = ranks.rank() / parts;
    steps_ = ranks.control().split(group, ranks.rank());
    sums_ = ranks.control().split(group, ranks.rank());
    same_part_ = ranks.control().split(part_, ranks.rank());
  }

  int parts() const override { return parts_; }
  int part() const override { return part_; }

  void all_gather(const void* mine, size_t bytes, void* all) override {
    timed(bytes, [&] { steps_->all_gather(mine, bytes, all); });
  }
  void all_to_all(const void* out, size_t bytes, void* in) override {
    timed(bytes, [&] { robusta::all_to_all(*steps_, out, bytes, in); });
  }

  Communicator& all_parts() const { return *sums_; }
  Communicator& same_part() const { return *same_part_; }
  const Exchanged& exchanged() const { return exchanged_; }

 private:
  /// `bytes`: to each of the others.
  template <typename Work>
  void timed(size_t bytes, const Work& work) {
    const Ranks::Waiting waiting(ranks_);
    const auto start = std::chrono::steady_clock::now();
    work();
    exchanged_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    exchanged_.bytes += static_cast<double>(bytes) * (parts_ - 1);
  }

  const Ranks& ranks_;
  const int parts_, part_;
  std::unique_ptr<Communicator> steps_, sums_, same_part_;
  Exchanged exchanged_;
};

ModelRanks::ModelRanks(Ranks& ranks, std::vector<ModelCut> cuts) : cuts_(std::move(cuts)) {
  for (const ModelCut& cut : cuts_) {
    parts_of_layer_[cut.layer] = cut.parts;
    std::unique_ptr<Group>& group = group_of_parts_[cut.parts];
    if (!group) group = std::make_unique<Group>(ranks, cut.parts);
  }
}

ModelRanks::~ModelRanks() = default;

const ModelRanks::Group* ModelRanks::find(const std::string& layer) const {
  const auto parts = parts_of_layer_.find(layer);
  return parts == parts_of_layer_.end() ? nullptr : group_of_parts_.at(parts->second).get();
}

std::map<std::string, ModelGroup*> ModelRanks::groups() const {
  std::map<std::string, ModelGroup*> groups;
  for (const auto& [layer, parts] : parts_of_layer_) groups[layer] = group_of_parts_.at(parts).get();
  return groups;
}

ModelGroup* ModelRanks::group_of(const Param& param) const {
  const auto parts = parts_of_layer_.find(param.layer);
  return parts == parts_of_layer_.end() ? nullptr : group_of_parts_.at(parts->second).get();
}

Communicator& ModelRanks::same_part(const Param& param) const { return find(param.layer)->same_part(); }

Communicator& ModelRanks::all_parts(const Param& param) const { return find(param.layer)->all_parts(); }

ModelRanks::Exchanged ModelRanks::exchanged() const {
  Exchanged all;
  for (const auto& [parts, group] : group_of_parts_) {
    all.bytes += group->exchanged().bytes;
    all.seconds += group->exchanged().seconds;
  }
  return all;
}

}  // namespace robusta
