// Double buffering: while the device reads one piece of page-locked memory the host fills the other.

#include "net/run/uploads.h"

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
  const auto address = [&](ValueId value) {
    assert(plan.values[value].persistent);
    return static_cast<char*>(persistent) + plan.values[value].offset;
  };
  for (const StepId s : plan.steps.ids()) {
    const Step& step = plan.steps[s];
    if (step.kind != StepKind::kSource || !step.scratch) continue;
    char* const device_memory = address(step.scratch);
    const size_t all = plan.values[step.scratch].bytes;
    const size_t bytes = step.pixels ? step.pixels->means_at() : all;
    batches_.push_back({.step = s,
                        .pixels = step.pixels,
                        .device = device_memory,
                        .bytes = bytes,
                        .host = PinnedRing(device, bytes),
                        .arrived = nullptr,
                        .taken = nullptr});
    if (step.pixels) send_means(*step.pixels, device_memory);
  }
  if (plan.position) position_ = reinterpret_cast<uint64_t*>(address(plan.position));
}

Uploads::~Uploads() {
  try {
    stream_->synchronize();
  } catch (const std::exception&) {
    // The pass that they belong to has failed, and has said so.
  }
}

Uploads::Batch& Uploads::batch_of(StepId step) {
  const auto found = std::ranges::find(batches_, step, &Batch::step);
  assert(found != batches_.end());
  return *found;
}

void Uploads::send_means(const PixelUpload& pixels, char* device) {
  const std::vector<float>& means = pixels.form().means;
  stream_->copy_to_device(device + pixels.means_at(), means.data(), means.size() * sizeof(float));
  stream_->synchronize();
}

/// Calls each(top, offset) for the tops that travel as they are.
template <typename Each>
void Uploads::for_plain_tops(const Batch& batch, std::span<const Tensor> tops, const Each& each) {
  size_t at = batch.pixels ? batch.pixels->others_at() : 0;
  for (const Tensor& top : tops.subspan(batch.pixels ? 1 : 0)) {
    each(top, at);
    at += align_up(top.desc.bytes());
  }
}

void Uploads::send(StepId step, std::span<const Tensor> tops, SourceLayer& source, const Pass& pass) {
  Batch& batch = batch_of(step);
  char* const host = batch.host.next();
  std::vector<Tensor> on_host;
  for_plain_tops(batch, tops, [&](const Tensor& top, size_t at) { on_host.push_back({top.desc, host + at}); });
  if (batch.pixels) {
    auto* windows = reinterpret_cast<PixelWindow*>(host);
    source.fill_pixels(windows, reinterpret_cast<uint8_t*>(host + batch.pixels->bytes_at()), on_host, pass);
  } else {
    source.fill(on_host, pass);
  }
  if (batch.taken) stream_->wait(batch.taken);
  stream_->copy_to_device(batch.device, host, batch.bytes);
  batch.arrived = stream_->record();
  batch.host.busy_until(batch.arrived);
}

void Uploads::deliver(StepId step, std::span<const Tensor> tops) {
  Batch& batch = batch_of(step);
  compute_.wait(batch.arrived);
  if (batch.pixels) batch.pixels->expand(compute_, batch.device, tops[0].as<float>());
  for_plain_tops(batch, tops,
                 [&](const Tensor& top, size_t at) { compute_.copy(top.data, batch.device + at, top.desc.bytes()); });
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
