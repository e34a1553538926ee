// The data path on an accelerator: read, transformed and uploaded batch by batch.

#include <gtest/gtest.h>

#include "data/lmdb_writer.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/files.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// 10 records of 3 x 6 x 6 pixels.
void write_database(const std::string& folder) {
  LmdbWriter writer(folder);
  for (int i = 0; i < 10; ++i) {
    caffe::Datum datum;
    datum.set_channels(3);
    datum.set_height(6);
    datum.set_width(6);
    datum.set_label(i % 5);
    std::string pixels(108, '\0');
    for (size_t p = 0; p < pixels.size(); ++p) pixels[p] = static_cast<char>(i * 31 + p * 7);
    datum.set_data(pixels);
    writer.put("0000000" + std::to_string(i), datum.SerializeAsString());
  }
  writer.finish();
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

}  // namespace
}  // namespace robusta::test
