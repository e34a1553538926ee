/// The ranks of one training, as the solver sees them.
///
/// Alone (no communicator, or one rank) every member does nothing or answers for one rank, so that the solver has one
/// way through. Three communicators keep three conversations apart: gradients (a thread of their own), sums inside a
/// step, and everything between iterations (`control`). All members are called by the thread that drives the solver, in
/// the same order on every rank.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/all_reduce.h"
#include "comm/communicator.h"
#include "comm/liveness/liveness_watch.h"
#include "layers/kit/step_reduce.h"
#include "solver/ranks/stage_places.h"

namespace robusta {

class Elastic;

/// Thrown on the ranks that end because another one failed; that one reports the error.
class EndedByPeer : public std::exception {
 public:
  EndedByPeer(int rank, int exit_code, std::string text);
  int exit_code() const { return exit_code_; }
  /// The one that failed.
  int rank() const { return rank_; }
  const char* what() const noexcept override { return text_.c_str(); }
  /// "rank 3: ...", with the error of that rank.
  const std::string& reason() const { return reason_; }

 private:
  int rank_, exit_code_;
  std::string reason_;
  std::string text_;
};

class Ranks {
 public:
  /// One rank.
  Ranks() = default;
  explicit Ranks(DdlOptions options) : options_(std::move(options)) {}
  /// Collective; keeps a reference to `world`. Throws Error{kUsage} when the dims of the options are not its size.
  Ranks(Communicator& world, DdlOptions options);
  ~Ranks();

  int rank() const { return world_ ? world_->rank() : 0; }
  int count() const { return world_ ? world_->size() : 1; }
  bool alone() const { return count() == 1; }
  /// How many ranks train, the first ones; the others are parameter servers (sums/servers/).
  int workers() const { return count() - options_.served.servers; }
  bool serves() const { return world_ && rank() >= workers(); }
  /// With parameter servers: this rank's group, or all servers. In stages: the ranks that have the same one. Else all
  /// ranks.
  Ranks& group() { return group_ ? *group_ : *this; }
  bool root() const { return rank() == 0; }

  /// From now on a net is trained in so many stages, each by ranks of its own; 1: by all. Collective. REQUIRES: they
  /// divide the ranks, and there are no servers.
  void form_stages(int stages);
  bool staged() const { return places_.has_value(); }
  int stages() const { return staged() ? places_->stages() : 1; }
  /// Where each rank is. REQUIRES: staged(), as for the next two.
  const StagePlaces& places() const { return *places_; }
  int stage() const { return places_->stage_of(rank()); }
  /// The ranks of this one's pipeline, by stage.
  Communicator& line() { return *line_; }

  /// How many parts a global batch has, for whoever trains by itself: workers, or pipelines of several ranks each. And
  /// which of them this rank's is.
  int learners() const { return workers() / stages(); }
  int learner() const { return staged() ? places_->pipeline_of(rank()) : rank(); }
  /// Gradients are sums over several ranks.
  bool sums_gradients() const { return staged() ? !group_->alone() : !alone(); }
  /// The ranks are threads of this process.
  bool in_threads() const { return world_ && world_->kind() == "threads"; }
  /// Over how many ranks gradients are summed in each iteration: with local steps those of X alone.
  int group_of_gradients() const;
  /// How many gradients the sum of an iteration stands for: by that much it is larger than one.
  int summed_gradients() const;
  const Topology& topology() const { return topology_; }
  const DdlOptions& options() const { return options_; }
  /// This rank's number among those of its host, of all sets.
  int place_on_host() const { return options_.sets.empty() ? topology_.local_rank : options_.place_on_host; }

  /// For Pass::ranks, over the ranks whose gradients are summed: null where this one is alone among them.
  StepReduce* step_reduce() { return group_ ? group_->step_reduce() : step_.get(); }

  /// Who is told what this rank does, so that the others know it lives. It outlives the ranks.
  void set_watch(LivenessWatch* watch);
  void progress(int64_t iteration);
  /// Throws EndOfGeneration where the ranks of an elastic job have lost one.
  void doing(std::string_view what, Activity activity = Activity::kComputing, double limit_s = 600);
  /// What an elastic job (-elastic) keeps beyond these ranks; null: the ranks stay the same. It outlives the ranks.
  void set_elastic(Elastic* elastic) { elastic_ = elastic; }
  Elastic* elastic() const { return elastic_; }

  /// While it lives, this rank waits for others in the midst of what it does: a delay is not its own.
  class Waiting {
   public:
    explicit Waiting(const Ranks& ranks);
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting();

   private:
    LivenessWatch* watch_;
    Activity before_;
  };

  /// Runs `work` on every rank. When it throws an Error on any, it throws on all: the lowest failing rank its own
  /// error, the others EndedByPeer.
  void together(const std::function<void()>& work);
  /// The same, but `work` runs on rank 0 only.
  void root_only(const std::function<void()>& work);
  /// An error was thrown on all ranks: each ends by itself, in good order.
  bool failed_together() const { return failed_together_; }
  /// All ranks have dealt with such an error, and go on.
  void recover() { failed_together_ = false; }

  using Allocate = std::function<std::shared_ptr<void>(size_t bytes)>;
  /// Runs `build` on every rank, which has to call `allocate` once, for memory that the ranks of a host share. Errors
  /// before and after that call reach all ranks, as in `together`.
  void building(const std::function<void(const Allocate& allocate)>& build);

  /// Replaces the values by their sums over the ranks.
  void sum(std::span<double> values);
  void broadcast(void* data, size_t bytes);
  void broadcast(std::string& text);
  template <typename T>
  void broadcast_value(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast(&value, sizeof value);
  }
  /// Whether all ranks hold the same 64 bits.
  bool agree(uint64_t value);
  /// The values of all ranks, in order. O(ranks): not for every iteration.
  template <typename T>
  std::vector<T> gather(const T& value) {
    if (alone()) return {value};
    const Waiting waiting(*this);
    return control_->gather(value);
  }
  void barrier();
  /// For what the calls above cannot say. REQUIRES: not alone.
  Communicator& control() { return *control_; }

  /// The conversation about gradients; another thread than the driver's may have it. REQUIRES: ranks of a communicator.
  Communicator& gradients() { return *gradients_; }
  /// The reduction of ranges within the memory of `building`, in that conversation. `options`: those of the ranks, or
  /// what stands for them.
  std::unique_ptr<AllReduce> make_all_reduce(size_t largest_bytes, const DdlOptions& options);

 private:
  std::unique_ptr<Communicator> group_of_steps(Communicator& world) const;
  void make_group(Communicator& world);

  Communicator* world_ = nullptr;
  LivenessWatch* watch_ = nullptr;
  Elastic* elastic_ = nullptr;
  bool failed_together_ = false;  ///< all ranks know of the error: the watch need not spread it
  DdlOptions options_;
  Topology topology_;
  std::unique_ptr<Communicator> control_, gradients_;  ///< apart, as messages of the two may cross
  std::unique_ptr<StepReduce> step_;
  std::shared_ptr<SharedMemory> gradient_memory_;
  std::unique_ptr<Communicator> group_world_;
  std::unique_ptr<Ranks> group_;  ///< null without parameter servers and stages
  std::optional<StagePlaces> places_;
  std::unique_ptr<Communicator> line_;
};

}  // namespace robusta
