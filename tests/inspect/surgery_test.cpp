// caffe surgery: layers renamed, dropped, transplanted, fitted to a net.
#include <gtest/gtest.h>

#include "inspect/surgery.h"
#include "schema/blob_proto.h"
#include "schema/weights_file.h"
#include "solver/process.h"
#include "support/errors.h"

namespace robusta::test::surgery_test {
namespace {

class Surgery : public ::testing::Test {
 protected:
  struct Made {
    std::string name;
    std::vector<int64_t> shape;
    float value;
  };
  void write(const std::string& path, const std::vector<Made>& layers) {
    caffe::NetParameter net;
    net.set_name("toy");
    for (const Made& made : layers) {
      auto* layer = net.add_layer();
      layer->set_name(made.name);
      layer->set_type("InnerProduct");
      layer->mutable_inner_product_param()->set_num_output(static_cast<uint32_t>(made.shape[0]));
      layer->mutable_inner_product_param()->set_bias_term(false);
      const std::vector<float> values(static_cast<size_t>(checked_count(made.shape)), made.value);
      blob_to_proto(made.shape, values.data(), layer->add_blobs());
    }
    write_weights(path, net);
  }
  void SetUp() override {
    write(in, {{"a", {2, 3}, 1}, {"b", {4, 2}, 2}, {"c", {5, 4}, 3}});
    write(donor, {{"b", {4, 2}, 20}, {"other", {7, 4}, 70}});
  }
  static std::vector<std::string> names(const caffe::NetParameter& net) {
    std::vector<std::string> names;
    for (const auto& layer : net.layer()) names.push_back(layer.name());
    return names;
  }
  using Names = std::vector<std::string>;

  const TempDir folder;
  const std::string in = folder / "in.caffemodel", donor = folder / "donor.caffemodel";
};

TEST_F(Surgery, NamesAreExchangedAllAtOnce) {
  const caffe::NetParameter net = operate(in, {.rename = parse_renamings("a=b,b=a")});
  EXPECT_EQ(names(net), (Names{"b", "a", "c"}));
  EXPECT_EQ(net.layer(0).blobs(0).data(0), 1);
  EXPECT_EQ(net.layer(0).inner_product_param().num_output(), 2u) << "the definition goes with its layer";
  EXPECT_EQ(error_of([&] { operate(in, {.rename = parse_renamings("a=c")}); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(names(operate(in, {.rename = parse_renamings("a=new")})), (Names{"new", "b", "c"}));
}

TEST_F(Surgery, DropsWhatIsThere) {
  EXPECT_EQ(names(operate(in, {.drop = {"b"}})), (Names{"a", "c"}));
  EXPECT_EQ(error_of([&] { operate(in, {.drop = {"nowhere"}}); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { operate(in, {.drop = {"a", "b", "c"}}); }).kind(), ErrorKind::kUsage);
}

TEST_F(Surgery, TransplantsOfTheSameShapes) {
  const caffe::NetParameter net = operate(in, {.transplant = parse_transplants(donor + ":b,other=d")});
  EXPECT_EQ(names(net), (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(net.layer(1).blobs(0).data(0), 20);
  EXPECT_EQ(net.layer(3).blobs(0).shape().dim(0), 7);
  const Error other = error_of([&] { operate(in, {.transplant = parse_transplants(donor + ":other=c")}); });
  EXPECT_EQ(other.kind(), ErrorKind::kModel);
  EXPECT_TRUE(contains(other.what(), "layer \"c\": its arrays are 5 4 (20)"));
}

const char* const kNet = R"(
  layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } }
  layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' inner_product_param { num_output: 2 bias_term: false } }
  layer { name: 'b' type: 'InnerProduct' bottom: 'a' top: 'b' inner_product_param { num_output: 4 bias_term: false } }
  layer { name: 'c' type: 'InnerProduct' bottom: 'b' top: 'c' inner_product_param { num_output: 7 bias_term: false } }
)";

TEST_F(Surgery, ANetSaysWhatHasToFit) {
  const std::string like = folder / "net.prototxt";
  write_file(like, kNet);
  const Error unlike = error_of([&] { operate(in, {.like = like}); });
  EXPECT_EQ(unlike.kind(), ErrorKind::kModel);
  EXPECT_TRUE(contains(unlike.what(), "layer \"c\": the net wants 7 4 (28)"));
  const caffe::NetParameter net = operate(in, {.transplant = parse_transplants(donor + ":other=c"), .like = like});
  EXPECT_EQ(names(net), (Names{"a", "b", "c"}));
  EXPECT_EQ(net.layer(2).blobs(0).data(0), 70);
  write(in, {{"c", {7, 4}, 3}, {"a", {2, 3}, 1}, {"zz", {1, 1}, 9}});
  EXPECT_EQ(names(operate(in, {.like = like})), (Names{"a", "c"})) << "in the order of the net";
}

TEST_F(Surgery, WordsThatMakeNoSense) {
  for (const char* list : {"=b", "a=", "a=b,a=c"})
    EXPECT_EQ(error_of([&] { parse_renamings(list); }).kind(), ErrorKind::kUsage) << list;
  for (const char* text : {"file", ":a", "file:", "f:a;g"})
    EXPECT_EQ(error_of([&] { parse_transplants(text); }).kind(), ErrorKind::kUsage) << text;
}

TEST_F(Surgery, TheProgramWritesWhatCaffeReads) {
  const std::string here = folder.path();
  const Finished done =
      run_caffe_program(here, {"surgery", "in.caffemodel", "-output", "out.caffemodel", "-rename", "c=ip3", "-drop=a"});
  EXPECT_EQ(done.code, 0) << done.log;
  const WeightsFile file = read_weights(folder / "out.caffemodel");
  ASSERT_EQ(file.layers.size(), 2u);
  EXPECT_EQ(file.layers[1].name, "ip3");
  EXPECT_EQ(file.layers[1].blobs[0].data[0], 3);
  EXPECT_EQ(run_caffe_program(here, {"surgery", "in.caffemodel"}).code, 1);
  EXPECT_EQ(run_caffe_program(here, {"surgery", "in.caffemodel", "-output", "o.caffemodel.h5"}).code, 9);
  EXPECT_EQ(run_caffe_program(here, {"surgery", "absent", "-output", "o"}).code, 4);
}

}  // namespace
}  // namespace robusta::test::surgery_test
