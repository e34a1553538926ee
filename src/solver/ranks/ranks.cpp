// What all ranks do together between iterations. Every collective call is one small sum where nothing is wrong; who
// asks every rank for details does so only for a job that ends.
#include "solver/ranks/ranks.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

class StepSum : public StepReduce {
 public:
  StepSum(const Ranks& ranks, std::unique_ptr<Communicator> communicator)
      : ranks_(ranks), communicator_(std::move(communicator)) {}
  int ranks() const override { return communicator_->size(); }
  void sum(std::span<double> values) override {
    const Ranks::Waiting waiting(ranks_);
    communicator_->all_reduce(values.data(), static_cast<int64_t>(values.size()), DType::kF64);
  }

 private:
  const Ranks& ranks_;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace

EndedByPeer::EndedByPeer(int rank, int exit_code, std::string text)
    : rank_(rank),
      exit_code_(exit_code),
      reason_(str("rank ", rank, ": ", text)),
      text_("ended because of " + reason_) {}

namespace {

/// Dims are those of a group.
DdlOptions of_all(DdlOptions options) {
  if (options.served.servers > 0) options.dims.clear();
  return options;
}

}  // namespace

Ranks::Ranks(Communicator& world, DdlOptions options)
    : world_(&world), options_(std::move(options)), topology_(find_topology(world, of_all(options_))) {
  gradients_ = world.duplicate();
  if (alone()) return;
  if (has_local_steps(options_) && group_of_gradients() == count())
    throw Error(ErrorKind::kUsage,
                str("-sync_every ", options_.sync_every, ": all ", count(),
                    " ranks are one group in the first dim, whose gradients are summed in each iteration anyway"),
                str("leave it out, or give dims with more groups: -mode b:1x", count()));
  control_ = world.duplicate();
  if (options_.served.servers > 0) {
    make_group(world);
    return;
  }
  std::unique_ptr<Communicator> step = group_of_steps(world);
  if (step->size() > 1) step_ = std::make_unique<StepSum>(*this, std::move(step));
}

void Ranks::make_group(Communicator& world) {
  const int per_group = ranks_per_group(options_.served, count());
  DdlOptions options = options_;
  options.served = {};
  if (serves()) options.dims.clear();
  group_world_ = world.split(serves() ? options_.served.groups : rank() / per_group, rank());
  group_ = std::make_unique<Ranks>(*group_world_, std::move(options));
}

void Ranks::form_stages(int count) {
  if (count == stages()) return;
  group_.reset();
  places_.reset();
  if (count == 1) return;
  places_.emplace(topology_.hosts, count);
  line_ = world_->split(learner(), stage());
  group_world_ = world_->split(stage(), learner());
  group_ = std::make_unique<Ranks>(*group_world_, options_);
  group_->set_watch(watch_);
}

void Ranks::set_watch(LivenessWatch* watch) {
  watch_ = watch;
  if (group_) group_->set_watch(watch);
}

std::unique_ptr<Communicator> Ranks::group_of_steps(Communicator& world) const {
  if (!has_local_steps(options_)) return world.duplicate();
  const std::vector<int> group = topology_.inner_ranks();
  return world.split(group.empty() ? rank() : group.front(), rank());
}

int Ranks::group_of_gradients() const {
  if (alone() || !has_local_steps(options_)) return count();
  return std::max(1, static_cast<int>(topology_.inner_ranks().size()));
}

int Ranks::summed_gradients() const {
  if (options_.op == GradientOp::kAdasum) return 1;
  const ServerOptions& served = options_.served;
  if (served.servers == 0) return group_of_gradients();
  return served.in_step() ? workers() : workers() / served.groups;
}

Ranks::~Ranks() = default;

void Ranks::progress(int64_t iteration) {
  if (watch_) watch_->progress(iteration);
}

void Ranks::doing(std::string_view what, Activity activity, double limit_s) {
  if (elastic_ && world_) world_->check_peers();
  if (watch_) watch_->doing(what, activity, limit_s);
}

Ranks::Waiting::Waiting(const Ranks& ranks)
    : watch_(ranks.watch_), before_(watch_ ? watch_->switch_to(Activity::kWaiting) : Activity::kComputing) {}

Ranks::Waiting::~Waiting() {
  if (watch_) watch_->switch_to(before_);
}

void Ranks::together(const std::function<void()>& work) {
  if (alone()) return work();
  std::optional<Error> error;
  try {
    work();
  } catch (const Error& thrown) {
    error = thrown;
  }
  double failures = error ? 1 : 0;
  sum({&failures, 1});
  if (failures == 0) return;
  failed_together_ = true;
  // Only a job that ends pays for asking every rank.
  const Waiting waiting(*this);
  const std::vector<int> failed = control_->gather(error ? 1 : 0);
  const int first = static_cast<int>(std::find(failed.begin(), failed.end(), 1) - failed.begin());
  int code = error ? error->exit_code() : 0;
  std::string text = error ? error->what() : "";
  uint64_t length = text.size();
  control_->broadcast(&code, sizeof code, first);
  control_->broadcast(&length, sizeof length, first);
  text.resize(length);
  control_->broadcast(text.data(), length, first);
  if (first == rank()) throw *error;
  throw EndedByPeer(first, code, text);
}

void Ranks::root_only(const std::function<void()>& work) {
  together([&] {
    if (root()) work();
  });
}

void Ranks::building(const std::function<void(const Allocate& allocate)>& build) {
  bool allocated = false;
  const auto allocate = [&](size_t bytes) -> std::shared_ptr<void> {
    allocated = true;
    together([] {});  // nobody has failed so far
    std::shared_ptr<SharedMemory>& memory = group().gradient_memory_;
    memory = group().gradients_->allocate(bytes);
    return {memory, memory->data()};
  };
  std::optional<Error> error;
  try {
    build(allocate);
  } catch (const Error& thrown) {
    error = thrown;
  }
  const auto rethrow = [&] {
    if (error) throw *error;
  };
  if (!allocated) together(rethrow);
  together(rethrow);
}

void Ranks::sum(std::span<double> values) {
  if (alone()) return;
  const Waiting waiting(*this);
  control_->all_reduce(values.data(), static_cast<int64_t>(values.size()), DType::kF64);
}

void Ranks::broadcast(void* data, size_t bytes) {
  if (alone()) return;
  const Waiting waiting(*this);
  control_->broadcast(data, bytes, 0);
}

void Ranks::broadcast(std::string& text) {
  uint64_t length = text.size();
  broadcast_value(length);
  text.resize(length);
  broadcast(text.data(), text.size());
}

/// In twelve-bit pieces x, the sum of squares times the ranks equals the square of the sum only if all x are equal;
/// both stay below 2^53 up to 2^14 ranks, so the doubles are exact.
bool Ranks::agree(uint64_t value) {
  constexpr int kBits = 12, kPieces = 6;
  double sums[2 * kPieces];
  for (int i = 0; i < kPieces; ++i) {
    const auto piece = static_cast<double>((value >> (i * kBits)) & ((1u << kBits) - 1));
    sums[2 * i] = piece;
    sums[2 * i + 1] = piece * piece;
  }
  sum(sums);
  for (int i = 0; i < kPieces; ++i) {
    if (sums[2 * i + 1] * count() != sums[2 * i] * sums[2 * i]) return false;
  }
  return true;
}

void Ranks::barrier() {
  if (alone()) return;
  const Waiting waiting(*this);
  control_->barrier();
}

std::unique_ptr<AllReduce> Ranks::make_all_reduce(size_t largest_bytes, const DdlOptions& options) {
  return robusta::make_all_reduce(*gradients_, topology_, options, gradient_memory_, largest_bytes);
}

}  // namespace robusta
