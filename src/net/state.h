/// What a net is made of, for its own parts: running (net.h), blobs (blobs.h) and diagnostics (diagnostics.h).
#pragma once

#include <memory>

#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"
#include "robusta/error.h"

namespace robusta {

class Executor;

struct NetState {
  NetOptions options;
  Graph graph;
  Plan plan;
  std::shared_ptr<Stream> stream;
  /// Another after each planning. Null in nets that are only planned, and after a planning that has left no memory even
  /// for what was before; the next pass tries again.
  std::unique_ptr<Executor> executor;

  /// Throws Error{kMemory} where there is none.
  Executor& running() const {
    if (executor) return *executor;
    throw Error(ErrorKind::kMemory, "the net has no memory since it was planned again: what it held is lost",
                "free memory, write its inputs and run a pass");
  }
};

}  // namespace robusta
