/// Who carries what crosses between a stage on this rank and one on another: a thread, while the stage computes.
///
/// It stands between two bounded buffers (stage_channel.h), one on each rank: the courier of the sender empties the
/// one and sends, that of the receiver fills the other. Stages therefore see the same buffers as within a process. A
/// thread of its own, as MPI moves large messages only while somebody waits for them.
///
/// Whatever ends the training, nobody waits for a peer that does not come: a courier that is in the midst of a message
/// then is left to itself, with all that it uses, until the others have learnt that this rank has failed.
#pragma once

#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "solver/pipeline/stage_channel.h"

namespace robusta {

/// What goes between two ranks one way, in this order for each micro-batch. Its parts outlive whoever uses them.
struct Freight {
  std::shared_ptr<Communicator> road;  ///< of the two ranks, for this alone
  int peer = 0;                        ///< the other one
  bool out = false;                    ///< to it
  std::shared_ptr<PipelineSignal> signal;
  std::vector<std::shared_ptr<StageChannel>> blobs;
};

class Courier {
 public:
  explicit Courier(Freight freight);
  /// REQUIRES: the signal says broken, or all is carried.
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  /// Carries what so many micro-batches have of each blob. REQUIRES: all before is carried.
  void start(int micro_batches);
  /// Until that is done. Throws what has ended it: PipelineBroken, Error{kCommunication}.
  void wait();
  /// What has ended it, if it is not the signal; null: nothing.
  std::exception_ptr error() const;
  /// Bytes so far.
  double bytes() const;
  bool out() const;

 private:
  struct Work;
  std::shared_ptr<Work> work_;
  std::thread thread_;
};

}  // namespace robusta
