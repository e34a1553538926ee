#include "solver/ranks/gradient_stage.h"

namespace robusta {

GradientStage::GradientStage(Net& net) : net_(net) {
  if (!net.staged_gradients()) return;
  Device& device = *net.options().device;
  host_ = static_cast<char*>(net.staged_gradients());
  device_ = static_cast<char*>(net.device_gradients());
  pinned_ = device.pin(host_, net.gradient_bytes());
  stream_ = device.make_stream();
}

void* GradientStage::host_of(void* gradients) const {
  return host_ ? host_ + (static_cast<char*>(gradients) - device_) : gradients;
}

void GradientStage::move(std::vector<Bucket>& buckets) {
  if (!host_) return;
  for (Bucket& bucket : buckets) {
    const size_t element = size_of(net_.options().dtype);
    void* const host = host_of(bucket.data);
    ranges_.push_back({host, bucket.data, static_cast<size_t>(bucket.count - bucket.tail) * element, nullptr});
    bucket.data = host;
  }
}

void GradientStage::fetch(size_t bucket) {
  if (!host_) return;
  Range& range = ranges_[bucket];
  stream_->wait(net_.stream().record());
  stream_->copy_to_host(range.host, range.device, range.bytes);
  range.fetched = stream_->record();
}

void GradientStage::fetched(size_t bucket) {
  if (host_) ranges_[bucket].fetched->wait();
}

void GradientStage::store(size_t bucket) {
  if (host_) net_.stream().copy_to_device(ranges_[bucket].device, ranges_[bucket].host, ranges_[bucket].bytes);
}

}  // namespace robusta
