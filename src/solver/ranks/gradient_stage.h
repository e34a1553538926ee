/// Gradients on their way between a GPU and the memory that ranks reduce.
///
/// A net on the host has its gradients in the communicator's memory, and there is nothing to do. One on a GPU has them
/// there, and a range of host memory of the same extents: each bucket is copied to it when its gradients are complete,
/// beside backward, reduced, and copied back before the update. The driving thread calls everything but `fetched`.
#pragma once

#include <memory>
#include <vector>

#include "net/net.h"
#include "solver/ranks/buckets.h"

namespace robusta {

class GradientStage {
 public:
  /// Keeps a reference. The net has its gradients in options.gradient_memory.
  explicit GradientStage(Net& net);

  /// Where the ranks see what the net has at `gradients`, an address within its gradients.
  void* host_of(void* gradients) const;
  /// Moves the buckets' addresses there. REQUIRES: called once, before what follows.
  void move(std::vector<Bucket>& buckets);

  /// Starts the copy of a bucket whose gradients are enqueued.
  void fetch(size_t bucket);
  /// Blocks until that copy is done. By any thread.
  void fetched(size_t bucket);
  /// Enqueues the copy of the bucket's sums into the net's gradients.
  void store(size_t bucket);

 private:
  struct Range {
    void *host, *device;
    size_t bytes;  ///< less the tail, which only the host has
    std::shared_ptr<Event> fetched;
  };

  Net& net_;
  char *device_ = nullptr, *host_ = nullptr;  ///< null: the same memory
  std::shared_ptr<void> pinned_;
  std::unique_ptr<Stream> stream_;
  std::vector<Range> ranges_;
};

}  // namespace robusta
