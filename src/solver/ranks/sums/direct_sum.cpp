// The library reads and writes the GPU's memory itself, so every bucket is waited for on the host before it is handed
// over, and only the tail needs copies.
#include "solver/ranks/sums/direct_sum.h"

#include <cstring>

namespace robusta {

DirectSum::DirectSum(Net& net, Buckets buckets, std::unique_ptr<AllReduce> all_reduce)
    : BucketSum(std::move(buckets)),
      net_(net),
      type_(net.options().dtype),
      all_reduce_(std::move(all_reduce)),
      tail_(net.options().device->host_memory(tail_of(buckets_.back(), type_).size())),
      stream_(net.options().device->make_stream()),
      complete_(buckets_.size()) {
  std::memset(tail_.get(), 0, tail_of(buckets_.back(), type_).size());
}

void DirectSum::complete(BucketId bucket) { complete_[bucket] = net_.stream().record(); }

void DirectSum::sum(BucketId id) {
  const Bucket& bucket = buckets_[id];
  const std::span<std::byte> tail = tail_of(bucket, type_);
  if (!tail.empty()) {
    stream_->copy_to_device(tail.data(), tail_.get(), tail.size());
    stream_->record()->wait();
  }
  complete_[id]->wait();
  net_.options().device->make_current();
  all_reduce_->sum(bucket.data, bucket.count, type_, bucket.tail);
  if (tail.empty()) return;
  stream_->copy_to_host(tail_.get(), tail.data(), tail.size());
  stream_->record()->wait();
}

std::string DirectSum::describe() const { return all_reduce_->describe() + ", in the memory of the GPUs"; }

}  // namespace robusta
