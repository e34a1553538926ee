// The host's range has the extents of the device's, so that an address in one is found in the other by one difference.
#include "solver/ranks/sums/staged_sum.h"

namespace robusta {

StagedSum::StagedSum(Net& net, Buckets buckets, std::unique_ptr<AllReduce> all_reduce, std::vector<std::string> notes)
    : BucketSum(std::move(buckets)),
      net_(net),
      type_(net.options().dtype),
      all_reduce_(std::move(all_reduce)),
      notes_(std::move(notes)),
      tail_(net.param_memory().gradient_tail()) {
  if (!net.param_memory().staged_gradients()) return;
  Device& device = *net.options().device;
  pinned_ = device.pin(net.param_memory().staged_gradients(), net.param_memory().gradient_bytes());
  stream_ = device.make_stream();
  move_to_host(static_cast<char*>(net.param_memory().gradients()),
               static_cast<char*>(net.param_memory().staged_gradients()));
}

void StagedSum::move_to_host(char* device, char* host) {
  const auto host_of = [&](void* gradients) { return host + (static_cast<char*>(gradients) - device); };
  for (Bucket& bucket : buckets_) {
    void* const moved = host_of(bucket.data);
    ranges_.push_back({moved, bucket.data, static_cast<size_t>(bucket.count - bucket.tail) * size_of(type_), nullptr});
    bucket.data = moved;
  }
  tail_ = host_of(tail_);
}

void StagedSum::complete(BucketId bucket) {
  if (!stream_) return;
  Range& range = ranges_[bucket];
  stream_->wait(net_.stream().record());
  stream_->copy_to_host(range.host, range.device, range.bytes);
  range.copied = stream_->record();
}

void StagedSum::sum(BucketId bucket) {
  if (stream_) ranges_[bucket].copied->wait();
  const Bucket& b = buckets_[bucket];
  all_reduce_->sum(b.data, b.count, type_, b.exact);
}

void StagedSum::deliver(BucketId bucket) {
  if (stream_) net_.stream().copy_to_device(ranges_[bucket].device, ranges_[bucket].host, ranges_[bucket].bytes);
}

std::vector<std::string> StagedSum::notes() const {
  std::vector<std::string> all = notes_;
  for (std::string& note : all_reduce_->notes()) all.push_back(std::move(note));
  return all;
}

}  // namespace robusta
