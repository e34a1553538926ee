// The data path on an accelerator: read, transformed and uploaded batch by batch.

#include <gtest/gtest.h>

#include "base/philox.h"
#include "data/image.h"
#include "data/lmdb/lmdb_writer.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "robusta/error.h"
#include "schema/binary_file.h"
#include "schema/blob_proto.h"
#include "support/files.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// 10 records of 3 x 6 x 6 pixels, from record `floats` on as floats.
void write_database(const std::string& folder, int floats = 10) {
  LmdbWriter writer(folder);
  for (int i = 0; i < 10; ++i) {
    caffe::Datum datum;
    datum.set_channels(3);
    datum.set_height(6);
    datum.set_width(6);
    datum.set_label(i % 5);
    std::string pixels(108, '\0');
    for (size_t p = 0; p < pixels.size(); ++p) pixels[p] = static_cast<char>(i * 31 + p * 7);
    if (i < floats) {
      datum.set_data(pixels);
    } else {
      for (const char pixel : pixels) datum.add_float_data(static_cast<float>(pixel) + 0.25f);
    }
    writer.put("0000000" + std::to_string(i), datum.SerializeAsString());
  }
  writer.finish();
}

Image noise_image(const Extent& extent, uint64_t key) {
  Image image;
  image.reset(extent);
  PhiloxStream random(key);
  for (uint8_t& pixel : image.planes) pixel = static_cast<uint8_t>(random.below(200));
  return image;
}

/// Losses of six passes over batches of 4, mirrored and cropped at random.
std::vector<double> losses_on(Device& device, const std::string& source) {
  const std::string text = R"(
    layer { name: "d" type: "Data" top: "x" top: "label" transform_param { mirror: true crop_size: 5 scale: 0.01 }
            data_param { source: ")" +
                           source + R"(" batch_size: 4 backend: LMDB } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "y" bottom: "label" top: "loss" })";
  NetOptions options;
  options.device = &device;
  Net net(net_def(text), options);
  std::vector<double> losses;
  for (uint64_t first = 0; first < 24; first += 4) {
    const Pass pass{.seed = 5, .first_sample = first, .next_sample = first + 4, .batch = 4};
    losses.push_back(net.forward(pass));
    net.backward(pass, false);
  }
  return losses;
}

TEST(SimData, BatchesArriveAsOnTheHost) {
  const TempDir folder;
  write_database(folder / "lmdb");
  SimDevice device(size_t{1} << 20, 100);
  const std::vector<double> losses = losses_on(device, folder / "lmdb");
  EXPECT_EQ(losses, losses_on(cpu_device(), folder / "lmdb"));
  EXPECT_NE(losses[0], losses[1]);
  EXPECT_GE(device.bytes_to_device(), 6 * 4 * 75 * sizeof(float));
}

/// The tops of six passes over batches of 4 from this source, one after the other.
std::vector<float> tops_of_layer(Device& device, const std::string& type, const std::string& fields) {
  NetOptions options;
  options.device = &device;
  options.backward = false;
  Net net(net_def("layer { name: 'd' type: '" + type + "' top: 'x' top: 'label' " + fields + " }"), options);
  std::vector<float> all;
  for (uint64_t first = 0; first < 24; first += 4) {
    net.forward({.seed = 5, .first_sample = first, .next_sample = first + 4, .batch = 4});
    for (const char* blob : {"x", "label"}) {
      const std::vector<float> values = net.blobs().read(blob);
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

std::vector<float> tops_on(Device& device, const std::string& source, const std::string& transform) {
  return tops_of_layer(
      device, "Data",
      "transform_param { " + transform + " } data_param { source: '" + source + "' batch_size: 4 backend: LMDB }");
}

/// An item of the database less than its mean.
std::string write_mean(const TempDir& folder) {
  caffe::BlobProto mean;
  mean.set_num(1);
  mean.set_channels(3);
  mean.set_height(6);
  mean.set_width(6);
  for (int i = 0; i < 108; ++i) mean.add_data(static_cast<float>(i * 5 % 17) + 0.125f);
  write_binary_proto(folder / "mean.binaryproto", mean);
  return "mean_file: '" + (folder / "mean.binaryproto") + "' ";
}

TEST(SimData, GpusMakeTheSameNumbersOfPixels) {
  const TempDir folder;
  write_database(folder / "lmdb");
  const std::string mean = write_mean(folder), crop = "crop_size: 5 mirror: true scale: 0.01 ";
  for (const std::string& transform :
       {std::string(), std::string("mirror: true scale: 0.3"), crop, crop + "mean_value: 7.5",
        crop + "mean_value: 104 mean_value: 117 mean_value: 123", mean, crop + mean,
        std::string("resize_param { height: 9 width: 7 } mirror: true crop_size: 6 mean_value: 3")}) {
    SCOPED_TRACE(transform);
    SimDevice device(size_t{1} << 20, 100, "emulated");
    const std::vector<float> tops = tops_on(device, folder / "lmdb", transform);
    EXPECT_EQ(tops, tops_on(cpu_device(), folder / "lmdb", transform));
    // Zeros in the tops first, and the means; as numbers the batches alone would be 1.
    EXPECT_LT(device.bytes_to_device(), tops.size() * sizeof(float) * 2 / 3);
  }
}

/// Images with a label for each pixel, too, also where a crop shows more than the image.
TEST(SimData, PairsTravelAsPixels) {
  const TempDir folder;
  std::string list;
  for (int i = 0; i < 5; ++i) {
    const std::string image = folder / (std::to_string(i) + ".png"), map = folder / (std::to_string(i) + "map.png");
    const auto key = static_cast<uint64_t>(i);
    write_file(image, encode_image(noise_image({3, 30, 24}, key), ImageFormat::kPng));
    write_file(map, encode_image(noise_image({1, 30, 24}, key + 9), ImageFormat::kPng));
    list += image + " " + map + "\n";
  }
  write_file(folder / "list.txt", list);
  caffe::BlobProto mean;
  mean.set_num(1);
  mean.set_channels(3);
  mean.set_height(30);
  mean.set_width(24);
  for (int i = 0; i < 3 * 30 * 24; ++i) mean.add_data(static_cast<float>(i * 5 % 17) + 0.125f);
  write_binary_proto(folder / "mean.binaryproto", mean);
  const std::string means = "mean_value: 104 mean_value: 117 mean_value: 123 ",
                    source = "{ source: '" + (folder / "list.txt") + "' batch_size: 4 ";
  const std::pair<std::string, std::string> layers[] = {
      {"DenseImageData", "transform_param { mirror: true crop_size: 20 scale: 0.5 mean_file: '" +
                             (folder / "mean.binaryproto") + "' } dense_image_data_param " + source + "}"},
      {"ImageLabelmapData", "transform_param { mirror: true " + means + "} image_data_param " + source + "}"},
      {"ImageSegData", "transform_param { mirror: true crop_height: 36 crop_width: 20 " + means +
                           "} image_data_param " + source + "label_type: PIXEL }"},
      {"ImageSegData", "transform_param { mirror: true crop_size: 28 scale_factors: 0.5 scale_factors: 1.5 " + means +
                           "} image_data_param " + source + "label_type: PIXEL }"},
  };
  for (const auto& [type, fields] : layers) {
    SCOPED_TRACE(fields);
    SimDevice device(size_t{1} << 22, 100, "emulated");
    const std::vector<float> tops = tops_of_layer(device, type, fields);
    EXPECT_EQ(tops, tops_of_layer(cpu_device(), type, fields));
    // As above, with labels that stay numbers; as numbers all would be 7 / 6.
    EXPECT_LT(device.bytes_to_device(), tops.size() * sizeof(float) * 3 / 4);
  }
}

TEST(SimData, FloatsTravelAsTheyAre) {
  const TempDir folder;
  write_database(folder / "lmdb", 0);
  SimDevice device(size_t{1} << 20, 0, "emulated");
  const std::string transform = "crop_size: 5 mirror: true";
  EXPECT_EQ(tops_on(device, folder / "lmdb", transform), tops_on(cpu_device(), folder / "lmdb", transform));
}

TEST(SimData, FloatsAmongPixelsAreAnErrorThatNamesThem) {
  const TempDir folder;
  write_database(folder / "lmdb", 7);
  SimDevice device(size_t{1} << 20, 0, "emulated");
  try {
    tops_on(device, folder / "lmdb", "");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_NE(error.cause().find("00000007"), std::string::npos) << error.cause();
    EXPECT_NE(error.cause().find("holds floats"), std::string::npos) << error.cause();
  }
}

}  // namespace
}  // namespace robusta::test
