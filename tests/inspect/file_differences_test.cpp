// caffe diff: what is equal, what is not, and what cannot be compared.
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "inspect/array_difference.h"
#include "inspect/file_differences.h"
#include "schema/blob_proto.h"
#include "schema/state_file.h"
#include "schema/weights_file.h"
#include "solver/process.h"
#include "support/errors.h"

namespace robusta::test::file_differences_test {
namespace {

const char* const kNet = R"(name: 'toy'
layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } }
layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' inner_product_param { num_output: 5 } }
layer { name: 'b' type: 'ReLU' bottom: 'a' top: 'b' }
)";

struct Said {
  bool differs;
  std::string text;
};

class FileDifferences : public ::testing::Test {
 protected:
  Said diff(double epsilon = 0) {
    std::ostringstream out;
    const bool differs = print_file_differences(out, a, b, {.epsilon = epsilon});
    return {differs, out.str()};
  }
  void write_weights_of(const std::string& path,
                        const std::vector<std::pair<std::string, std::vector<float>>>& layers) {
    caffe::NetParameter net;
    net.set_name("toy");
    for (const auto& [name, values] : layers) {
      auto* layer = net.add_layer();
      layer->set_name(name);
      layer->set_type("InnerProduct");
      blob_to_proto({static_cast<int64_t>(values.size())}, values.data(), layer->add_blobs());
    }
    write_weights(path, net);
  }

  const TempDir folder;
  const std::string a = folder / "a", b = folder / "b";
};

TEST_F(FileDifferences, NetsInTheirNewestForm) {
  write_file(a, kNet);
  write_file(b,
             "name: 'toy' input: 'x' input_shape { dim: 2 dim: 3 }\n"
             "layers { name: 'a' type: INNER_PRODUCT bottom: 'x' top: 'a' inner_product_param { num_output: 5 } }\n"
             "layers { name: 'b' type: RELU bottom: 'a' top: 'b' relu_param { negative_slope: 0 } }\n");
  // Upgrading calls the input layer "input".
  std::string text = read_file(a);
  text.replace(text.find("name: 'x'"), 9, "name: 'input'");
  write_file(a, text);
  const Said said = diff();
  EXPECT_FALSE(said.differs) << said.text;
  EXPECT_TRUE(contains(said.text, "no difference: both hold a net"));
}

TEST_F(FileDifferences, LayersAddedRemovedChangedMoved) {
  write_file(a, kNet);
  std::string text = kNet;
  text.replace(text.find("num_output: 5"), 13, "num_output: 6");
  text.replace(text.find("name: 'b'"), 9, "name: 'c'");
  write_file(b, text);
  const Said said = diff();
  EXPECT_TRUE(said.differs);
  EXPECT_TRUE(contains(said.text, "changed layer \"a\", " + a + ":3 and " + b +
                                      ":3\n"
                                      "    inner_product_param.num_output: 5 -> 6\n"));
  EXPECT_TRUE(contains(said.text, "removed layer \"b\", ReLU, " + a + ":4\n"));
  EXPECT_TRUE(contains(said.text, "added layer \"c\", ReLU, " + b + ":4\n"));
  EXPECT_FALSE(contains(said.text, "another order"));
  write_file(b, "name: 'toy'\nlayer { name: 'b' type: 'ReLU' bottom: 'a' top: 'b' }\n" + std::string(kNet).substr(12));
  write_file(a, std::string(kNet) + "layer { name: 'b' type: 'ReLU' bottom: 'a' top: 'b' }\n");
  EXPECT_TRUE(contains(diff().text, "another order"));
}

TEST_F(FileDifferences, Solvers) {
  write_file(a, "net: 'n' base_lr: 0.1 solver_type: ADAM");
  write_file(b, "net: 'n' base_lr: 0.1 type: 'Adam'");
  EXPECT_FALSE(diff().differs) << diff().text;
  write_file(b, "net: 'n' base_lr: 0.2 type: 'Adam' momentum: 0.9");
  EXPECT_EQ(diff().text, "base_lr: 0.1 -> 0.2\nmomentum: absent -> 0.9\n");
  write_file(b, "net: 'n' base_lr: 0.2 tpye: 'Adam'");
  EXPECT_TRUE(contains(error_of([&] { diff(); }).what(), "did you mean \"type\""));
}

TEST_F(FileDifferences, WeightsWithTheLargestDifference) {
  write_weights_of(a, {{"one", {1, 2, 3}}, {"gone", {1}}, {"same", {4}}});
  write_weights_of(b, {{"one", {1, 2.5, 2}}, {"same", {4}}, {"new", {1}}});
  const Said said = diff();
  EXPECT_TRUE(said.differs);
  EXPECT_TRUE(contains(said.text, "removed layer \"gone\" with 1 array\n"));
  EXPECT_TRUE(contains(said.text, "added layer \"new\" with 1 array\n"));
  EXPECT_TRUE(matches(said.text, "one\\[0\\] +3 +3 +2 +1 +2 +0.5 +3\n")) << said.text;
  EXPECT_TRUE(contains(said.text, "1 of 2 arrays differ\n"));
  write_weights_of(b, {{"one", {1, 2.5, 2}}, {"gone", {1}}, {"same", {4}}});
  EXPECT_FALSE(diff(1).differs) << "all within epsilon";
  EXPECT_TRUE(diff(0.9).differs);
}

TEST_F(FileDifferences, StatesByFieldsAndHistories) {
  caffe::SolverState state;
  state.set_iter(10);
  const float values[] = {1, 2};
  blob_to_proto({2}, values, state.add_history());
  write_state(a, state);
  write_state(b, state);
  EXPECT_FALSE(diff().differs) << diff().text;
  state.set_iter(11);
  state.mutable_history(0)->set_data(0, 5);
  write_state(b, state);
  const Said said = diff();
  EXPECT_TRUE(contains(said.text, "iter: 10 -> 11\n"));
  EXPECT_TRUE(contains(said.text, "history[0]"));
}

TEST_F(FileDifferences, OtherKindsAreRefused) {
  write_file(a, kNet);
  write_file(b, "net: 'n' base_lr: 0.1");
  EXPECT_EQ(error_of([&] { diff(); }).kind(), ErrorKind::kUsage);
  write_file(b, std::string("\x00\x01\xff garbage", 12));
  EXPECT_EQ(error_of([&] { diff(); }).kind(), ErrorKind::kModel);
  EXPECT_EQ(error_of([&] {
              std::ostringstream out;
              print_file_differences(out, a, folder / "no", {});
            }).kind(),
            ErrorKind::kModel);
}

TEST(ArrayDifference, NumbersThatAreNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(array_difference({nan, inf, 1}, {nan, inf, 1}, 0).beyond, 0);
  const ArrayDifference d = array_difference({1, nan, -inf}, {1, 2, inf}, 1e30);
  EXPECT_EQ(d.beyond, 2);
  EXPECT_EQ(d.at, 1);
  EXPECT_EQ(d.largest, std::numeric_limits<double>::infinity());
}

TEST_F(FileDifferences, ExitCodes) {
  write_file(a, kNet);
  write_file(b, kNet);
  const std::string here = folder.path();
  EXPECT_EQ(run_caffe_program(here, {"diff", "a", "b"}).code, 0);
  write_file(b, std::string(kNet) + "force_backward: true");
  const Finished other = run_caffe_program(here, {"diff", "a", "b"});
  EXPECT_EQ(other.code, 1);
  EXPECT_EQ(other.out, "force_backward: absent -> true\n");
  EXPECT_EQ(run_caffe_program(here, {"diff", "a", "absent"}).code, 4);
}

}  // namespace
}  // namespace robusta::test::file_differences_test
