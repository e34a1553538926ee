#include <gtest/gtest.h>

#include <cmath>

#include "base/str.h"
#include "schema/blob_proto.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/kernel_checks.h"
#include "support/two_ranks.h"

namespace robusta::test::infogain_loss_test {
namespace {

/// Labels 0, 1, ..., last, 0, ... as bottom 1, a matrix of any numbers as bottom 2.
KernelCase loss(const Shape& scores, const Shape& labels, int last, const std::string& param = "", int tops = 1) {
  int axis = 1;
  if (param.find("axis: -1") != std::string::npos) axis = scores.axes() - 1;
  KernelCase what{{"type: 'InfogainLoss' " + param}, {scores, labels, {scores[axis], scores[axis]}}};
  what.tops = tops;
  what.bottom_values = [last](int bottom, const Shape& shape) {
    Array values;
    for (int64_t i = 0; bottom == 1 && i < shape.count(); ++i) values.push_back(static_cast<double>(i % (last + 1)));
    return values;
  };
  return what;
}

std::vector<KernelCase> cases() {
  return {
      loss({4, 5}, {4}, 4),
      loss({4, 5}, {4, 1}, 3, "", 2),
      loss({2, 4, 3, 2}, {2, 1, 3, 2}, 3),
      loss({2, 4, 3, 2}, {2, 3, 2}, 3, "", 2),
      loss({2, 3, 4}, {2, 3}, 3, "infogain_loss_param { axis: -1 }"),
      loss({2, 4, 3, 2}, {2, 3, 2}, 4, "loss_param { ignore_label: 4 }", 2),
      loss({2, 4, 3, 2}, {2, 3, 2}, 3, "loss_param { ignore_label: 2 normalization: FULL }"),
      loss({2, 4, 3, 2}, {2, 3, 2}, 3, "loss_param { ignore_label: 2 normalization: BATCH_SIZE }"),
      loss({2, 4, 3, 2}, {2, 3, 2}, 3, "loss_param { normalization: NONE }"),
  };
}

TEST(InfogainLossTest, Gradients) {
  for (const KernelCase& c : cases()) check_gradients(c);
}

TEST(InfogainLossTest, KernelsAgree) {
  for (const char* backend : {"reference", "native"}) {
    for (const KernelCase& c : cases()) compare_with_reference(backend, c, 3e-6);
    compare_with_reference(backend, loss({16, 100}, {16}, 99), 3e-6);
  }
}

TEST(InfogainLossTest, Gpu) {
  for (const KernelCase& c : cases()) compare_gpu_with_reference(c, 3e-6);
  compare_gpu_with_reference(loss({16, 100}, {16}, 99), 3e-6);
  compare_gpu_with_reference(loss({2, 3, 91, 97}, {2, 91, 97}, 2, "", 2), 3e-6);
}

TEST(InfogainLossTest, RanksShareADivisor) {
  TwoRanks ranks;
  const KernelOptions how{.pass = {.first_sample = 5, .next_sample = 9, .batch = 2, .ranks = &ranks}};
  const KernelCase what = loss({2, 4, 3, 2}, {2, 3, 2}, 3, "loss_param { ignore_label: 2 }");
  compare_with_reference("native", what, 3e-6, how);
  const int sums = ranks.sums;
  EXPECT_GT(sums, 0);
  compare_gpu_with_reference(what, 3e-6, how);
  EXPECT_GT(ranks.sums, sums);
}

/// A file with this matrix.
void write_matrix(const std::string& path, const std::vector<int64_t>& shape, const std::vector<float>& values) {
  caffe::BlobProto proto;
  blob_to_proto(shape, values.data(), &proto);
  write_binary_proto(path, proto);
}

TEST(InfogainLossTest, ReadsTheMatrixFromAFile) {
  const TempDir dir;
  const std::vector<float> matrix{1, 0.25f, 0, 0.5f, 2, -1, 0, 0, 3};
  write_matrix(dir / "h", {1, 1, 3, 3}, matrix);
  const KernelCase from_bottom = loss({4, 3}, {4}, 2);
  const KernelCase from_file{{"type: 'InfogainLoss' infogain_loss_param { source: '" + dir / "h" + "' }"},
                             {{4, 3}, {4}}};
  const KernelInputs inputs = make_inputs(from_bottom);
  for (const char* backend : {"reference", "native", "gpu"}) {
    const KernelOptions how{.backend = backend, .dtype = DType::kF32};
    KernelHarness bottom(from_bottom, how), file(from_file, how);
    bottom.forward({inputs.bottoms[0], inputs.bottoms[1], Array(matrix.begin(), matrix.end())});
    bottom.backward({{1.5}});
    file.forward({inputs.bottoms[0], inputs.bottoms[1]});
    file.backward({{1.5}});
    EXPECT_EQ(file.tops(), bottom.tops()) << backend;
    EXPECT_EQ(file.bottom_diffs()[0], bottom.bottom_diffs()[0]) << backend;
    EXPECT_NE(file.bottom_diffs()[0], Array(12, 0.0));
  }
}

TEST(InfogainLossTest, WithTheIdentityItIsCrossEntropy) {
  const Array scores{1, 2, 3, -1, 0.5, 2}, labels{2, 0}, identity{1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (const char* backend : {"reference", "native", "gpu"}) {
    const KernelOptions how{.backend = backend, .dtype = DType::kF32};
    KernelHarness infogain(loss({2, 3}, {2}, 2), how), softmax({{"type: 'SoftmaxWithLoss'"}, {{2, 3}, {2}}}, how);
    infogain.forward({scores, labels, identity});
    infogain.backward({{1}});
    softmax.forward({scores, labels});
    softmax.backward({{1}});
    expect_near(infogain.tops()[0], softmax.tops()[0], 1e-6, backend);
    expect_near(infogain.bottom_diffs()[0], softmax.bottom_diffs()[0], 1e-6, backend);
  }
}

TEST(InfogainLossTest, ProbabilityHasAFloor) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness harness(loss({1, 2}, {1}, 1), {.backend = backend, .dtype = DType::kF32});
    harness.forward({{1000, 0}, {1}, {1, 0, 0, 1}});
    EXPECT_NEAR(harness.tops()[0][0], 20 * std::log(10.0), 1e-5) << backend;
    harness.forward({{NAN, 0}, {1}, {1, 0, 0, 1}});
    EXPECT_TRUE(std::isnan(harness.tops()[0][0])) << backend;
  }
}

TEST(InfogainLossTest, LabelOutOfRange) {
  for (const char* backend : {"reference", "native", "gpu"}) {
    KernelHarness harness(loss({2, 3}, {2}, 1), {.backend = backend, .dtype = DType::kF32});
    const Error error = error_of([&] { harness.forward({Array(6, 0.0), {0, 3}, Array(9, 1.0)}); });
    EXPECT_EQ(error.kind(), ErrorKind::kData) << backend;
    EXPECT_EQ(error.cause(), "label 3 at sample 6 is out of range 0..2") << backend;
  }
}

TEST(InfogainLossTest, Errors) {
  expect_config_error(loss({4, 5}, {3}, 1), "there are 3 labels", "bottom");
  expect_config_error(loss({4, 5}, {4}, 1, "infogain_loss_param { axis: 2 }"), "axis 2", "infogain_loss_param.axis");
  expect_config_error(loss({4, 5}, {4}, 1, "loss_param { normalize: true }"), "no normalize", "loss_param.normalize");
  expect_config_error({{"type: 'InfogainLoss'"}, {{4, 5}, {4}, {5, 4}}}, "has 20 elements, but for 5 classes",
                      "bottom");
  expect_config_error({{"type: 'InfogainLoss'"}, {{4, 5}, {4}}}, "there is no infogain matrix", "infogain_loss_param");
}

TEST(InfogainLossTest, ErrorsOfFiles) {
  const TempDir dir;
  const auto error_with = [&](const std::string& file) {
    return error_of([&] {
      const KernelHarness harness(
          {{"type: 'InfogainLoss' infogain_loss_param { source: '" + dir / file + "' }"}, {{4, 2}, {4}}}, {});
    });
  };
  write_matrix(dir / "large", {3, 3}, std::vector<float>(9, 1.0f));
  const Error large = error_with("large");
  EXPECT_EQ(large.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(large.cause(), "has 9 elements, but for 2 classes"));
  EXPECT_EQ(large.field(), "infogain_loss_param.source");
  write_matrix(dir / "nan", {2, 2}, {1, 0, NAN, 1});
  EXPECT_TRUE(contains(error_with("nan").cause(), "element 2 of the infogain matrix is nan"));
  write_file(dir / "text", "this is text");
  for (const char* file : {"nan", "text", "absent"}) {
    const Error error = error_with(file);
    EXPECT_EQ(error.kind(), ErrorKind::kData) << file;
    EXPECT_EQ(error.field(), "infogain_loss_param.source") << file;
    EXPECT_TRUE(contains(error.what(), dir / file));
  }
}

}  // namespace
}  // namespace robusta::test::infogain_loss_test
