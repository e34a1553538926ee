/// The tasks of an update in a device's memory, as one launch reads them.
///
/// Rates, momenta and all else that changes from one iteration to the next is copied there before, where it has
/// changed; so the launch itself is the same each time, and may be part of a recording. Bits are those of
/// UpdateRule::apply. One thread, that which drives the net.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "net/run/pinned_ring.h"
#include "schema/source.h"
#include "solver/update/update_rule.h"

namespace robusta {

class UpdateTable {
 public:
  /// Null where the device has no such rule. References are kept.
  static std::unique_ptr<UpdateTable> make(const SolverDef& solver, Device& device);

  /// Whether the table can hold them: it is made for the tasks that come first, and takes others of the same sizes.
  bool takes(std::span<const UpdateTask> tasks) const;
  /// From here on in the order of `stream`, launches make these updates. REQUIRES: takes(tasks).
  void set(Stream& stream, std::span<const UpdateTask> tasks);
  /// From here on they change nothing.
  void set_idle(Stream& stream);
  /// Enqueues the update. REQUIRES: ready().
  void launch(Stream& stream) const;
  /// Whether set() has been called.
  bool ready() const { return memory_.data() != nullptr; }
  /// That it takes of the device.
  size_t bytes() const { return memory_.bytes(); }

 private:
  UpdateTable(const SolverDef& solver, Device& device, const TabledRule& rule)
      : solver_(solver), device_(device), rule_(rule) {}
  void take_memory(Stream& stream, std::span<const UpdateTask> tasks);
  /// Copies to the device what differs from what it has.
  void send(Stream& stream);
  template <typename T>
  T* in_device(size_t offset) const {
    return reinterpret_cast<T*>(static_cast<char*>(memory_.data()) + offset);
  }

  const SolverDef& solver_;
  Device& device_;
  const TabledRule& rule_;
  DeviceBuffer memory_;               ///< whether it is active, entries; firsts; owners
  std::unique_ptr<PinnedRing> ring_;  ///< from where the first two go there
  std::vector<char> wanted_, sent_;   ///< these, as they are to be and as the device has them or will
  std::vector<int64_t> counts_;       ///< of the tasks
  size_t firsts_ = 0, owners_ = 0;    ///< where these begin
  int64_t chunks_ = 0;
};

}  // namespace robusta
