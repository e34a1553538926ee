// What `caffe plan` prints of nets with something special about them.
#include <gtest/gtest.h>

#include "solver/process.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::plan_test {
namespace {

Finished plan(const std::string& net) {
  const TempDir folder;
  write_file(folder / "net.prototxt", net);
  return run_caffe_program(folder.path(), {"plan", "-model=net.prototxt"});
}

TEST(Plan, ANetThatFixesItsBatchIsPlanned) {
  const std::string input = "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 4 dim: 6 } } }\n";
  const std::string reshape = "layer { name: 'r' type: 'Reshape' bottom: 'x' top: 'r' reshape_param { shape { ";
  const Finished fixed = plan(input + reshape + "dim: 4 dim: 3 dim: 2 } } }");
  EXPECT_EQ(fixed.code, 0) << fixed.log;
  EXPECT_TRUE(contains(fixed.out, "Largest batch: the net fixes its batch")) << fixed.out;
  EXPECT_FALSE(contains(fixed.out, "Largest batch that fits")) << fixed.out;
  EXPECT_TRUE(contains(fixed.out, "net.prototxt:2: layer \"r\": ")) << fixed.out;
  const Finished free = plan(input + reshape + "dim: 0 dim: 3 dim: 2 } } }");
  EXPECT_EQ(free.code, 0) << free.log;
  EXPECT_TRUE(contains(free.out, "Largest batch that fits in ")) << free.out;
}

}  // namespace
}  // namespace robusta::test::plan_test
