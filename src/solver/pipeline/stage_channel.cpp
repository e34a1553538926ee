// Counts say who may touch a place: the sender's number is filled_, the receiver's emptied_, and the first is never
// more than `places_` ahead.
#include "solver/pipeline/stage_channel.h"

#include "memory/placement.h"

namespace robusta {

StageChannel::StageChannel(PipelineSignal& signal, Device& device, TensorDesc desc, int places)
    : signal_(signal),
      desc_(std::move(desc)),
      places_(places),
      memory_(device.host_memory(align_up(desc_.bytes()) * static_cast<size_t>(places))) {}

void* StageChannel::place(int64_t number) const {
  const auto offset = static_cast<size_t>(number % places_) * align_up(desc_.bytes());
  return static_cast<char*>(memory_.get()) + offset;
}

void* StageChannel::next_to_fill() {
  std::unique_lock lock(signal_.mutex);
  signal_.changed.wait(lock, [this] { return signal_.broken || filled_ - emptied_ < places_; });
  if (signal_.broken) throw PipelineBroken();
  return place(filled_);
}

void StageChannel::filled() {
  {
    const std::lock_guard lock(signal_.mutex);
    ++filled_;
  }
  signal_.changed.notify_all();
}

const void* StageChannel::next_to_empty() {
  std::unique_lock lock(signal_.mutex);
  signal_.changed.wait(lock, [this] { return signal_.broken || emptied_ < filled_; });
  if (signal_.broken) throw PipelineBroken();
  return place(emptied_);
}

void StageChannel::emptied() {
  {
    const std::lock_guard lock(signal_.mutex);
    ++emptied_;
  }
  signal_.changed.notify_all();
}

void StageChannel::clear() {
  const std::lock_guard lock(signal_.mutex);
  filled_ = emptied_ = 0;
}

}  // namespace robusta
