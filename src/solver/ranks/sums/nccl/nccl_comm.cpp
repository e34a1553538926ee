// Non-blocking communicators (NCCL's user guide, "Fault Tolerance"): each call is polled until it is enqueued, and
// comm_abort is called from a thread of its own, since it may hang where a GPU has failed.
#include "solver/ranks/sums/nccl/nccl_comm.h"

#include <unistd.h>

#include <cassert>
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>
#include <utility>

#include "base/str.h"
#include "comm/patience.h"
#include "solver/ranks/sums/nccl/nccl_error.h"

namespace robusta {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGoodbye{5}, kAbort{10};
constexpr int64_t kGrain = 16;  // elements: parts that begin at whole vectors are what NCCL's kernels are fast with
constexpr int kSpins = 1000;
/// Gradients are never stored in 16 bits.
NcclType type_of(DType type) {
  assert(type == DType::kF32 || type == DType::kF64);
  return type == DType::kF64 ? kNcclFloat64 : kNcclFloat32;
}

NcclStreamHandle handle_of(Stream& stream) { return static_cast<NcclStreamHandle>(stream.native()); }

}  // namespace

NcclComm::NcclComm(const NcclApi& api, Device& device, const NcclId& id, int members, int position,
                   NcclPatience patience)
    : api_(api), device_(device), members_(members), position_(position), patience_(std::move(patience)) {
  device_.make_current();
  NcclConfig config;
  try {
    await_enqueued(api_.comm_init_rank_config(&comm_, members, id, position, &config), "connecting");
  } catch (...) {
    abort();
    throw;
  }
}

NcclComm::~NcclComm() {
  if (!comm_) return;
  if (finalize()) {
    api_.comm_destroy(comm_);
  } else {
    abort();
  }
}

bool NcclComm::finalize() noexcept {
  NcclResult result = api_.comm_finalize(comm_);
  const auto end = Clock::now() + kGoodbye;
  Patience pauses(kSpins);
  while (result == kNcclInProgress && Clock::now() < end) {
    pauses.pause();
    result = state();
  }
  return result == kNcclSuccess;
}

void NcclComm::abort() noexcept {
  const NcclCommHandle comm = std::exchange(comm_, nullptr);
  if (!comm) return;
  auto done = std::make_shared<std::promise<void>>();
  std::thread([this, comm, done] {
    try {
      device_.make_current();
    } catch (const Error&) {
      // A GPU that has failed says so in each call. NCCL ends what there is all the same.
    }
    api_.comm_abort(comm);
    done->set_value();
  }).detach();
  if (done->get_future().wait_for(kAbort) == std::future_status::ready) return;
  std::fprintf(stderr, "caffe: error: %s does not end NCCL's work: the process ends\n", device_.name().c_str());
  std::fflush(nullptr);
  _exit(static_cast<int>(ErrorKind::kDevice));
}

NcclResult NcclComm::state() const {
  NcclResult state = kNcclSuccess;
  const NcclResult result = api_.comm_get_async_error(comm_, &state);
  return result == kNcclSuccess ? state : result;
}

void NcclComm::fail(NcclResult result, const std::string& what) const {
  throw nccl_error(api_, comm_, result, str(what, " (member ", position_, " of ", members_, ")"));
}

void NcclComm::check() {
  const NcclResult result = state();
  if (result != kNcclSuccess && result != kNcclInProgress) fail(result, "summing gradients");
}

void NcclComm::await_enqueued(NcclResult result, const char* what) {
  const auto start = Clock::now();
  Patience pauses(kSpins);
  while (result == kNcclSuccess || result == kNcclInProgress) {
    // A call that has failed on another thread of NCCL's own says so only here.
    result = state();
    if (result == kNcclSuccess) return;
    if (result != kNcclInProgress) break;
    patience_.check_peers();
    const double waited = std::chrono::duration<double>(Clock::now() - start).count();
    if (patience_.limit_s > 0 && waited > patience_.limit_s) throw NcclTimeout(what, patience_.limit_s);
    pauses.pause();
  }
  fail(result, what);
}

Span NcclComm::equal_part(const Span& span, int position) const {
  const int64_t part = span.count / members_ / kGrain * kGrain;
  return span.part(position * part, (position + 1) * part);
}

Span NcclComm::rest(const Span& span) const { return span.part(members_ * equal_part(span, 0).count, span.count); }

Span NcclComm::piece(const Span& span) const {
  const int64_t part = equal_part(span, 0).count;
  return span.part(position_ * part, position_ + 1 < members_ ? (position_ + 1) * part : span.count);
}

void NcclComm::all_reduce(Stream& stream, const Span& span) {
  await_enqueued(api_.all_reduce(span.data, span.data, static_cast<size_t>(span.count), type_of(span.type), kNcclSum,
                                 comm_, handle_of(stream)),
                 "an all-reduce");
}

void NcclComm::reduce_scatter(Stream& stream, const Span& span) {
  const Span mine = equal_part(span, position_), left = rest(span);
  if (mine.count > 0) {
    await_enqueued(api_.reduce_scatter(span.data, mine.data, static_cast<size_t>(mine.count), type_of(span.type),
                                       kNcclSum, comm_, handle_of(stream)),
                   "a reduce-scatter");
  }
  if (left.count > 0) {
    await_enqueued(api_.reduce(left.data, left.data, static_cast<size_t>(left.count), type_of(span.type), kNcclSum,
                               members_ - 1, comm_, handle_of(stream)),
                   "a reduce");
  }
}

void NcclComm::all_gather(Stream& stream, const Span& span) {
  const Span mine = equal_part(span, position_), left = rest(span);
  if (mine.count > 0) {
    await_enqueued(api_.all_gather(mine.data, span.data, static_cast<size_t>(mine.count), type_of(span.type), comm_,
                                   handle_of(stream)),
                   "an all-gather");
  }
  if (left.count > 0) {
    await_enqueued(api_.broadcast(left.data, left.data, static_cast<size_t>(left.count), type_of(span.type),
                                  members_ - 1, comm_, handle_of(stream)),
                   "a broadcast");
  }
}

}  // namespace robusta
