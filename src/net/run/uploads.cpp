// The uploads of batches are made once per plan; a pass only enqueues.

#include "net/run/uploads.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace robusta {

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
    uploads_.push_back({.step = s,
                        .lent = step.lends,
                        .pixels = step.pixels,
                        .device = device_memory,
                        .bytes = bytes,
                        .host = PinnedRing(device, step.lends ? 0 : bytes),
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

Uploads::Upload& Uploads::upload_of(StepId step) {
  const auto found = std::ranges::find(uploads_, step, &Upload::step);
  assert(found != uploads_.end());
  return *found;
}

void Uploads::send_means(const PixelUpload& pixels, char* device) {
  const std::vector<float>& means = pixels.form().means;
  stream_->copy_to_device(device + pixels.means_at(), means.data(), means.size() * sizeof(float));
  stream_->synchronize();
}

/// Calls each(top, offset) for the tops that travel as they are.
template <typename Each>
void Uploads::for_plain_tops(const Upload& upload, std::span<const Tensor> tops, const Each& each) {
  if (upload.pixels) {
    for (size_t top = 1; top < tops.size(); ++top) each(tops[top], upload.pixels->layout().offset(top));
    return;
  }
  size_t at = 0;
  for (const Tensor& top : tops) {
    each(top, at);
    at += align_up(top.desc.bytes());
  }
}

void Uploads::send(StepId step, std::span<const Tensor> tops, SourceLayer& source, const Pass& pass) {
  Upload& upload = upload_of(step);
  upload.lent ? send_lent(upload, *source.ready()) : send_filled(upload, tops, source, pass);
}

/// From where the workers have written it; the source keeps that memory until the copy is done.
void Uploads::send_lent(Upload& upload, Batch& batch) {
  assert(batch.layout.bytes() == upload.bytes);
  copy(upload, batch.at(0));
  batch.reader = upload.arrived;
}

void Uploads::send_filled(Upload& upload, std::span<const Tensor> tops, SourceLayer& source, const Pass& pass) {
  char* const host = upload.host.next();
  std::vector<Tensor> on_host;
  for_plain_tops(upload, tops, [&](const Tensor& top, size_t at) { on_host.push_back({top.desc, host + at}); });
  source.fill(on_host, pass);
  copy(upload, host);
  upload.host.busy_until(upload.arrived);
}

void Uploads::copy(Upload& upload, const char* host) {
  if (upload.taken) stream_->wait(upload.taken);
  stream_->copy_to_device(upload.device, host, upload.bytes);
  upload.arrived = stream_->record();
}

void Uploads::deliver(StepId step, std::span<const Tensor> tops) {
  Upload& upload = upload_of(step);
  compute_.wait(upload.arrived);
  if (upload.pixels) upload.pixels->expand(compute_, upload.device, tops[0].as<float>());
  for_plain_tops(upload, tops,
                 [&](const Tensor& top, size_t at) { compute_.copy(top.data, upload.device + at, top.desc.bytes()); });
  upload.taken = compute_.record();
}

void Uploads::send_position(uint64_t first_sample) {
  if (!position_) return;
  char* const host = positions_.next();
  std::memcpy(host, &first_sample, sizeof first_sample);
  compute_.copy_to_device(position_, host, sizeof first_sample);
  positions_.busy_until(compute_.record());
}

}  // namespace robusta
