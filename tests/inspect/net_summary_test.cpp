// caffe summary: counts that are worked out by hand.
#include <gtest/gtest.h>

#include <sstream>

#include "inspect/net_summary.h"
#include "solver/process.h"
#include "support/errors.h"
#include "support/nets.h"

namespace robusta::test::net_summary_test {
namespace {

const char* const kNet = R"(name: 'toy'
  layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }
  layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 4 kernel_size: 3 } }
  layer { name: 'relu' type: 'ReLU' bottom: 'c' top: 'c' }
  layer { name: 'a' type: 'InnerProduct' bottom: 'c' top: 'a' param { name: 'w' } param { lr_mult: 0 }
          inner_product_param { num_output: 5 } }
  layer { name: 'b' type: 'InnerProduct' bottom: 'c' top: 'b' param { name: 'w' } param { lr_mult: 0 }
          inner_product_param { num_output: 5 } }
)";

NetSummary summary_of_toy() {
  NetOptions options;
  options.plan_only = true;
  return summarise(Net(net_def(kNet), options));
}

TEST(NetSummary, CountsWhatTheLayersHave) {
  const NetSummary summary = summary_of_toy();
  ASSERT_EQ(summary.layers.size(), 5u) << "Split layers are not the user's";
  EXPECT_EQ(summary.batch, 2);
  const LayerSummary& conv = summary.layers[1];
  EXPECT_EQ(conv.param_count, 4 * 3 * 9 + 4);
  EXPECT_EQ(conv.tops.at(0).shape, (Shape{2, 4, 6, 6}));
  EXPECT_EQ(conv.top_bytes, 2 * 4 * 36 * 4);
  EXPECT_GE(conv.flops, 2.0 * 2 * 4 * 36 * 27) << "a multiply-add counts as two";
  EXPECT_LE(conv.flops, 2.0 * 2 * 4 * 36 * 27 + 2 * 4 * 36);
  EXPECT_TRUE(summary.layers[2].in_place);
  EXPECT_EQ(summary.layers[2].top_bytes, 0);
}

TEST(NetSummary, SharedParametersCountOnce) {
  const NetSummary summary = summary_of_toy();
  const LayerSummary &a = summary.layers[3], &b = summary.layers[4];
  EXPECT_EQ(a.param_count, 5 * 144 + 5);
  EXPECT_EQ(b.param_count, 5);
  EXPECT_EQ(b.shared_from, "a");
  EXPECT_EQ(b.bottoms.at(0).name, "c") << "not the name that a Split gives it";
  EXPECT_EQ(summary.params, 112 + 720 + 5 + 5);
  EXPECT_EQ(summary.learned, 112 + 720) << "biases have lr_mult 0";
}

TEST(NetSummary, JsonAndTableAreOfTheSameNet) {
  const NetSummary summary = summary_of_toy();
  std::ostringstream table, json;
  print_summary(table, summary);
  print_summary_json(json, summary);
  EXPECT_TRUE(contains(table.str(), "5 layers; parameters 842")) << table.str();
  EXPECT_TRUE(contains(json.str(), "\"params\": 842")) << json.str();
  EXPECT_TRUE(contains(json.str(), "\"tops\": [{\"name\": \"c\", \"shape\": [2,4,6,6]}]")) << json.str();
}

TEST(NetSummary, TheProgramTellsWhatIsWrong) {
  const TempDir folder;
  write_file(folder / "net.prototxt", kNet);
  EXPECT_EQ(run_caffe_program(folder.path(), {"summary", "net.prototxt"}).code, 0);
  EXPECT_EQ(run_caffe_program(folder.path(), {"summary"}).code, 1);
  EXPECT_EQ(run_caffe_program(folder.path(), {"summary", "net.prototxt", "-phase", "TRIAN"}).code, 1);
  write_file(folder / "bad.prototxt", "layer { name: 'x' type: 'Convolution' bottom: 'y' top: 'z' }");
  EXPECT_EQ(run_caffe_program(folder.path(), {"summary", "bad.prototxt"}).code, 2);
  const Finished batch = run_caffe_program(folder.path(), {"summary", "absent.prototxt"});
  EXPECT_EQ(batch.code, 2) << batch.log;
}

}  // namespace
}  // namespace robusta::test::net_summary_test
