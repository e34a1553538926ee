#include "support/ranks.h"

#include <gtest/gtest.h>

#include <memory>

#include "comm/world.h"

namespace robusta::test {
namespace {

std::unique_ptr<Communicator>& joined() {
  static std::unique_ptr<Communicator> world;
  return world;
}

class LeaveWorld : public ::testing::Environment {
 public:
  void TearDown() override {
    if (!joined()) return;
    joined().reset();
    leave_world();
  }
};

const auto* const environment = ::testing::AddGlobalTestEnvironment(new LeaveWorld);

}  // namespace

Communicator& world() {
  if (!joined()) joined() = join_world();
  return *joined();
}

}  // namespace robusta::test
