/// Brings the weighted outputs of a forward pass to the host, beside what the device does next.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "net/graph/graph.h"
#include "net/plan/plan.h"

namespace robusta {

class LossReader {
 public:
  /// Keeps a reference to the plan.
  LossReader(const Graph& graph, const Plan& plan, Device& device);

  /// After the steps of a forward pass; `tensor_of` says where a value lies, a null tensor that it does not count. One
  /// pass at a time.
  void enqueue(Stream& stream, const std::function<Tensor(ValueId value)>& tensor_of);
  /// Waits until the pass is there, and returns its loss: the sum of weight x value over what counts. Throws what
  /// failed in its work.
  double wait(Stream& stream);

 private:
  struct Part {
    ValueId value;
    float weight;
    TensorDesc desc;
    size_t offset;
    std::shared_ptr<Reorder> to_plain;  ///< null: plain already
    bool counts = true;                 ///< in the pass that is under way
  };
  double sum(const Part& part) const;

  std::vector<Part> parts_;
  std::shared_ptr<void> host_;    ///< page-locked where the device wants it so
  std::shared_ptr<Event> there_;  ///< the losses have reached the host
};

}  // namespace robusta
