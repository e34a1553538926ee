/// Ranks that are not there: for layers that are looked at, or planned, as if they were cut, and never run.
#pragma once

#include <cassert>

#include "layers/kit/model_group.h"

namespace robusta {

class PlannedGroup : public ModelGroup {
 public:
  explicit PlannedGroup(int parts) : parts_(parts) {}
  int parts() const override { return parts_; }
  int part() const override { return 0; }
  void all_gather(const void*, size_t, void*) override { assert(false); }
  void all_to_all(const void*, size_t, void*) override { assert(false); }

 private:
  const int parts_;
};

}  // namespace robusta
