/// One of NCCL's communicators: the GPUs of a group of ranks, and sums over them.
///
/// It does not block: what a call begins is polled until it is enqueued, with a limit of time, so that a peer that is
/// gone or a GPU that hangs ends in an Error. After an Error, and when work of its stream will not end, abort() ends
/// what runs on the GPU; nothing but the destructor is called then. One thread at a time. All calls but check() and
/// abort() are collective over the members, in the same order on each.
#pragma once

#include <functional>
#include <string>

#include "comm/reduce/stage.h"
#include "device/device.h"
#include "device/nccl/nccl_api.h"

namespace robusta {

/// How long is waited for others, and what is looked at meanwhile.
struct NcclPatience {
  double limit_s = 0;                         ///< 0: for ever
  std::function<void()> check_peers = [] {};  ///< throws when a peer is known to have failed
};

class NcclComm {
 public:
  /// Connects with the other members; `id` is that of member 0. References are kept. Throws
  /// Error{kDevice|kCommunication}.
  NcclComm(const NcclApi& api, Device& device, const NcclId& id, int members, int position, NcclPatience patience);
  /// Lets the others finish what they have in common with this one, for a few seconds at most.
  ~NcclComm();
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  int members() const { return members_; }
  const NcclApi& api() const { return api_; }
  /// The part of `span` that is this member's after reduce_scatter: equal parts, the last one with what remains.
  Span piece(const Span& span) const;

  /// These append to `stream`, for elements in the device's memory, in place.
  void all_reduce(Stream& stream, const Span& span);
  void reduce_scatter(Stream& stream, const Span& span);
  void all_gather(Stream& stream, const Span& span);

  /// Throws what NCCL has met since.
  void check();
  /// Ends what runs on the GPU, at once and whatever the others do. Ends the process when NCCL does not return from it:
  /// nothing that uses the GPU could be waited for then.
  void abort() noexcept;

 private:
  /// Waits until NCCL has done on the host what a call began.
  void await_enqueued(NcclResult result, const char* what);
  NcclResult state() const;
  bool finalize() noexcept;
  Span equal_part(const Span& span, int position) const;
  Span rest(const Span& span) const;
  [[noreturn]] void fail(NcclResult result, const std::string& what) const;

  const NcclApi& api_;
  Device& device_;
  int members_, position_;
  NcclPatience patience_;
  NcclCommHandle comm_ = nullptr;
};

}  // namespace robusta
