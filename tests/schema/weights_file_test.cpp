#include "schema/weights_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "schema/state_file.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta {
namespace {

using test::contains;
using test::error_of;

class Weights : public ::testing::Test {
 protected:
  WeightsFile read(const std::string& bytes) {
    test::write_file(path_, bytes);
    return read_weights(path_);
  }
  WeightsFile read(const caffe::NetParameter& net) { return read(net.SerializeAsString()); }
  std::string failure(const std::string& bytes, ErrorKind kind = ErrorKind::kModel) {
    const Error error = error_of([&] { read(bytes); });
    EXPECT_EQ(error.kind(), kind);
    EXPECT_EQ(error.location(), path_);
    return error.what();
  }
  /// One layer "l" of the given type, its only array filled in by `fill`.
  BlobData read_blob(const std::function<void(caffe::BlobProto*)>& fill) {
    caffe::NetParameter net;
    net.add_layer()->set_name("l");
    fill(net.mutable_layer(0)->add_blobs());
    return read(net).layers.at(0).blobs.at(0);
  }

  test::TempDir dir_;
  std::string path_ = dir_ / "x.caffemodel";
};

caffe::NetParameter small_net() {
  caffe::NetParameter net;
  net.set_name("small");
  for (const std::string name : {"conv1", "relu1", "conv2"}) {
    caffe::LayerParameter* layer = net.add_layer();
    layer->set_name(name);
    layer->set_type(name == "relu1" ? "ReLU" : "Convolution");
    layer->set_phase(caffe::TEST);
    layer->mutable_convolution_param()->add_kernel_size(3);
    if (name == "relu1") continue;
    const float values[] = {1, 2, 3, 4, 5, 6};
    blob_to_proto({2, 3}, values, layer->add_blobs());
    blob_to_proto({2}, values + 3, layer->add_blobs());
  }
  return net;
}

TEST_F(Weights, ComeBackAsWritten) {
  write_weights(path_, small_net());
  const WeightsFile weights = read_weights(path_);
  EXPECT_EQ(weights.net_name, "small");
  ASSERT_EQ(weights.layers.size(), 3u);
  EXPECT_EQ(weights.layers[1].type, "ReLU");
  EXPECT_TRUE(weights.layers[1].blobs.empty());
  const LayerWeights& conv = weights.layers[2];
  EXPECT_EQ(conv.name, "conv2");
  ASSERT_EQ(conv.blobs.size(), 2u);
  EXPECT_EQ(conv.blobs[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(conv.blobs[0].data, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(conv.blobs[1].data, (std::vector<float>{4, 5}));
}

TEST_F(Weights, EveryPrefixParsesOrIsRefused) {
  const std::string whole = small_net().SerializeAsString();
  int refused = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    try {
      EXPECT_LE(read(whole.substr(0, length)).layers.size(), 3u);
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.kind(), ErrorKind::kModel) << error.what();
    }
  }
  EXPECT_EQ(refused, static_cast<int>(whole.size()) - 2) << "only a cut between two layers goes unseen";
}

TEST_F(Weights, EveryChangedByteParsesOrIsRefused) {
  const std::string whole = small_net().SerializeAsString();
  for (size_t at = 0; at < whole.size(); ++at)
    for (const int flip : {0x07, 0x80}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      try {
        read(changed);
      } catch (const Error& error) {
        EXPECT_EQ(error.location(), path_);
      }
    }
}

TEST_F(Weights, SayWhereAFileIsCut) {
  const std::string whole = small_net().SerializeAsString();
  EXPECT_TRUE(contains(failure(whole.substr(0, whole.size() - 1)), "is cut or damaged at byte "));
}

TEST_F(Weights, RefuseHostileSizesWithoutTakingMemory) {
  // A layer of 2 GiB in a file of ten bytes; an array of 2 GiB in a layer of ten.
  EXPECT_TRUE(contains(failure(std::string("\xa2\x06\xff\xff\xff\xff\x07", 7)), "cut or damaged"));
  EXPECT_TRUE(contains(failure(std::string("\xa2\x06\x08\x3a\x06\x2a\xfc\xff\xff\xff\x07", 11)), "cut or damaged"));
  caffe::NetParameter net;
  net.add_layer()->set_name("big");
  caffe::BlobShape* shape = net.mutable_layer(0)->add_blobs()->mutable_shape();
  for (int i = 0; i < 4; ++i) shape->add_dim(int64_t{1} << 31);
  EXPECT_TRUE(contains(failure(net.SerializeAsString()), "layer \"big\": array 0: a shape with too many elements"));
  shape->clear_dim();
  shape->add_dim(-1);
  EXPECT_TRUE(contains(failure(net.SerializeAsString()), "negative length -1"));
  shape->set_dim(0, 7);
  EXPECT_TRUE(contains(failure(net.SerializeAsString()), "an array has 0 values, its shape says 7"));
}

TEST_F(Weights, RefuseGroupsWithoutEnd) { failure(std::string(1000, '\x0b')); }

TEST_F(Weights, RecogniseOtherFiles) {
  EXPECT_TRUE(contains(failure(""), "the file is empty"));
  EXPECT_TRUE(contains(failure("name: \"x\"\nlayer { }\n"), "this is text: \"name:"));
  EXPECT_TRUE(contains(failure("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n"), "git-lfs"));
  EXPECT_TRUE(contains(failure("<!DOCTYPE html>\n<html>"), "this is text: \"<!DOCTYPE html>\""));
  EXPECT_TRUE(contains(failure("\x89HDF\r\n\x1a\n....", ErrorKind::kUnsupported), "this is an HDF5 file"));
  caffe::SolverState state;
  state.set_iter(5);
  EXPECT_TRUE(contains(failure(state.SerializeAsString()), "this is a solver state"));
  caffe::NetParameter empty;
  empty.set_name("x");
  EXPECT_TRUE(contains(failure(empty.SerializeAsString()), "no layers in it"));
}

TEST_F(Weights, RefuseWhatCannotBeOpened) {
  EXPECT_EQ(std::string(error_of([&] { read_weights(dir_ / "none"); }).what()),
            (dir_ / "none") + ": cannot open: No such file or directory; check the path");
  EXPECT_TRUE(contains(error_of([&] { read_weights(dir_.path().string()); }).what(), "this is a folder"));
  const std::string big = dir_ / "big";
  test::write_file(big, "x");
  std::filesystem::resize_file(big, uintmax_t{1} << 31);  // sparse
  EXPECT_TRUE(contains(error_of([&] { read_weights(big); }).what(), "less than 2 GiB"));
}

TEST_F(Weights, LegacyDimsWinOverTheShape) {
  const BlobData blob = read_blob([](caffe::BlobProto* proto) {
    proto->set_num(1), proto->set_channels(1), proto->set_height(2), proto->set_width(1);
    proto->mutable_shape()->add_dim(99);
    proto->add_data(1), proto->add_data(2);
  });
  EXPECT_TRUE(blob.legacy_dims);
  EXPECT_EQ(blob.shape, (std::vector<int64_t>{1, 1, 2, 1}));
}

TEST_F(Weights, DoubleDataWins) {
  const BlobData blob = read_blob([](caffe::BlobProto* proto) {
    proto->mutable_shape()->add_dim(2);
    proto->add_data(8), proto->add_data(9);
    proto->add_double_data(0.5), proto->add_double_data(2);
  });
  EXPECT_EQ(blob.data, (std::vector<float>{0.5, 2}));
}

/// num, channels, length, height, width, data: from the third on with other numbers than everybody else's.
TEST_F(Weights, ReadC3dsArrays) {
  const auto message = [](char field, const std::string& content) {
    return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(content.size())} + content;
  };
  const auto array = [&](const std::vector<char>& dims, const std::vector<float>& values) {
    std::string bytes;
    for (size_t i = 0; i < dims.size(); ++i) bytes += std::string{static_cast<char>((i + 1) << 3), dims[i]};
    return bytes + message(6, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  };
  const std::vector<float> weights{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, bias{-1, -2};
  const std::string layer =
      message(4, "conv1a") + message(6, array({2, 1, 3, 1, 2}, weights)) + message(6, array({1, 1, 1, 1, 2}, bias));
  const WeightsFile file = read(message(2, layer));
  ASSERT_EQ(file.layers.at(0).blobs.size(), 2u);
  const BlobData& filter = file.layers[0].blobs[0];
  EXPECT_EQ(filter.shape, (std::vector<int64_t>{2, 1, 3, 1, 2}));
  EXPECT_EQ(filter.data, weights);
  EXPECT_TRUE(same_shape(file.layers[0].blobs[1], {2})) << "a bias of two";
  EXPECT_FALSE(same_shape(filter, {2, 1, 3, 2}));
  failure(message(2, message(4, "conv1a") + message(6, array({2, 1, 3, 1, 3}, weights))));
}

TEST_F(Weights, ReadNvidiasRawData) {
  const auto raw = [&](caffe::Type type, const std::string& bytes) {
    return read_blob([&](caffe::BlobProto* proto) {
             proto->mutable_shape()->add_dim(2);
             proto->set_raw_data_type(type);
             proto->set_raw_data(bytes);
           })
        .data;
  };
  EXPECT_EQ(raw(caffe::FLOAT, std::string("\0\0\x80\x3f\0\0\0\xc0", 8)), (std::vector<float>{1, -2}));
  EXPECT_EQ(raw(caffe::DOUBLE, std::string("\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40", 16)), (std::vector<float>{1, 2}));
  EXPECT_EQ(raw(caffe::FLOAT16, std::string("\x00\x3c\x01\x80", 4)), (std::vector<float>{1, -0x1p-24f}));
  EXPECT_EQ(raw(caffe::FLOAT16, std::string("\xff\x7b\x00\x7c", 4)), (std::vector<float>{65504, INFINITY}));
  EXPECT_EQ(raw(caffe::FLOAT16, std::string("\x00\x04\xff\x03", 4)), (std::vector<float>{0x1p-14f, 1023 * 0x1p-24f}));
  EXPECT_THROW(raw(caffe::FLOAT16, "abc"), Error);
  EXPECT_EQ(error_of([&] { raw(caffe::INT, "abcdefgh"); }).kind(), ErrorKind::kUnsupported);
}

TEST_F(Weights, UnpackedArraysAndUnknownFieldsAreFine) {
  // layer 100 { name 1 "l", blobs 7 { shape 7 { dim 1: 2 unpacked }, data 5: 1.0, data 5: -2.0, 99: 7 } }
  const std::string blob("\x3a\x02\x08\x02\x2d\0\0\x80\x3f\x2d\0\0\0\xc0\x98\x06\x07", 17);
  const std::string layer = std::string("\x0a\x01l\x3a") + static_cast<char>(blob.size()) + blob;
  const WeightsFile weights = read(std::string("\xa2\x06") + static_cast<char>(layer.size()) + layer);
  EXPECT_EQ(weights.layers.at(0).blobs.at(0).data, (std::vector<float>{1, -2}));
}

TEST_F(Weights, ForeignFieldsAtClashingNumbersDoNotMatter) {
  // NVIDIA writes 145 to 148 as numbers, where BVLC has messages.
  const std::string layer("\x0a\x01l\x88\x09\x01\x90\x09\x01\x98\x09\x01\xa0\x09\x01", 15);
  EXPECT_EQ(read(std::string("\xa2\x06\x0f") + layer).layers.at(0).name, "l");
}

TEST_F(Weights, ReadV1AndV0) {
  caffe::NetParameter net;
  caffe::V1LayerParameter* v1 = net.add_layers();
  v1->set_name("ip");
  v1->set_type(caffe::V1LayerParameter::INNER_PRODUCT);
  v1->add_blobs()->add_data(1);
  caffe::V0LayerParameter* v0 = net.add_layers()->mutable_layer();
  v0->set_name("old");
  v0->set_type("conv");
  v0->add_blobs()->add_data(2);
  const WeightsFile weights = read(net);
  EXPECT_EQ(weights.layers.at(0).name, "ip");
  EXPECT_EQ(weights.layers.at(0).type, "InnerProduct");
  EXPECT_EQ(weights.layers.at(1).name, "old");
  EXPECT_EQ(weights.layers.at(1).type, "Convolution");
  EXPECT_EQ(weights.layers.at(1).blobs.at(0).data, std::vector<float>{2});
}

TEST_F(Weights, OrderNvidiasOldBatchNorm) {
  const auto first_values = [&](const std::vector<std::vector<float>>& arrays) {
    caffe::NetParameter net;
    net.add_layer()->set_type("BatchNorm");
    for (const auto& array : arrays)
      blob_to_proto({static_cast<int64_t>(array.size())}, array.data(), net.mutable_layer(0)->add_blobs());
    const WeightsFile weights = read(net);
    std::vector<float> first;
    for (const BlobData& blob : weights.layers.at(0).blobs) first.push_back(blob.data.at(0));
    return first;
  };
  EXPECT_EQ(first_values({{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5}}), (std::vector<float>{3, 4, 5, 1, 2}));
  EXPECT_EQ(first_values({{3, 3}, {4, 4}, {5}, {1, 1}, {2, 2}}), (std::vector<float>{3, 4, 5, 1, 2}));
  EXPECT_EQ(first_values({{3, 3}, {4, 4}, {5}}), (std::vector<float>{3, 4, 5}));
}

TEST_F(Weights, WritingFailsCleanly) {
  const Error error = error_of([&] { write_weights(dir_ / "none/x", small_net()); });
  EXPECT_EQ(error.kind(), ErrorKind::kOutput);
  test::write_file(path_, "old");
  EXPECT_EQ(error_of([&] { write_weights("/dev/full/x", small_net()); }).kind(), ErrorKind::kOutput);
  EXPECT_EQ(test::read_file(path_), "old");
}

TEST(SameShape, LegacyShapesAlignToTheRight) {
  const BlobData legacy{{1, 1, 3, 5}, true, {}};
  EXPECT_TRUE(same_shape(legacy, {3, 5}));
  EXPECT_TRUE(same_shape(legacy, {1, 3, 5}));
  EXPECT_TRUE(same_shape(legacy, {1, 1, 3, 5}));
  EXPECT_FALSE(same_shape(legacy, {5, 3}));
  EXPECT_FALSE(same_shape(legacy, {15}));
  EXPECT_FALSE(same_shape(legacy, {1, 1, 1, 3, 5}));
  EXPECT_TRUE(same_shape({{1, 1, 1, 3, 5}, true, {}}, {3, 5}));
  EXPECT_TRUE(same_shape(BlobData{{1, 1, 1, 1}, true, {}}, {}));
  const BlobData plain{{1, 1, 3, 5}, false, {}};
  EXPECT_TRUE(same_shape(plain, {1, 1, 3, 5}));
  EXPECT_FALSE(same_shape(plain, {3, 5}));
}

}  // namespace
}  // namespace robusta
