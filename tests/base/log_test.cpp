#include "base/log.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace robusta::test::log_test {
namespace {

/// A line is written by a destructor: what a sink throws would end the program.
TEST(Log, ASinkThatThrowsLosesItsLineAndNothingElse) {
  int lines = 0;
  {
    const LogScope scope([&](const LogLine&) {
      ++lines;
      throw std::runtime_error("the sink is full");
    });
    LOG_INFO << "one";
    LOG_ERROR << "two";
  }
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace robusta::test::log_test
