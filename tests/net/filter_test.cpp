// Shapes that follow from values: nets with a Filter are planned again in the middle of a pass.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/lmdb/lmdb_writer.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "robusta/error.h"
#include "solver/reports/training_log.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// 10 records of 2 x 4 x 4 pixels with labels 0, 1, 2, 3, 4, 0, ...
void write_labelled(const std::string& folder) {
  LmdbWriter writer(folder);
  for (int i = 0; i < 10; ++i) {
    caffe::Datum datum;
    datum.set_channels(2);
    datum.set_height(4);
    datum.set_width(4);
    datum.set_label(i % 5);
    std::string pixels(32, '\0');
    for (size_t p = 0; p < pixels.size(); ++p) pixels[p] = static_cast<char>(i * 31 + p * p * 7);
    datum.set_data(pixels);
    writer.put("0000000" + std::to_string(i), datum.SerializeAsString());
  }
  writer.finish();
}

/// Items with label 0 do not count: filtered out before the loss, or ignored by it.
std::string net_text(const std::string& source, bool filters) {
  const std::string before = R"(
    layer { name: "d" type: "Data" top: "x" top: "label" transform_param { scale: 0.01 }
            data_param { source: ")" +
                             source + R"(" batch_size: 3 backend: LMDB } }
    layer { name: "c" type: "Convolution" bottom: "x" top: "c"
            convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "bn" type: "BatchNorm" bottom: "c" top: "c" }
    layer { name: "drop" type: "Dropout" bottom: "c" top: "c" dropout_param { dropout_ratio: 0.2 } }
    layer { name: "r" type: "ReLU" bottom: "c" top: "c" })";
  const std::string between = R"(
    layer { name: "f" type: "Filter" bottom: "c" bottom: "label" bottom: "label" top: "fc" top: "flabel" })";
  const std::string after = R"(
    layer { name: "ip" type: "InnerProduct" bottom: "C" top: "y"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "y" bottom: "LABEL" top: "loss"
            loss_param { ignore_label: 0 } })";
  std::string rest = after;
  rest.replace(rest.find("\"C\""), 3, filters ? "\"fc\"" : "\"c\"");
  rest.replace(rest.find("\"LABEL\""), 7, filters ? "\"flabel\"" : "\"label\"");
  return before + (filters ? between : "") + rest;
}

/// The losses, gradients and parameters of six passes over batches of 3, of which 2 or 3 items count.
std::vector<float> passes(const std::string& text, const NetOptions& options) {
  Net net(net_def(text), options);
  std::vector<float> all;
  for (uint64_t first = 0; first < 18; first += 3) {
    const Pass pass{.seed = 5, .first_sample = first, .next_sample = first + 3, .batch = 3};
    net.start_forward(pass);
    net.prefetch({.seed = 5, .first_sample = first + 3, .next_sample = first + 6, .batch = 3});
    all.push_back(static_cast<float>(net.finish_forward()));
    net.backward(pass, false);
    for (const ParamPtr& param : net.params()) {
      for (const float value : net.blobs().read_param(*param)) all.push_back(value);
      if (!param->learns) continue;
      for (const float value : net.blobs().read_param_diff(*param)) all.push_back(value);
    }
  }
  return all;
}

TEST(FilterInNet, IsWhatTheLossWouldIgnore) {
  const TempDir folder;
  write_labelled(folder / "db");
  const std::vector<float> want = passes(net_text(folder / "db", false), {});
  SimDevice gpu(size_t{64} << 20, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    for (const bool plain : {false, true}) {
      NetOptions options;
      options.device = device;
      options.share_memory = !plain;
      options.keep_blobs = plain;
      options.poison = !plain;
      const std::vector<float> got = passes(net_text(folder / "db", true), options);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 2e-5 * (1 + std::abs(want[i]))) << i << (plain ? " plain" : "");
      }
    }
  }
}

/// A loss before the Filter has run when the net is planned anew, and keeps what it divides by.
TEST(FilterInNet, LossesBeforeItStay) {
  const TempDir folder;
  write_labelled(folder / "db");
  const std::string plain = net_text(folder / "db", false);
  const std::string filtered = plain + R"(
    layer { name: "f" type: "Filter" bottom: "y" bottom: "label" bottom: "label" top: "fy" top: "flabel" }
    layer { name: "end" type: "Silence" bottom: "fy" bottom: "flabel" })";
  const std::vector<float> want = passes(plain, {}), got = passes(filtered, {});
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-5 * (1 + std::abs(want[i]))) << i;
}

constexpr char kFiltered[] = R"(
  layer { name: "in" type: "Input" top: "x" top: "s" input_param { shape { dim: 4 dim: 2 } shape { dim: 4 } } }
  layer { name: "pre" type: "Power" bottom: "x" top: "p" power_param { scale: 2 } }
  layer { name: "f" type: "Filter" bottom: "p" bottom: "s" top: "y" }
  layer { name: "late" type: "Input" top: "z" input_param { shape { dim: 3 } } }
  layer { name: "post" type: "Power" bottom: "z" top: "w" power_param { shift: 1 } })";

Pass pass_of(const Net& net) { return {.batch = net.batch()}; }

TEST(FilterInNet, ShapesFollowEachPass) {
  SimDevice gpu(size_t{1} << 20, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    NetOptions options;
    options.device = device;
    Net net(net_def(kFiltered), options);
    EXPECT_EQ(net.blobs().shape("y"), (Shape{4, 2}));
    net.blobs().write("x", {1, 2, 3, 4, 5, 6, 7, 8});
    net.blobs().write("z", {10, 20, 30});
    net.blobs().write("s", {0, 1, 0, 1});
    net.forward(pass_of(net));
    EXPECT_EQ(net.blobs().shape("y"), (Shape{2, 2}));
    EXPECT_EQ(net.blobs().read("y"), (std::vector<float>{6, 8, 14, 16}));
    EXPECT_EQ(net.blobs().read("w"), (std::vector<float>{11, 21, 31})) << "what a source behind was given";
    net.blobs().write("s", {1, 1, 0, 1});
    net.forward(pass_of(net));
    EXPECT_EQ(net.blobs().read("y"), (std::vector<float>{2, 4, 6, 8, 14, 16}));
    EXPECT_EQ(net.blobs().read("w"), (std::vector<float>{11, 21, 31}));
    net.blobs().write("s", {0, 0, 0, 0});
    net.forward(pass_of(net));
    EXPECT_EQ(net.blobs().shape("y"), (Shape{0, 2}));
    EXPECT_TRUE(net.blobs().read("y").empty());
  }
}

TEST(FilterInNet, OneBehindTheOther) {
  Net net(net_def(R"(
    layer { name: "in" type: "Input" top: "x" top: "s" input_param { shape { dim: 4 } shape { dim: 4 } } }
    layer { name: "f" type: "Filter" bottom: "x" bottom: "s" top: "y" }
    layer { name: "half" type: "Power" bottom: "y" top: "h" power_param { shift: -3 } }
    layer { name: "g" type: "Filter" bottom: "y" bottom: "h" top: "z" })"),
          {});
  net.blobs().write("x", {1, 2, 3, 4});
  net.blobs().write("s", {0, 1, 1, 1});
  net.forward(pass_of(net));
  EXPECT_EQ(net.blobs().read("z"), (std::vector<float>{2, 4}));
  net.blobs().write("s", {1, 1, 0, 1});
  net.forward(pass_of(net));
  EXPECT_EQ(net.blobs().read("z"), (std::vector<float>{1, 2, 4}));
}

TEST(FilterInNet, WhatVariesIsNoOutputToAverage) {
  Net net(net_def(kFiltered), {});
  const std::vector<OutputBlob> outputs = read_outputs(net);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].name, "w");
}

TEST(FilterInNet, WhoCannotTakeNothingSaysSo) {
  Net net(net_def(R"(
    layer { name: "in" type: "Input" top: "x" top: "s" input_param { shape { dim: 2 dim: 3 } shape { dim: 2 } } }
    layer { name: "f" type: "Filter" bottom: "x" bottom: "s" top: "y" }
    layer { name: "ip" type: "InnerProduct" bottom: "y" top: "z" inner_product_param { num_output: 2 } })"),
          {});
  const Error error = error_of([&] { net.forward(pass_of(net)); });  // selectors are zeros until they are written
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(error.what(), "layer \"ip\": bottom 0 has no elements")) << error.what();
  // The net goes on with the next batch.
  net.blobs().write("x", {1, 2, 3, 4, 5, 6});
  net.blobs().write("s", {0, 1});
  net.forward(pass_of(net));
  EXPECT_EQ(net.blobs().shape("z"), (Shape{1, 2}));
}

/// Of layers before the Filter, of it and behind it, also where the plan that they ran by is gone.
TEST(FilterInNet, TimesOfAllLayersAreBooked) {
  Net net(net_def(kFiltered), {});
  net.diagnostics().set_profiling(true);
  net.blobs().write("s", {0, 1, 0, 1});
  net.forward(pass_of(net));
  const std::vector<LayerTime> times = net.diagnostics().layer_times();
  const auto of = [&](const std::string& layer) {
    return std::ranges::find(times, layer, &LayerTime::layer)->forward_ms;
  };
  for (const char* layer : {"pre", "f", "post"}) EXPECT_NE(of(layer), 0) << layer;
  net.diagnostics().set_profiling(true);  // forgets
  for (const LayerTime& time : net.diagnostics().layer_times()) EXPECT_EQ(time.forward_ms, 0) << time.layer;
}

}  // namespace
}  // namespace robusta::test
