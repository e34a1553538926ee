// Reduce-scatter over each dimension in turn and all-gather back (Thakur, Rabenseifner and Gropp 2005, "Optimization of
// Collective Communication Operations in MPICH", section 4.4, dimension by dimension). Everything is enqueued; the host
// waits for the votes alone, and looks at peers, errors and the clock while it does.
#include "solver/ranks/sums/nccl/nccl_sum.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/str.h"
#include "solver/ranks/sums/nccl/nccl_error.h"

namespace robusta {
namespace {

constexpr int kYields = 1000;                  // some milliseconds
constexpr std::chrono::microseconds kNap{20};  // never longer: the GPU is idle until the next iteration is enqueued

Span span_of(const Bucket& bucket, DType type) {
  return {static_cast<std::byte*>(bucket.data), bucket.count, type, bucket.tail};
}

/// What is left for `between`, at most.
size_t staged_bytes(const Buckets& buckets, DType type, const std::vector<NcclDimension>& dimensions) {
  size_t most = 0;
  for (const Bucket& bucket : buckets) {
    Span span = span_of(bucket, type);
    for (const NcclDimension& dimension : dimensions) span = dimension.comm->piece(span);
    most = std::max(most, span.bytes());
  }
  return most;
}

}  // namespace

NcclSum::NcclSum(Net& net, Buckets buckets, std::vector<NcclDimension> dimensions, std::unique_ptr<AllReduce> between,
                 NcclPatience patience, std::vector<std::string> notes)
    : BucketSum(std::move(buckets)),
      net_(net),
      type_(net.options().dtype),
      dimensions_(std::move(dimensions)),
      between_(std::move(between)),
      patience_(std::move(patience)),
      notes_(std::move(notes)),
      tail_(net.options().device->host_memory(tail_of(buckets_.back(), type_).size())),
      stream_(net.options().device->make_stream()),
      progress_(buckets_.size()) {
  std::memset(tail_.get(), 0, tail_of(buckets_.back(), type_).size());
  if (between_) staging_ = net.options().device->host_memory(staged_bytes(buckets_, type_, dimensions_));
}

NcclSum::~NcclSum() {
  if (!ended()) abort();
  dimensions_.clear();  // before the stream that they have worked in
}

bool NcclSum::ended() noexcept {
  try {
    look();
    return !under_way();
  } catch (...) {
    return false;
  }
}

void NcclSum::complete(BucketId bucket) { progress_[bucket].complete = net_.stream().record(); }

void NcclSum::deliver(BucketId bucket) { net_.stream().wait(progress_[bucket].summed); }

void NcclSum::sum(BucketId bucket) {
  try {
    if (bucket == BucketId(0)) next_ = first_open_ = bucket;
    if (!under_way()) moved_ = Clock::now();
    enqueue(bucket);
    if (bucket + 1 < buckets_.end_id()) return;
    wait_for(*progress_[bucket].summed);
    for (const Progress& each : progress_) seconds_ += each.summed->ms_since(*each.begun) / 1000;
  } catch (...) {
    abort();
    throw;
  }
}

void NcclSum::enqueue(BucketId id) {
  const Bucket& bucket = buckets_[id];
  const Span span = span_of(bucket, type_);
  const std::span<std::byte> tail = tail_of(bucket, type_);
  Progress& progress = progress_[id];
  stream_->wait(progress.complete);
  progress.begun = stream_->record_timed();
  if (!tail.empty()) stream_->copy_to_device(tail.data(), tail_.get(), tail.size());
  reduce(span, 0);
  if (!tail.empty()) stream_->copy_to_host(tail_.get(), tail.data(), tail.size());
  progress.summed = stream_->record_timed();
  next_ = id + 1;
  bytes_ += static_cast<double>(span.bytes());
}

void NcclSum::reduce(const Span& span, size_t depth) {
  if (span.count == 0) return;
  if (depth == dimensions_.size()) return reduce_between(span);
  NcclComm& comm = *dimensions_[depth].comm;
  if (depth + 1 == dimensions_.size() && !between_) return comm.all_reduce(*stream_, span);
  comm.reduce_scatter(*stream_, span);
  reduce(comm.piece(span), depth + 1);
  comm.all_gather(*stream_, span);
}

void NcclSum::reduce_between(const Span& span) {
  stream_->copy_to_host(staging_.get(), span.data, span.bytes());
  wait_for(*stream_->record());
  between_->sum(staging_.get(), span.count, span.type, span.exact);
  moved_ = Clock::now();
  stream_->copy_to_device(span.data, staging_.get(), span.bytes());
}

void NcclSum::wait_for(Event& event) {
  for (int looks = 0; !event.reached(); ++looks) {
    check();
    if (looks < kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
  look();
}

void NcclSum::look() {
  for (; under_way() && progress_[first_open_].summed->reached(); ++first_open_) moved_ = Clock::now();
}

void NcclSum::check() {
  try {
    look();
    patience_.check_peers();
    for (const NcclDimension& dimension : dimensions_) dimension.comm->check();
    const double still = std::chrono::duration<double>(Clock::now() - moved_).count();
    if (patience_.limit_s <= 0 || still <= patience_.limit_s) return;
    throw NcclTimeout(str("bucket ", first_open_ + 1, " of ", buckets_.size()), patience_.limit_s);
  } catch (...) {
    abort();
    throw;
  }
}

void NcclSum::abort() noexcept {
  for (const NcclDimension& dimension : dimensions_) dimension.comm->abort();
}

std::string NcclSum::describe() const {
  std::string members;
  for (const NcclDimension& dimension : dimensions_)
    members += str(members.empty() ? "" : "x", dimension.comm->members());
  const std::string nccl = str("NCCL ", dimensions_[0].comm->api().version_text(), " over ", members, " ranks");
  return between_ ? str(nccl, ", then by way of host memory ", between_->describe()) : nccl;
}

std::vector<std::string> NcclSum::notes() const {
  std::vector<std::string> all = notes_;
  if (between_) {
    for (std::string& note : between_->notes()) all.push_back(std::move(note));
  }
  return all;
}

std::vector<DimensionTime> NcclSum::take_times() {
  std::vector<DimensionTime> times = between_ ? between_->take_times() : std::vector<DimensionTime>{};
  double between = 0;
  for (const DimensionTime& time : times) between += time.seconds;
  std::string names;
  int ranks = 1;
  for (const NcclDimension& dimension : dimensions_) {
    names += str(names.empty() ? "" : ", ", dimension.name);
    ranks *= dimension.comm->members();
  }
  times.insert(times.begin(), {names, "NCCL", std::max(seconds_ - between, 0.0), 2 * bytes_ * (ranks - 1) / ranks});
  seconds_ = bytes_ = 0;
  return times;
}

}  // namespace robusta
