/// What a pass has computed so far, on its way from one plan of a net to the next.
///
/// Where the values of a blob decide over shapes (Layer::sizing_bottom) the net is planned again in the middle of a
/// pass. What comes before the deciding layer is planned as it was: the same steps, units and values, in the same
/// order, as planning looks at shapes and options alone. Only the memory may lie elsewhere.
#pragma once

#include <string>
#include <vector>

#include "net/state.h"

namespace robusta {

class LiveValues {
 public:
  /// Copies, in the net's stream, what steps from `at` on read of those before, and what the caller has written.
  LiveValues(NetState& net, StepId at);
  /// Into the memory of the net's new executor.
  void restore() const;

 private:
  struct Part {
    ValueId value;      ///< of both plans
    VersionId version;  ///< or, where none: of the plan's version
    size_t bytes, offset;
  };
  void add(ValueId value, VersionId version);
  void* address(const Part& part) const;

  NetState& net_;
  std::vector<Part> parts_;
  size_t bytes_ = 0;      ///< of all parts
  DeviceBuffer content_;  ///< their numbers, while the net is planned anew
};

}  // namespace robusta
