/// Updates the parameters of the train net once per iteration.
///
/// A parameter is updated as soon as its gradient is complete, while backward goes on. With several ranks their sum is
/// made first (ranks/ranked_update.h), and `ready` is called when it is there. With clipping, all wait for `finish`, as
/// the norm is that of all gradients; with a loss scale, as nothing is updated where one of them is not finite. Order:
/// average over ranks, undo the loss scale, clip by the L2 norm, 1/iter_size, decay, rule. Where ranks share out the
/// parameters (shards.h), each updates its own elements, all of them in `finish`.
/// Arrays lie in the memory of the net's device, and updates are enqueued in its stream.
/// Owns the histories; keeps the parameters alive. One thread, that which drives the net.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "net/net.h"
#include "solver/update/gradient_norm.h"
#include "solver/update/local_rates.h"
#include "solver/update/shards.h"
#include "solver/update/update_rule.h"
#include "solver/update/update_table.h"
#include "solver/update/weight_average.h"

namespace robusta {

/// An array that the rule keeps of a parameter, by its place in a .solverstate: all parameters' first ones, in their
/// order, then all second ones.
using HistoryId = Id<struct HistoryTag>;

/// That of `regularization_type`. Throws Error{kConfig} at its line.
Regularization regularization_of(const SolverDef& solver);

class Updater : public GradientSink, public PassPrelude {
 public:
  /// Histories are zero. Gradients are sums over `ranks`, of which this one updates its part; null: all. Throws
  /// Error{kConfig} for settings that the rule or the parts cannot have, Error{kMemory}.
  Updater(const SolverDef& solver, Net& net, int ranks = 1, Shards* shards = nullptr);
  /// Waits for updates that are enqueued: they use its memory.
  ~Updater() override;

  /// What holds for one iteration.
  struct Iteration {
    int64_t number = 0;  ///< finished iterations before this one
    double rate = 0, momentum = 0, weight_decay = 0;
    bool hold = false;      ///< update nothing before finish()
    double loss_scale = 0;  ///< by which gradients are too large; 0: they are not, nor looked at. REQUIRES: hold
    /// Of the gradients of all nets that are clipped, or skipped, together; none: this net's are all.
    std::optional<double> square_sum = {};
  };
  void begin(const Iteration& iteration);
  void ready(Param& param) override;
  /// All of them at once: on a GPU in few launches.
  void ready(std::span<Param* const> params);
  /// Updates are in the order of the stream.
  bool urgent(const Param&) const override { return false; }
  /// Updates all parameters that were not yet, those without a gradient too (decay acts on them); or none. Before that
  /// what was postponed.
  void finish();
  /// In the place of finish() where it can be: what that would do is left to the next pass, which has this for its
  /// prelude(), or to the next finish(). False: it cannot be, and nothing is done.
  bool postpone();
  /// What a forward pass begins with that may have to make the update; null: none is ever postponed.
  PassPrelude* prelude();
  void enqueue(Stream& stream) override;
  void begun() override { postponed_ = false; }
  /// Makes the update that was postponed, if one was.
  void finish_postponed();
  /// With a loss scale: the last iteration changed nothing, as a gradient was not finite.
  bool skipped() const { return skipped_; }

  /// Of the iteration that began last.
  double rate() const { return now_.rate; }
  bool clips() const { return clip_ >= 0; }
  /// Of each parameter's gradient, in the order of the net's parameters. Waits for the device.
  std::vector<double> square_sums_of_gradients();
  /// Of how many ranks' gradients it gets the sum.
  int summed_ranks() const { return ranks_; }
  /// What is updated depends on norms that are summed over ranks: all updates are made in finish(), by all together.
  bool sums_norms() const { return shards_ && shards_->keep_weights() && local_rates_.active(); }
  /// Null without ema_decay. It begins with the first iteration, unless it is given its values before.
  WeightAverage* average() { return average_ ? &*average_ : nullptr; }

  int histories() const { return static_cast<int>(slots_.size()) * rule_->histories(); }
  IdRange<HistoryId> history_ids() const { return {HistoryId(0), HistoryId(histories())}; }
  /// Of all elements. Where ranks have parts of them: on rank 0, while TellingHistories lives, each once and in order.
  std::vector<float> history(HistoryId id);
  /// What this rank has of a history, and whether other ranks have parts of it.
  struct HistoryPart {
    ElementRange elements;
    std::vector<float> values;
    bool shared = false;
  };
  HistoryPart own_history(HistoryId id);
  /// Ranks have parts of the histories.
  bool shares_histories() const { return shards_ != nullptr; }
  /// `values`: of the whole parameter.
  void set_history(HistoryId id, const std::vector<float>& values);
  const Param& history_param(HistoryId id) const { return *slot_of(id).param; }
  /// Of all ranks' parts, as a file has them.
  size_t history_bytes() const;
  /// In which updates are enqueued.
  Stream& stream() { return net_.stream(); }
  bool has_average() const { return average_.has_value(); }
  /// That this rank takes of its device, for histories, the average and the table of updates.
  size_t state_bytes() const {
    return memory_.bytes() + (average_ ? average_->bytes() : 0) + (table_ ? table_->bytes() : 0);
  }

 private:
  friend class TellingHistories;
  /// The whole history, on rank 0, put together from the parts of all ranks. Collective.
  std::vector<float> gather_history(HistoryId id);

  struct Slot {
    ParamPtr param;
    ElementRange part;           ///< the elements that this rank updates
    bool shared = false;         ///< other ranks update the others
    std::vector<void*> history;  ///< of the part: arrays, as many as the rule wants
    bool done = true;            ///< updated in the iteration that began last; before the first one nothing is due
  };

  void allocate_histories();
  /// Makes tasks of the updates of these parameters.
  void enlist(std::span<Slot* const> slots, double gradient_scale);
  /// `norms`: those that decide its rate.
  void enlist(Slot& slot, double gradient_scale, std::span<const Norms> norms);
  void launch();
  std::vector<Slot*> open_slots();
  void note_moved();
  /// The elements that this rank updates.
  static Tensor part_of(const Slot& slot, const Tensor& array);
  /// Of these elements, summed over ranks.
  Tensor gradient_of(const Slot& slot) const;
  /// Norms of arrays of slots: `slots` has one for each. Of all elements, whoever has them.
  std::vector<Norms> read_norms(std::span<const Tensor> parts, std::span<const Slot* const> slots);
  std::vector<Norms> norms_of_gradients();
  /// Reads all gradients: by which factor they are clipped, and whether the iteration is skipped.
  double inspect_gradients();
  double clip_scale(double square_sum) const;
  double loss_scale() const { return now_.loss_scale > 0 ? now_.loss_scale : 1; }
  const Slot& slot_of(HistoryId id) const { return slots_[ParamId(id.index() % slots_.size())]; }
  Tensor history_tensor(HistoryId id) const;

  Net& net_;
  Device& device_;
  const std::string device_kind_;  ///< whose kernels run there
  std::unique_ptr<UpdateRule> rule_;
  LocalRates local_rates_;
  NormReader norms_;
  double clip_;  ///< clip_gradients; negative: off
  int iter_size_, ranks_;
  bool disabled_;  ///< nothing is updated (disabled_update)
  Regularization regularization_;
  DeviceBuffer memory_, scratch_;  ///< all histories; scratch memory of a rule that adapts (LAMB)
  std::optional<WeightAverage> average_;
  Shards* const shards_;  ///< null: this rank updates everything
  IdVector<ParamId, Slot> slots_;
  HistoryId to_tell_{0};  ///< the first whole history that was not told to rank 0
  std::unordered_map<const Param*, ParamId> id_of_;
  Iteration now_;
  bool skipped_ = false;                ///< the gradients of this iteration were not finite
  std::vector<UpdateTask> tasks_;       ///< to be launched together
  std::vector<Param*> moved_;           ///< whose weights they change
  std::unique_ptr<UpdateTable> table_;  ///< of updates of everything; null: of such a rule there is none
  bool postponed_ = false;              ///< it has an update that is not enqueued yet
};

/// While this lives rank 0 may ask for whole histories, wherever their parts are, one after the other, so that it
/// need not have more than one of them in its memory: the other ranks hand theirs over when this is made, and rank 0
/// takes what it did not ask for when it ends. Collective.
class TellingHistories {
 public:
  explicit TellingHistories(Updater& updater);
  ~TellingHistories();
  TellingHistories(const TellingHistories&) = delete;
  TellingHistories& operator=(const TellingHistories&) = delete;

 private:
  void tell_rest();

  Updater& updater_;
};

/// What an update keeps of each parameter in a device's memory: the rule's histories, and the average.
UpdateArrays update_arrays(const SolverDef& solver, int sharers = 1);

}  // namespace robusta
