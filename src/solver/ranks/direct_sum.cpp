#include "solver/ranks/direct_sum.h"

#include <cstring>

namespace robusta {

DirectSum::DirectSum(Net& net, std::vector<Bucket> buckets, std::unique_ptr<AllReduce> all_reduce)
    : BucketSum(std::move(buckets)),
      net_(net),
      type_(net.options().dtype),
      all_reduce_(std::move(all_reduce)),
      tail_(net.options().device->host_memory(tail_bytes(buckets_.back()))),
      stream_(net.options().device->make_stream()),
      complete_(buckets_.size()) {
  std::memset(tail_.get(), 0, tail_bytes(buckets_.back()));
}

void DirectSum::complete(size_t bucket) { complete_[bucket] = net_.stream().record(); }

void DirectSum::sum(size_t index) {
  const Bucket& bucket = buckets_[index];
  void* const tail =
      static_cast<std::byte*>(bucket.data) + static_cast<size_t>(bucket.count) * size_of(type_) - tail_bytes(bucket);
  if (bucket.tail > 0) {
    stream_->copy_to_device(tail, tail_.get(), tail_bytes(bucket));
    stream_->record()->wait();
  }
  complete_[index]->wait();
  net_.options().device->make_current();
  all_reduce_->sum(bucket.data, bucket.count, type_, bucket.tail);
  if (bucket.tail == 0) return;
  stream_->copy_to_host(tail_.get(), tail, tail_bytes(bucket));
  stream_->record()->wait();
}

std::string DirectSum::describe() const { return all_reduce_->describe() + ", in the memory of the GPUs"; }

}  // namespace robusta
