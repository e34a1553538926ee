// A stream runs in order, so only the last step of each other stream that touched a memory has to be waited for, and
// only where nothing that was waited for before implies it: what each stream knows to be done is carried along as a
// vector of one step per stream (vector clocks: Fidge 1988, Mattern 1989).
//
// What always holds: two steps of different streams that touch the same bytes, one of them writing, are ordered.

#include "net/offload/copy_order.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace robusta {
namespace {

/// The streams of a device: steps compute in one, copies have one each way.
enum StreamOf : size_t { kCompute, kOut, kIn, kStreams };

StreamOf stream_of(const Step& step) {
  return step.kind == StepKind::kOffload ? kOut : step.kind == StepKind::kPrefetch ? kIn : kCompute;
}

/// The last step per stream.
struct Last {
  std::array<StepId, kStreams> step;
  void add(StreamOf stream, StepId s) { step[stream] = std::max(step[stream], s); }
  void add(const Last& other) {
    for (size_t i = 0; i < kStreams; ++i) step[i] = std::max(step[i], other.step[i]);
  }
};

/// A value and all that share its memory, between the first step that uses any of them and the last.
struct Life {
  size_t begin = 0, end = 0;  ///< bytes of the arena
  StepId first, last;
  Last users;
};

class CopyOrder {
 public:
  explicit CopyOrder(Plan& plan) : plan_(plan), lives_(plan.values.size()), at_(plan.steps.size()) {}

  void find_waits() {
    collect_lives();
    for (const StepId s : plan_.steps.ids()) {
      Step& step = plan_.steps[s];
      step.waits.clear();
      step.awaited = false;
      wait_where_needed(s, needs_of(s));
      if (step.kind == StepKind::kOffload) on_host_[step.host_offset] = s;
    }
  }

 private:
  template <typename Body>
  void for_storages(const Step& step, const Body& body) const {
    for_values(step, [&](ValueId index) {
      const Value& value = plan_.values[index];
      if (!value.persistent) body(value.storage);
    });
  }

  void collect_lives() {
    for (const Value& value : plan_.values) {
      if (value.persistent) continue;
      Life& life = lives_[value.storage];
      if (life.end == 0) life.begin = life.end = value.offset;
      life.end = std::max(life.end, value.offset + value.bytes);
    }
    for (const StepId s : plan_.steps.ids()) {
      for_storages(plan_.steps[s], [&](ValueId storage) {
        Life& life = lives_[storage];
        if (!life.first) life.first = s, begun_.push_back(storage);
        life.last = s;
        life.users.add(stream_of(plan_.steps[s]), s);
      });
    }
  }

  /// What has to be done before step `s`: those that wrote what it reads, and the last users of memory in which it
  /// begins a life.
  Last needs_of(StepId s) {
    const Step& step = plan_.steps[s];
    Last needs;
    for_storages(step, [&](ValueId storage) {
      if (lives_[storage].first == s) {
        add_former_users(storage, s, needs);
      } else {
        add(written_[storage], needs);
      }
    });
    if (step.kind == StepKind::kPrefetch) add(on_host_.at(step.host_offset), needs);
    for_storages(step, [&](ValueId storage) {
      if (step.kind != StepKind::kOffload) written_[storage] = s;
    });
    return needs;
  }

  void add(StepId step, Last& needs) const { needs.add(stream_of(plan_.steps[step]), step); }

  void add_former_users(ValueId storage, StepId s, Last& needs) const {
    const Life& life = lives_[storage];
    for (const ValueId other : begun_) {
      const Life& former = lives_[other];
      if (former.first >= s) break;
      if (former.last >= s || former.end <= life.begin || life.end <= former.begin) continue;
      for (size_t stream = 0; stream < kStreams; ++stream) {
        if (former.users.step[stream]) needs.add(static_cast<StreamOf>(stream), former.users.step[stream]);
      }
    }
  }

  /// A stream works in order: it need not wait for itself, nor for what it knows to be done, having waited for it or
  /// for something that has.
  void wait_where_needed(StepId s, const Last& needs) {
    Step& step = plan_.steps[s];
    Last& known = known_[stream_of(step)];
    std::vector<StepId> latest_first(needs.step.begin(), needs.step.end());
    std::sort(latest_first.begin(), latest_first.end(), std::greater<>());
    for (const StepId need : latest_first) {
      if (!need) continue;
      Step& needed = plan_.steps[need];
      if (stream_of(needed) == stream_of(step) || need <= known.step[stream_of(needed)]) continue;
      known.add(at_[need]);
      step.waits.push_back(need);
      needed.awaited = true;
    }
    known.add(stream_of(step), s);
    at_[s] = known;
  }

  Plan& plan_;
  IdVector<ValueId, Life> lives_;      ///< per value that others share the memory of
  std::vector<ValueId> begun_;         ///< the same values, by their first steps
  std::map<ValueId, StepId> written_;  ///< per such value: the last step that may have written it
  std::map<size_t, StepId> on_host_;   ///< by host_offset: the copy out that wrote there
  std::array<Last, kStreams> known_;   ///< per stream: what is done when its next step runs
  IdVector<StepId, Last> at_;          ///< per step: what is done once it is done
};

}  // namespace

void order_copies(Plan& plan) { CopyOrder(plan).find_waits(); }

}  // namespace robusta
