/// What a net is made of, for its own parts: running (net.h), blobs (blobs.h) and diagnostics (diagnostics.h).
#pragma once

#include <memory>

#include "net/graph/graph.h"
#include "net/options.h"
#include "net/plan/plan.h"

namespace robusta {

class Executor;

struct NetState {
  NetOptions options;
  Graph graph;
  Plan plan;
  std::shared_ptr<Stream> stream;
  std::unique_ptr<Executor> executor;  ///< null in nets that are only planned; another after each planning
};

}  // namespace robusta
