#include "net/uploads.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace robusta {

PinnedRing::PinnedRing(Device& device, size_t bytes)
    : bytes_(align_up(bytes)), memory_(device.host_memory(bytes_ * kPieces)) {}

char* PinnedRing::next() {
  at_ = (at_ + 1) % kPieces;
  if (busy_[at_] && !busy_[at_]->reached()) busy_[at_]->wait();
  busy_[at_] = nullptr;
  return static_cast<char*>(memory_.get()) + at_ * bytes_;
}

Uploads::Uploads(const Plan& plan, void* persistent, Device& device, Stream& compute)
    : compute_(compute), stream_(device.make_stream()), positions_(device, sizeof *position_) {
  const auto address = [&](int value) {
    assert(plan.values[static_cast<size_t>(value)].persistent);
    return static_cast<char*>(persistent) + plan.values[static_cast<size_t>(value)].offset;
  };
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    if (step.kind != StepKind::kSource || step.scratch < 0) continue;
    const size_t bytes = plan.values[static_cast<size_t>(step.scratch)].bytes;
    batches_.push_back(
        {static_cast<int>(s), address(step.scratch), bytes, PinnedRing(device, bytes), nullptr, nullptr});
  }
  if (plan.position >= 0) position_ = reinterpret_cast<uint64_t*>(address(plan.position));
}

Uploads::~Uploads() {
  try {
    stream_->synchronize();
  } catch (const std::exception&) {
    // The pass that they belong to has failed, and has said so.
  }
}

Uploads::Batch& Uploads::batch_of(int step) {
  const auto found = std::ranges::find(batches_, step, &Batch::step);
  assert(found != batches_.end());
  return *found;
}

void Uploads::send(int step, std::span<const Tensor> tops, const Fill& fill) {
  Batch& batch = batch_of(step);
  char* const host = batch.host.next();
  std::vector<Tensor> on_host(tops.begin(), tops.end());
  size_t at = 0;
  for (Tensor& top : on_host) {
    top.data = host + at;
    at += align_up(top.desc.bytes());
  }
  fill(on_host);
  if (batch.taken) stream_->wait(batch.taken);
  stream_->copy_to_device(batch.device, host, batch.bytes);
  batch.arrived = stream_->record();
  batch.host.busy_until(batch.arrived);
}

void Uploads::deliver(int step, std::span<const Tensor> tops) {
  Batch& batch = batch_of(step);
  compute_.wait(batch.arrived);
  size_t at = 0;
  for (const Tensor& top : tops) {
    compute_.copy(top.data, batch.device + at, top.desc.bytes());
    at += align_up(top.desc.bytes());
  }
  batch.taken = compute_.record();
}

void Uploads::send_position(uint64_t first_sample) {
  if (!position_) return;
  char* const host = positions_.next();
  std::memcpy(host, &first_sample, sizeof first_sample);
  compute_.copy_to_device(position_, host, sizeof first_sample);
  positions_.busy_until(compute_.record());
}

}  // namespace robusta
