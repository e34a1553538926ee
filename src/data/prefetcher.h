/// Makes batches ahead of the net, on threads of its own.
///
/// One thread takes batches; the workers fill the next `depth` ones meanwhile, each batch by all of them, earlier
/// batches first. Which those are is foretold from the last two positions; when another one is asked for (a resume,
/// another test pass) what was made is dropped. Number and timing of the threads change no result. Memory: depth + 3
/// batches at most, and one per worker for a moment after a drop; it is the device's host memory, since the net reads
/// batches where they lie. Taking one batch after the other allocates nothing on the caller's thread. The workers start
/// with the first batch; the destructor waits only for the few samples in their hands.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "data/batch.h"
#include "robusta/error.h"

namespace robusta {

class Prefetcher {
 public:
  /// REQUIRES: `filler` and `device` outlive this; depth, threads >= 1.
  Prefetcher(const BatchFiller& filler, int depth, int threads, Device& device = cpu_device());
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Waits for this batch; it is the caller's, who may write over it, until the next call, and until Batch::reader is
  /// reached if the caller sets that. `next_first` is the position of the batch that will be asked for after it. Throws
  /// what the filler threw: of several failing samples the first one's error.
  Batch& take(const BatchPlan& plan, uint64_t next_first);

  /// Seconds that `take` has waited so far.
  double seconds_waited() const { return seconds_waited_; }

 private:
  enum class Stage { kNew, kOpening, kFilling };

  /// A batch in the making. All but the samples that a worker has claimed is guarded by mutex_.
  struct Job {
    Batch batch;
    Stage stage = Stage::kNew;
    int64_t claimed = 0;  // samples given out
    int busy = 0;         // workers at it
    int64_t failed_at = -1;
    std::optional<Error> error;

    bool done() const { return busy == 0 && (error || (stage == Stage::kFilling && claimed == batch.plan.size)); }
  };
  using JobPtr = std::shared_ptr<Job>;

  void start_workers();
  void give_back();
  void work();
  JobPtr find_work() const;
  void open(const JobPtr& job, std::unique_lock<std::mutex>& lock);
  void take_spare(Batch& batch);
  void make_room(Batch& batch) const;
  void fill_some(const JobPtr& job, std::unique_lock<std::mutex>& lock);
  void expect(const BatchPlan& first, uint64_t stride);
  void wait_for(const JobPtr& job, std::unique_lock<std::mutex>& lock);
  int64_t portion(int64_t batch) const;

  const BatchFiller& filler_;
  const size_t depth_;  ///< batches in the queue
  const int thread_count_;
  Device& device_;
  std::vector<std::thread> threads_;

  std::mutex mutex_;
  std::condition_variable work_;   // something to claim, or the end
  std::condition_variable ready_;  // a job is done
  // Vectors, though they lose elements in front: these keep their memory, and hold few.
  std::vector<JobPtr> queue_;  // in the order in which they will be taken
  std::vector<Batch> spare_;   // whose memory is used again, the one given back first in front
  bool stopping_ = false;      ///< guarded by mutex_

  JobPtr current_;             // taken, the consumer's
  JobPtr idle_;                // the one before, for the next plan; null: none, the consumer's
  double seconds_waited_ = 0;  // the consumer's
};

}  // namespace robusta
