// Data layers as a net uses them: batches by position, settings, errors, synthetic input.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "opened_layer.h"
#include "sample_db.h"
#include "schema/read_text.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/golden_file.h"
#include "support/log_lines.h"

namespace robusta::data_layer_test {
namespace {

using test::contains;
using test::LogLines;
using test::nth_pass;
using test::OpenedLayer;
using test::pass_over;
using test::TempDir;
using test::Tops;

caffe::LayerParameter layer_param(const std::string& source, const std::string& data, const std::string& transform = "",
                                  caffe::Phase phase = caffe::TRAIN) {
  caffe::LayerParameter param;
  const std::string text = "name: 'data' type: 'Data' top: 'data' top: 'label' data_param { backend: LMDB source: '" +
                           source + "' " + data + " } transform_param { " + transform + " }";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  param.set_phase(phase);
  return param;
}

Error error_of(const caffe::LayerParameter& param) {
  try {
    OpenedLayer layer(param);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::kInternal, "");
}

/// 10 pictures of 3x12x10 with labels 0..9.
std::string make_pictures(const TempDir& dir) {
  const std::string folder = dir / "pictures";
  test::write_database(folder, 10, [](int i) {
    return test::encoded_datum({3, 12, 10}, i, static_cast<uint64_t>(i),
                               i % 2 ? ImageFormat::kPng : ImageFormat::kJpeg);
  });
  return folder;
}

TEST(DataLayerGoldenTest, RecordedPasses) {
  const auto folder = test::golden_dir();
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no recorded cases";
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    if (!name.starts_with("Data__") || entry.path().extension() != ".prototxt") continue;
    SCOPED_TRACE(name);
    const auto want = test::read_golden(folder / (name + ".bin"));
    caffe::LayerParameter param = read_net(entry.path().string()).param.layer(0);
    param.set_phase(want.at("phase").values[0] == 0 ? caffe::TRAIN : caffe::TEST);
    OpenedLayer layer(param);
    int compared = 0;
    for (uint64_t k = 0; k < 3; ++k) {
      const Tops got = pass_over(layer, nth_pass(k, param.data_param().batch_size()));
      for (int top = 0; top < param.top_size(); ++top) {
        const auto& array = want.at("s" + std::to_string(k) + ":out:" + param.top(top));
        EXPECT_EQ(got.shapes[static_cast<size_t>(top)], Shape(array.dims));
        EXPECT_EQ(got.values[static_cast<size_t>(top)], array.values);
        ++compared;
      }
    }
    EXPECT_EQ(compared, 3 * param.top_size());
    ++cases;
  }
  std::filesystem::current_path(before);
  EXPECT_GE(cases, 9);
}

TEST(DataLayerTest, BatchesStraddleEpochs) {
  TempDir dir;
  OpenedLayer layer(layer_param(make_pictures(dir), "batch_size: 4"));
  std::vector<float> labels;
  for (uint64_t k = 0; k < 6; ++k) {
    const Tops tops = pass_over(layer, nth_pass(k, 4));
    labels.insert(labels.end(), tops.values[1].begin(), tops.values[1].end());
  }
  for (size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(labels[i], static_cast<float>(i % 10));
  EXPECT_EQ(layer->sample_key(13), "00000003 in " + (dir / "pictures"));
}

constexpr char kDraws[] = "crop_size: 7 mirror: true mean_value: 100 scale: 0.01";

TEST(DataLayerTest, ResumeContinues) {
  TempDir dir;
  const auto param = layer_param(make_pictures(dir), "batch_size: 4 shuffle: true", kDraws);
  OpenedLayer whole(param), resumed(param);
  std::vector<Tops> all;
  for (uint64_t k = 0; k < 9; ++k) all.push_back(pass_over(whole, nth_pass(k, 4)));
  for (uint64_t k = 5; k < 9; ++k) EXPECT_EQ(pass_over(resumed, nth_pass(k, 4)).values, all[k].values);
  EXPECT_EQ(pass_over(whole, nth_pass(2, 4)).values, all[2].values);
  EXPECT_NE(pass_over(whole, nth_pass(2, 4, 99)).values, all[2].values);
}

TEST(DataLayerTest, RanksSeeTogetherWhatOneSees) {
  TempDir dir;
  const std::string folder = make_pictures(dir);
  OpenedLayer one(layer_param(folder, "batch_size: 6 shuffle: true", kDraws));
  OpenedLayer first(layer_param(folder, "batch_size: 3 shuffle: true", kDraws)),
      second(layer_param(folder, "batch_size: 3 shuffle: true", kDraws));
  for (uint64_t k = 0; k < 5; ++k) {
    const Tops want = pass_over(one, nth_pass(k, 6));
    Tops joined = pass_over(first, {.seed = 1, .first_sample = 6 * k, .next_sample = 6 * k + 6, .batch = 3});
    const Tops other = pass_over(second, {.seed = 1, .first_sample = 6 * k + 3, .next_sample = 6 * k + 9, .batch = 3});
    for (size_t top = 0; top < 2; ++top) {
      joined.values[top].insert(joined.values[top].end(), other.values[top].begin(), other.values[top].end());
    }
    EXPECT_EQ(joined.values, want.values);
  }
}

TEST(DataLayerTest, ThreadsChangeNothing) {
  TempDir dir;
  const auto param = layer_param(make_pictures(dir), "batch_size: 7 shuffle: true", kDraws);
  std::map<int, std::vector<Tops>> results;
  for (int threads : {1, 2, 5}) {
    OpenedLayer layer(param, {.data = {.threads = threads}});
    for (uint64_t k = 0; k < 8; ++k) results[threads].push_back(pass_over(layer, nth_pass(k, 7)));
  }
  for (size_t k = 0; k < 8; ++k) {
    EXPECT_EQ(results[1][k].values, results[2][k].values);
    EXPECT_EQ(results[1][k].values, results[5][k].values);
  }
}

/// All that forks have added, as far as it goes together.
constexpr char kAllDraws[] =
    "distort_param { brightness_prob: 0.5 brightness_delta: 32 hue_prob: 0.5 hue_delta: 18 } "
    "expand_param { prob: 0.5 max_expand_ratio: 2 } noise_param { prob: 0.5 inverse: true } "
    "random_aspect_ratio_param { min_area_ratio: 0.3 aspect_ratio_change: 0.75 } resize_param { height: 9 width: 9 } "
    "crop_size: 7 mirror: true mean_value: 100 scale: 0.01";

TEST(DataLayerTest, EveryTransformationIsTheSamples) {
  TempDir dir;
  const std::string folder = make_pictures(dir);
  OpenedLayer one(layer_param(folder, "batch_size: 6", kAllDraws), {.data = {.threads = 1}});
  OpenedLayer half(layer_param(folder, "batch_size: 3", kAllDraws), {.data = {.threads = 3}});
  for (uint64_t k = 3; k-- > 0;) {
    const Tops want = pass_over(one, nth_pass(k, 6));
    EXPECT_EQ(want.shapes[0], (Shape{6, 3, 7, 7}));
    std::vector<float> got;
    for (const uint64_t part : {2 * k, 2 * k + 1}) {
      const Tops tops = pass_over(half, nth_pass(part, 3));
      got.insert(got.end(), tops.values[0].begin(), tops.values[0].end());
    }
    EXPECT_EQ(got, want.values[0]);
  }
}

TEST(DataLayerTest, ShuffleShowsEachRecordOncePerEpoch) {
  TempDir dir;
  OpenedLayer layer(layer_param(make_pictures(dir), "batch_size: 5 shuffle: true"));
  std::map<float, int> seen;
  for (uint64_t k = 0; k < 4; ++k) {
    const Tops tops = pass_over(layer, nth_pass(k, 5));
    for (float label : tops.values[1]) ++seen[label];
  }
  EXPECT_EQ(seen.size(), 10u);
  for (const auto& [label, times] : seen) EXPECT_EQ(times, 2) << label;
}

TEST(DataLayerTest, FillsDoubles) {
  TempDir dir;
  OpenedLayer layer(layer_param(make_pictures(dir), "batch_size: 2"));
  const Tops want = pass_over(layer, nth_pass(0, 2));
  const std::vector<Shape> shapes = layer->infer_tops({});
  std::vector<double> data(static_cast<size_t>(shapes[0].count())), labels(2);
  const Tensor tops[] = {{{shapes[0], DType::kF64, nullptr}, data.data()},
                         {{shapes[1], DType::kF64, nullptr}, labels.data()}};
  layer->fill(tops, nth_pass(0, 2));
  EXPECT_EQ(std::vector<float>(data.begin(), data.end()), want.values[0]);
  EXPECT_EQ(labels, (std::vector<double>{0, 1}));
}

TEST(DataLayerTest, AnotherBatchSize) {
  TempDir dir;
  OpenedLayer layer(layer_param(make_pictures(dir), "batch_size: 2"));
  pass_over(layer, nth_pass(0, 2));
  layer->set_batch(3);
  const Tops tops = pass_over(layer, nth_pass(1, 3));
  EXPECT_EQ(tops.shapes[0], (Shape{3, 3, 12, 10}));
  EXPECT_EQ(tops.values[1], (std::vector<float>{3, 4, 5}));
  EXPECT_THROW(layer->set_batch(0), Error);
}

TEST(DataLayerTest, SizesMayChangeFromBatchToBatch) {
  TempDir dir;
  test::write_database(dir / "db", 4, [](int i) { return test::raw_datum({1, 3, 2 + i / 2}, i, 1); });
  OpenedLayer layer(layer_param(dir / "db", "batch_size: 2"));
  EXPECT_EQ(layer->infer_tops({})[0], (Shape{2, 1, 3, 2}));
  EXPECT_FALSE(layer->prepare(nth_pass(0, 2)));
  EXPECT_TRUE(layer->prepare(nth_pass(1, 2)));
  EXPECT_EQ(layer->infer_tops({})[0], (Shape{2, 1, 3, 3}));
  EXPECT_TRUE(layer->prepare(nth_pass(2, 2)));
}

TEST(DataLayerTest, ItemsOfOneBatchMustAgree) {
  TempDir dir;
  test::write_database(dir / "db", 4, [](int i) { return test::raw_datum({1, 3, 2 + i}, i, 1); });
  OpenedLayer layer(layer_param(dir / "db", "batch_size: 2")),
      cropped(layer_param(dir / "db", "batch_size: 2", "crop_size: 2"));
  try {
    layer->prepare(nth_pass(0, 2));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_EQ(error.cause(),
              "record 00000001 in " + (dir / "db") + ": it is 1x3x3, the first item of its batch is 1x3x2");
  }
  EXPECT_EQ(pass_over(cropped, nth_pass(1, 2)).shapes[0], (Shape{2, 1, 2, 2}));
}

TEST(DataLayerTest, ABadRecordIsNamed) {
  TempDir dir;
  test::write_database(dir / "db", 4, [](int i) {
    caffe::Datum datum = test::raw_datum({1, 3, 3}, i, 1);
    if (i == 2) datum.set_height(1 << 30);
    return datum;
  });
  OpenedLayer layer(layer_param(dir / "db", "batch_size: 1"));
  for (uint64_t k : {0, 1}) EXPECT_FALSE(layer->prepare(nth_pass(k, 1)));
  EXPECT_THROW(layer->prepare(nth_pass(2, 1)), Error);
  EXPECT_FALSE(layer->prepare(nth_pass(3, 1)));
}

TEST(DataLayerTest, SettingsThatCannotBe) {
  TempDir dir;
  const std::string db = make_pictures(dir);
  EXPECT_EQ(error_of(layer_param(db, "batch_size: 0")).field(), "data_param.batch_size");
  EXPECT_EQ(error_of(layer_param(db, "")).field(), "data_param.batch_size");
  EXPECT_EQ(error_of(layer_param("", "batch_size: 1")).field(), "data_param.source");
  EXPECT_EQ(error_of(layer_param(db, "batch_size: 1 prefetch: 4000000000")).field(), "data_param.prefetch");
  EXPECT_EQ(error_of(layer_param(db, "batch_size: 1 side: 7")).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error_of(layer_param(db, "batch_size: 1", "crop_size: 13")).kind(), ErrorKind::kData);
  EXPECT_EQ(error_of(layer_param(db, "batch_size: 1", "pad: 3")).field(), "transform_param.pad");
  const Error missing = error_of(layer_param(dir / "none", "batch_size: 1"));
  EXPECT_EQ(missing.kind(), ErrorKind::kData);
  EXPECT_EQ(missing.field(), "data_param.source");
}

TEST(DataLayerTest, SyntheticInputInPlaceOfAMissingSource) {
  TempDir dir;
  const SourceOptions synthesize{.data = {.synthesize_missing = true}};
  const auto extent = [&](const std::string& source, const std::string& transform) {
    OpenedLayer layer(layer_param(dir / source, "batch_size: 2", transform), synthesize);
    EXPECT_TRUE(layer->constant());
    const Tops tops = pass_over(layer, nth_pass(0, 2));
    EXPECT_EQ(tops.values[1], (std::vector<float>{0, 0}));
    double sum = 0, squares = 0;
    for (float v : tops.values[0]) sum += v, squares += v * v;
    const auto n = static_cast<double>(tops.values[0].size());
    EXPECT_NEAR(sum / n, 0, 0.1);
    EXPECT_NEAR(squares / n, 1.0 / 3, 0.1);
    return tops.shapes[0];
  };
  EXPECT_EQ(extent("digits_lmdb", ""), (Shape{2, 1, 28, 28}));
  EXPECT_EQ(extent("CIFAR10_train", "mean_file: 'none'"), (Shape{2, 3, 32, 32}));
  EXPECT_EQ(extent("train_lmdb", "crop_size: 227"), (Shape{2, 3, 227, 227}));
  EXPECT_EQ(extent("train_lmdb", "crop_size: 20 force_gray: true"), (Shape{2, 1, 20, 20}));
  EXPECT_EQ(extent("train_lmdb", ""), (Shape{2, 3, 224, 224}));
  const LogLines lines;
  extent("digits_lmdb", "bgr2rgb: true");
  EXPECT_TRUE(contains(lines.text(), "with data this would be refused: transform_param.bgr2rgb"));
  OpenedLayer present(layer_param(make_pictures(dir), "batch_size: 2"), synthesize);
  EXPECT_FALSE(present->constant());
}

TEST(DataLayerTest, RanksReadFoldersOfTheirOwn) {
  TempDir dir;
  for (int rank : {0, 1}) {
    test::write_database(dir / ("db" + std::to_string(rank)), 4, [rank](int i) {
      return test::raw_datum({1, 2, 2}, 10 * rank + i, 1);
    });
  }
  OpenedLayer layer(layer_param(dir / "db%#", "batch_size: 2"), {.data = {}, .rank = 1, .ranks = 2});
  EXPECT_EQ(layer->records(), 8);
  EXPECT_EQ(layer->fingerprint(), 0U);
  // Batches count over both ranks: rank 1's second one begins at sample 6.
  const Tops tops = pass_over(layer, {.seed = 1, .first_sample = 6, .next_sample = 10, .batch = 2});
  EXPECT_EQ(tops.values[1], (std::vector<float>{12, 13}));
  ASSERT_NE(layer->labelled(), nullptr);
  EXPECT_EQ(layer->labelled()->size(), 4);
  EXPECT_EQ(layer->labelled()->label(3), 13);
  EXPECT_EQ(layer->labelled()->name(3), "00000003 in " + (dir / "db1"));
}

}  // namespace
}  // namespace robusta::data_layer_test
