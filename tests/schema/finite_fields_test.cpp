// Numbers of layers that are NaN or infinite: refused where they stand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "schema/finite_fields.h"
#include "schema/read_text.h"
#include "support/errors.h"

namespace robusta::test::finite_fields_test {
namespace {

std::string net_with(const std::string& fields) {
  return "name: 'n'\nlayer {\n  name: 'a'\n  type: 'Power'\n  " + fields + "\n}\n";
}

std::string refused(const std::string& fields) {
  const Error error = error_of([&] { parse_net(net_with(fields), "net.prototxt"); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  return error.what();
}

TEST(FiniteFieldsTest, NanIsTakenNowhere) {
  EXPECT_EQ(refused("loss_weight: nan"), "net.prototxt:5: layer \"a\": loss_weight is nan; give a finite number");
  EXPECT_TRUE(
      contains(refused("transform_param {\n scale: nan }"), "net.prototxt:6: layer \"a\": transform_param.scale"));
  EXPECT_TRUE(contains(refused("transform_param { mean_value: 1 mean_value: nan }"), "mean_value[1]"));
  EXPECT_TRUE(contains(refused("clip_param { min: -inf max: nan }"), "clip_param.max"));
  EXPECT_TRUE(contains(refused("param { lr_mult: nan }"), "param.lr_mult is nan"));
}

TEST(FiniteFieldsTest, WhatWouldMakeEverythingInfiniteMayNotBe) {
  for (const char* fields : {"loss_weight: inf", "transform_param { scale: -inf }", "param { decay_mult: inf }",
                             "convolution_param { weight_filler { type: 'constant' value: inf } }"}) {
    EXPECT_TRUE(contains(refused(fields), "inf; give a finite number")) << fields;
  }
}

TEST(FiniteFieldsTest, SolversHaveNoBounds) {
  caffe::SolverParameter solver;
  solver.add_stagelr(1);
  solver.add_stagelr(std::numeric_limits<float>::infinity());
  const auto found = first_not_finite(solver, false);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, "stagelr[1]");
  EXPECT_FALSE(first_not_finite(solver, true));
}

/// They are looked at by themselves.
TEST(FiniteFieldsTest, NetsAndArraysInsideAreLeftOut) {
  caffe::SolverParameter solver;
  solver.mutable_net_param()->add_layer()->add_loss_weight(std::nanf(""));
  EXPECT_FALSE(first_not_finite(solver, false));
  caffe::LayerParameter layer;
  layer.add_blobs()->add_data(std::nanf(""));
  EXPECT_FALSE(first_not_finite(layer, true));
}

TEST(FiniteFieldsTest, BoundsMayBeInfinite) {
  EXPECT_NO_THROW(parse_net(net_with("clip_param { min: -inf max: inf }"), "net.prototxt"));
  EXPECT_NO_THROW(parse_net(net_with("power_param { power: 0 scale: 3e38 shift: -3e38 }"), "net.prototxt"));
}

}  // namespace
}  // namespace robusta::test::finite_fields_test
