/// Sums where parameter servers hold the parameters: gradients are summed within a group, whose root pushes them to the
/// servers, and the weights that these answer with go to the whole group.
///
///   complete(b)   gradients, tail: as StagedSum's.       weights: nothing
///   sum(b)        gradients: within the group, and off.  tail: the votes that the iteration ends with.
///                 weights: from the servers, to all of the group
///   deliver(b)    gradients, tail: nothing.              weights: they replace the old ones in the parameters
///
/// Servers have one, too, for what all ranks do together between iterations: they are the ones that own elements.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/carrying_sum.h"
#include "solver/ranks/sums/servers/division.h"
#include "solver/ranks/sums/servers/line.h"
#include "solver/ranks/sums/servers/turns.h"
#include "solver/update/shards.h"

namespace robusta {

class ServedSum : public CarryingSum, public Shards {
 public:
  /// `gradients`: without tail; `tail`: a bucket of it; `sum`: over the group. Ranks and net are kept by reference.
  /// Collective over all ranks.
  ServedSum(Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> sum,
            std::vector<std::string> notes);

  void complete(BucketId bucket) override;
  void sum(BucketId bucket) override;
  void deliver(BucketId bucket) override;
  Shards* shards() override { return this; }
  std::string describe() const override;

  std::string_view asked_by() const override { return "-servers"; }
  std::optional<ElementRange> own(const Param& param) const override;
  void sum(std::span<double> values) override;
  bool gets_whole() const override { return ranks_.root(); }
  std::vector<float> whole(const Param& param, const std::vector<float>& own) override;
  void gather_weights() override;

  /// All ranks, when groups have paused: they get the weights, and rank 0 says how late gradients came. `late`: of the
  /// first server; of the others nothing came.
  void meet(Staleness late);

  /// Worker, between rounds: the servers need not wait for this group until the next round.
  void pause();
  bool paused() const { return paused_; }
  void begin_round(Gradients) override { paused_ = false; }

  /// Worker, after a round's votes: what its group was answered. Before its first one after a pause: what all groups
  /// begin an iteration with.
  const Answer& answer() const { return answer_; }
  void begin_turns(int64_t iteration) { answer_ = {{}, iteration * groups() + group_number(), -1, {}}; }
  /// Of its ticket: the iteration, and the place of this rank among those who share out the global batch.
  int64_t iteration() const { return answer_.ticket / groups(); }
  int place() const { return static_cast<int>(answer_.ticket % groups()) * group_.count() + group_.rank(); }

  // Server, between iterations or within one:

  bool is_first_server() const { return server() == 0; }
  /// Bytes of the pieces in which this server's elements travel, bucket by bucket.
  const std::vector<size_t>& own_pieces() const { return own_pieces_; }
  /// To the groups, in their order.
  std::vector<std::unique_ptr<Communicator>> take_lines() { return std::move(lines_); }
  DType type() const { return type_; }
  /// Bytes of this server's elements.
  size_t own_bytes() const;
  /// This server's elements, one after the other, become the gradients that the parameters have.
  void put_gradients(const void* values);
  /// The weights of this server's elements, one after the other.
  void take_weights(void* values);

 private:
  int64_t groups() const { return ranks_.options().served.groups; }
  int group_number() const { return ranks_.rank() / group_.count(); }
  bool is_root() const { return !ranks_.serves() && group_.root(); }
  Communicator& line() { return *lines_.front(); }
  int server() const { return ranks_.rank() - ranks_.workers(); }
  /// Slots of the channel.
  int slot(BucketId bucket, int server) const { return bucket.number() * division_.servers() + server; }
  int votes_slot(int server) const { return slot(last_sum(), server); }
  int head_slot(int server) const { return (buckets_.end_id().number() * division_.servers()) + server; }

  void announce(Push what);
  void push(BucketId gradients);
  void exchange_votes();
  void pull(BucketId weights);
  std::byte* at(BucketId bucket, int64_t element) const;
  size_t bytes_of(const ElementRange& range) const { return static_cast<size_t>(range.count()) * size_of(type_); }

  Ranks& ranks_;
  Ranks& group_;
  const Division division_;
  std::vector<std::unique_ptr<Communicator>> lines_;
  std::unique_ptr<Channel> channel_;                    ///< of a root: to the servers
  std::unique_ptr<Communicator> to_group_;              ///< from a root to its group, null where that is alone
  std::unordered_map<const Param*, ElementRange> own_;  ///< of the parameter's elements
  std::vector<Push> heads_;                             ///< on their way, one to each server
  std::vector<size_t> own_pieces_;
  Answer answer_;
  bool paused_ = true;
};

}  // namespace robusta
