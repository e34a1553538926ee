// Boxes go where their pixels go; batches of them as a net uses them; records that nobody vouches for.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/str.h"
#include "data/annotated_datum.h"
#include "data/transformer.h"
#include "opened_layer.h"
#include "sample_db.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/log_lines.h"

namespace robusta::annotated_data_test {
namespace {

using test::error_of;
using test::nth_pass;
using test::OpenedLayer;
using test::pass_over;
using test::TempDir;
using test::Tops;

template <typename Message>
Message parse(const std::string& text) {
  Message param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

AnnotatedBox box(float xmin, float ymin, float xmax, float ymax) { return {{xmin, ymin, xmax, ymax}, 1, 0, false}; }

void expect_box(const AnnotatedBox& got, const Box<float>& want) {
  EXPECT_NEAR(got.box.xmin, want.xmin, 1e-6);
  EXPECT_NEAR(got.box.ymin, want.ymin, 1e-6);
  EXPECT_NEAR(got.box.xmax, want.xmax, 1e-6);
  EXPECT_NEAR(got.box.ymax, want.ymax, 1e-6);
}

TEST(AnnotationsTest, ProjectedIntoARegion) {
  std::vector<AnnotatedBox> boxes{box(0.1f, 0.1f, 0.5f, 0.5f), box(0.6f, 0, 0.9f, 1), box(0, 0, 0.25f, 0.25f)};
  project({0.25f, 0.25f, 0.75f, 1}, {}, boxes);
  ASSERT_EQ(boxes.size(), 2u) << "the last one touches the corner alone";
  expect_box(boxes[0], {0, 0, 0.5f, 1.0f / 3});  // (0.5 - 0.25) / 0.5, (0.5 - 0.25) / 0.75
  expect_box(boxes[1], {0.7f, 0, 1, 1});
}

TEST(AnnotationsTest, EmitConstraints) {
  const Box<float> region{0.25f, 0, 1, 1};
  const Box<float> middle_outside{0, 0, 0.4f, 0.5f}, middle_inside{0.1f, 0, 0.6f, 0.5f};
  const BoxRule any, centre(parse<caffe::EmitConstraint>("emit_type: CENTER")),
      share(parse<caffe::EmitConstraint>("emit_type: MIN_OVERLAP emit_overlap: 0.5"));
  EXPECT_TRUE(any.stays(middle_outside, region));
  EXPECT_FALSE(centre.stays(middle_outside, region));
  EXPECT_TRUE(centre.stays(middle_inside, region));
  EXPECT_FALSE(share.stays(middle_outside, region)) << "0.15 of 0.4";
  EXPECT_TRUE(share.stays(middle_inside, region)) << "0.35 of 0.5";
}

/// Where a box of an item of this size comes to lie.
std::vector<AnnotatedBox> moved(const std::string& transform, const Extent& item, AnnotatedBox from,
                                bool training = false, uint64_t position = 0) {
  const Transformer transformer(parse<caffe::TransformationParameter>(transform), training);
  Annotations annotations{{from}, nullptr};
  transformer.draw(item, 1, position, &annotations);
  return annotations.boxes;
}

TEST(AnnotationsTest, Resized) {
  const AnnotatedBox from = box(0.25f, 0.5f, 0.75f, 1);
  expect_box(moved("resize_param { height: 30 width: 30 }", {3, 10, 20}, from)[0], from.box);
  // 10 x 20 into 40 x 40: 20 rows between two times 10 of padding.
  expect_box(moved("resize_param { height: 40 width: 40 resize_mode: FIT_LARGE_SIZE_AND_PAD }", {3, 10, 20}, from)[0],
             {0.25f, 0.5f, 0.75f, 0.75f});
  expect_box(moved("resize_param { height: 40 width: 40 resize_mode: FIT_LARGE_SIZE_AND_PAD }", {3, 20, 10}, from)[0],
             {0.375f, 0.5f, 0.625f, 1});
  expect_box(moved("resize_param { height: 40 width: 40 resize_mode: FIT_SMALL_SIZE }", {3, 20, 10}, from)[0],
             from.box);
  // A crop of 40 x 40 from 80 x 40, whose rows 20 to 60 are taken; boxes in parts of 20 x 10 pixels.
  expect_box(moved("resize_param { height: 40 width: 40 resize_mode: FIT_SMALL_SIZE height_scale: 20 width_scale: 10 } "
                   "crop_size: 40",
                   {3, 20, 10}, box(0.25f, 0.25f, 0.5f, 0.5f))[0],
             {1, 0, 2, 1});
}

TEST(AnnotationsTest, CroppedAndMirrored) {
  // Of 10 x 20 pixels, rows 2 to 8 and columns 7 to 13.
  expect_box(moved("crop_size: 6", {3, 10, 20}, box(0.35f, 0.2f, 0.5f, 0.5f))[0], {0, 0, 0.5f, 0.5f});
  EXPECT_TRUE(moved("crop_size: 6", {3, 10, 20}, box(0, 0, 0.3f, 1)).empty());
  int mirrored = 0;
  for (uint64_t p = 0; p < 200; ++p) {
    const auto boxes = moved("mirror: true", {3, 10, 10}, box(0.1f, 0.2f, 0.3f, 0.4f), false, p);
    const bool turned = boxes.at(0).box.xmin > 0.5f;
    expect_box(boxes[0], turned ? Box<float>{0.7f, 0.2f, 0.9f, 0.4f} : Box<float>{0.1f, 0.2f, 0.3f, 0.4f});
    mirrored += turned;
  }
  EXPECT_NEAR(mirrored, 100, 35);
}

/// A white rectangle on black, and where it is when everything is done to it: box and pixels have to agree.
TEST(AnnotationsTest, StayOnTheirPixels) {
  const Transformer transformer(parse<caffe::TransformationParameter>(
                                    "expand_param { max_expand_ratio: 2 } resize_param { height: 100 width: 100 "
                                    "interp_mode: NEAREST } crop_size: 90 mirror: true"),
                                true, true);
  const PatchSampler sampler(parse<caffe::AnnotatedDataParameter>(
      "batch_sampler { max_sample: 1 sampler { min_scale: 0.5 min_aspect_ratio: 0.5 max_aspect_ratio: 2 } }"));
  Image image;
  image.reset({1, 500, 600});
  for (int64_t y = 100; y < 300; ++y) std::fill_n(image.row(0, y) + 150, 300, uint8_t{255});
  TransformMemory memory;
  std::vector<float> out(90 * 90);
  int seen = 0;
  for (uint64_t p = 0; p < 100; ++p) {
    Annotations annotations{{box(0.25f, 0.2f, 0.75f, 0.6f)}, &sampler};
    transformer.run(image.pixels(), 1, p, memory, out.data(), &annotations);
    int64_t top = 90, bottom = 0, left = 90, right = 0, white = 0;
    for (int64_t i = 0; i < 90 * 90; ++i) {
      if (out[static_cast<size_t>(i)] == 0) continue;
      ++white;
      top = std::min(top, i / 90), bottom = std::max(bottom, i / 90 + 1);
      left = std::min(left, i % 90), right = std::max(right, i % 90 + 1);
    }
    if (annotations.boxes.empty() || white == 0) {
      EXPECT_LE(white, 3 * 90) << "nothing, or a sliver";
      continue;
    }
    ++seen;
    const Box<float>& b = annotations.boxes[0].box;
    // Patches are cut at whole pixels, of which the smallest has 177 for 100 of the result; the nearest pixel is taken.
    constexpr double kPixels = 3;
    EXPECT_NEAR(b.xmin * 90, static_cast<double>(left), kPixels) << p;
    EXPECT_NEAR(b.xmax * 90, static_cast<double>(right), kPixels) << p;
    EXPECT_NEAR(b.ymin * 90, static_cast<double>(top), kPixels) << p;
    EXPECT_NEAR(b.ymax * 90, static_cast<double>(bottom), kPixels) << p;
  }
  EXPECT_GT(seen, 70);
}

TEST(PatchSamplerTest, Constraints) {
  const std::vector<AnnotatedBox> boxes{box(0, 0, 0.5f, 0.5f), box(0.8f, 0.8f, 1, 1)};
  const Box<float> patch{0, 0, 0.5f, 1};  // half of it is the first box, all of which is in it
  const auto right = [&](const std::string& limits) {
    return satisfies(patch, boxes, parse<caffe::SampleConstraint>(limits));
  };
  EXPECT_TRUE(right(""));
  EXPECT_TRUE(right("min_jaccard_overlap: 0.5"));
  EXPECT_FALSE(right("min_jaccard_overlap: 0.51"));
  EXPECT_TRUE(right("max_jaccard_overlap: 0")) << "the second one";
  EXPECT_TRUE(right("min_sample_coverage: 0.5 max_sample_coverage: 0.5"));
  EXPECT_TRUE(right("min_object_coverage: 1"));
  EXPECT_FALSE(right("min_object_coverage: 1 max_jaccard_overlap: 0.4")) << "no box meets both";
  EXPECT_FALSE(satisfies(patch, {}, parse<caffe::SampleConstraint>("max_jaccard_overlap: 1"))) << "without boxes";
}

TEST(PatchSamplerTest, PatchesMeetTheirConstraints) {
  const std::string text =
      "batch_sampler { max_sample: 1 max_trials: 1 } "
      "batch_sampler { sampler { min_scale: 0.3 max_scale: 1 min_aspect_ratio: 0.5 max_aspect_ratio: 2 } "
      "sample_constraint { min_jaccard_overlap: 0.3 } max_sample: 1 max_trials: 50 }";
  const PatchSampler sampler(parse<caffe::AnnotatedDataParameter>(text));
  const std::vector<AnnotatedBox> boxes{box(0.3f, 0.3f, 0.8f, 0.8f)};
  int whole = 0;
  for (uint64_t p = 0; p < 400; ++p) {
    const auto patch = sampler.draw(boxes, PhiloxStream(1, p));
    ASSERT_TRUE(patch);
    EXPECT_GE(patch->xmin, 0);
    EXPECT_GE(patch->ymin, 0);
    EXPECT_LE(patch->xmax, 1.00001f);
    EXPECT_LE(patch->ymax, 1.00001f);
    const bool is_whole = patch->width() == 1 && patch->height() == 1;
    whole += is_whole;
    EXPECT_TRUE(is_whole || overlap(*patch, boxes[0].box) >= 0.3f);
  }
  EXPECT_NEAR(whole, 200, 50);
}

TEST(PatchSamplerTest, SettingsThatCannotBe) {
  const auto field = [](const std::string& text) {
    return error_of([&] {
             PatchSampler(parse<caffe::AnnotatedDataParameter>("batch_sampler { } batch_sampler { " + text + " }"));
           })
        .field();
  };
  const std::string path = "annotated_data_param.batch_sampler[1].";
  EXPECT_EQ(field("sampler { min_scale: 0 }"), path + "sampler.min_scale");
  EXPECT_EQ(field("sampler { max_scale: 1.5 }"), path + "sampler.max_scale");
  EXPECT_EQ(field("sampler { min_aspect_ratio: 2 }"), path + "sampler.max_aspect_ratio");
  EXPECT_EQ(field("sampler { max_aspect_ratio: inf }"), path + "sampler.max_aspect_ratio");
  EXPECT_EQ(field("max_trials: 4000000000"), path + "max_trials");
}

TEST(PatchSamplerTest, JitteredPatches) {
  for (const bool proportions : {false, true}) {
    const PatchSampler sampler(parse<caffe::AnnotatedDataParameter>("yolo_data_jitter: 0.4"), proportions);
    EXPECT_FALSE(sampler.is_nothing());
    int whole = 0, small = 0;
    constexpr int kDraws = 1000;
    for (uint64_t p = 0; p < kDraws; ++p) {
      const auto patch = sampler.draw({}, PhiloxStream(1, p));
      EXPECT_EQ(sampler.draw({}, PhiloxStream(1, p)).has_value(), patch.has_value());
      whole += !patch;
      if (!patch) continue;
      EXPECT_GE(patch->xmin, 0);
      EXPECT_GE(patch->ymin, 0);
      EXPECT_LE(patch->xmax, 1.00001f);
      EXPECT_LE(patch->ymax, 1.00001f);
      EXPECT_GE(patch->width(), 0.59999f);
      EXPECT_GE(patch->height(), 0.59999f);
      EXPECT_EQ(std::abs(patch->width() - patch->height()) < 1e-5f, proportions);
      small += patch->width() < 0.8f;  // half of what the full jitter draws
    }
    EXPECT_NEAR(whole, 200, 50);
    EXPECT_NEAR(small, 300, 60);
  }
  const auto is_nothing = [](const std::string& text) {
    return PatchSampler(parse<caffe::AnnotatedDataParameter>(text)).is_nothing();
  };
  EXPECT_TRUE(is_nothing(""));
  EXPECT_TRUE(is_nothing("yolo_data_type: 1 yolo_data_jitter: 0"));
  EXPECT_FALSE(is_nothing("yolo_data_type: 1"));
  for (const char* jitter : {"-0.1", "1", "nan"}) {
    EXPECT_EQ(error_of([&] { is_nothing(std::string("yolo_data_jitter: ") + jitter); }).field(),
              "annotated_data_param.yolo_data_jitter");
  }
}

void add_box(caffe::AnnotatedDatum& record, int label, int instance, float xmin, float ymin, float xmax, float ymax) {
  caffe::AnnotationGroup& group = *record.add_annotation_group();
  group.set_group_label(label);
  caffe::Annotation& annotation = *group.add_annotation();
  annotation.set_instance_id(instance);
  caffe::NormalizedBBox& b = *annotation.mutable_bbox();
  b.set_xmin(xmin), b.set_ymin(ymin), b.set_xmax(xmax), b.set_ymax(ymax);
  b.set_difficult(instance == 1);
}

/// Record i has i % 3 boxes of label i + 1.
caffe::AnnotatedDatum record_with_boxes(int i) {
  caffe::AnnotatedDatum record;
  *record.mutable_datum() = test::encoded_datum({3, 20, 30}, i, static_cast<uint64_t>(i), ImageFormat::kPng);
  record.set_type(caffe::AnnotatedDatum::BBOX);
  for (int k = 0; k < i % 3; ++k) add_box(record, i + 1, k, 0.1f, 0.2f, 0.5f, 0.5f + 0.1f * static_cast<float>(k));
  return record;
}

std::string make_boxes(const TempDir& dir, int count = 9) {
  test::write_database(dir / "boxes", count, record_with_boxes);
  return dir / "boxes";
}

caffe::LayerParameter layer_param(const std::string& source, int batch, const std::string& annotated = "",
                                  const std::string& transform = "", caffe::Phase phase = caffe::TRAIN) {
  caffe::LayerParameter param = parse<caffe::LayerParameter>(
      str("name: 'data' type: 'AnnotatedData' top: 'data' top: 'label' data_param { backend: LMDB source: '", source,
          "' batch_size: ", batch, " } annotated_data_param { ", annotated, " } transform_param { ", transform, " }"));
  param.set_phase(phase);
  return param;
}

using Row = std::vector<float>;

std::vector<Row> rows_of(const Tops& tops) {
  std::vector<Row> rows;
  for (size_t i = 0; i < tops.values[1].size(); i += 8)
    rows.emplace_back(tops.values[1].begin() + static_cast<int64_t>(i),
                      tops.values[1].begin() + static_cast<int64_t>(i) + 8);
  return rows;
}

TEST(AnnotatedDataTest, RowsOfABatch) {
  TempDir dir;
  OpenedLayer layer(layer_param(make_boxes(dir), 3));
  const Tops tops = pass_over(layer, nth_pass(0, 3));
  EXPECT_EQ(tops.shapes[0], (Shape{3, 3, 20, 30}));
  EXPECT_EQ(tops.shapes[1], (Shape{1, 1, 3, 8}));
  EXPECT_EQ(rows_of(tops), (std::vector<Row>{{1, 2, 0, 0.1f, 0.2f, 0.5f, 0.5f, 0},
                                             {2, 3, 0, 0.1f, 0.2f, 0.5f, 0.5f, 0},
                                             {2, 3, 1, 0.1f, 0.2f, 0.5f, 0.6f, 1}}));
}

TEST(AnnotatedDataTest, ABatchWithoutBoxesHasARowOfMinusOnes) {
  TempDir dir;
  OpenedLayer layer(layer_param(make_boxes(dir), 1));
  std::vector<int64_t> counts;
  for (uint64_t k = 0; k < 6; ++k) {
    const Tops tops = pass_over(layer, nth_pass(k, 1));
    counts.push_back(tops.shapes[1][2]);
    EXPECT_EQ(tops.values[1] == Row(8, -1), k % 3 == 0);
  }
  EXPECT_EQ(counts, (std::vector<int64_t>{1, 1, 2, 1, 1, 2}));
}

TEST(AnnotatedDataTest, RowsOfEachSampleForYolo) {
  TempDir dir;
  const std::string folder = make_boxes(dir);
  const auto boxes = [&](const std::string& fields, int64_t sample) {
    OpenedLayer layer(layer_param(folder, 3, "yolo_data_type: 1 yolo_data_jitter: 0 " + fields));
    const Tops tops = pass_over(layer, nth_pass(0, 3));
    EXPECT_EQ(tops.shapes[1], (Shape{3, 1, 300, 5}));
    const auto begin = tops.values[1].begin() + sample * 1500;
    EXPECT_EQ(Row(begin + 10, begin + 1500), Row(1490, 0));
    return Row(begin, begin + 10);
  };
  EXPECT_EQ(boxes("", 0), Row(10, 0));
  const Row both = boxes("", 2), wanted{2, 0.3f, 0.35f, 0.4f, 0.3f, 2, 0.3f, 0.4f, 0.4f, 0.4f};
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(both[i], wanted[i], 1e-6) << i;
  const Row easy = boxes("train_diffcult: false", 2);
  EXPECT_EQ(Row(easy.begin(), easy.begin() + 5), Row(both.begin(), both.begin() + 5));
  EXPECT_EQ(Row(easy.begin() + 5, easy.end()), Row(5, 0));
}

/// As many as there is room for.
TEST(AnnotatedDataTest, MoreBoxesThanRowsForYolo) {
  TempDir dir;
  test::write_database(dir / "many", 1, [](int i) {
    caffe::AnnotatedDatum record = record_with_boxes(i);
    for (int k = 0; k < 400; ++k) add_box(record, k + 1, 0, 0.1f, 0.2f, 0.5f, 0.5f);
    return record;
  });
  OpenedLayer layer(layer_param(dir / "many", 1, "yolo_data_type: 1 yolo_data_jitter: 0"));
  const Tops tops = pass_over(layer, nth_pass(0, 1));
  ASSERT_EQ(tops.values[1].size(), 1500u);
  EXPECT_EQ(tops.values[1][1495], 299);
}

TEST(AnnotatedDataTest, JitterGoesOnAfterAResume) {
  TempDir dir;
  const auto param = layer_param(make_boxes(dir), 4, "yolo_data_type: 1", "resize_param { height: 32 width: 32 }");
  OpenedLayer whole(param), resumed(param);
  std::vector<Tops> all;
  for (uint64_t k = 0; k < 6; ++k) all.push_back(pass_over(whole, nth_pass(k, 4)));
  for (uint64_t k = 3; k < 6; ++k) EXPECT_EQ(pass_over(resumed, nth_pass(k, 4)).values, all[k].values);
  EXPECT_NE(pass_over(whole, nth_pass(2, 4, 99)).values, all[2].values);
}

/// Images are tested whole, whatever is said of jitter, and it is said that it is ignored.
TEST(AnnotatedDataTest, NoJitterInTheTestPhase) {
  TempDir dir;
  const std::string folder = make_boxes(dir);
  const auto values = [&](const std::string& fields, caffe::Phase phase) {
    caffe::LayerParameter param =
        layer_param(folder, 4, "yolo_data_type: 1 " + fields, "resize_param { height: 32 width: 32 }");
    param.set_phase(phase);
    OpenedLayer layer(param);
    return pass_over(layer, nth_pass(1, 4)).values;
  };
  const auto whole = values("yolo_data_jitter: 0", caffe::TEST);
  EXPECT_NE(values("", caffe::TRAIN), whole);
  const test::LogLines lines;
  EXPECT_EQ(values("", caffe::TEST), whole);
  EXPECT_FALSE(test::contains(lines.text(), "yolo_data_jitter"));
  EXPECT_EQ(values("yolo_data_jitter: 0.4", caffe::TEST), whole);
  EXPECT_TRUE(test::contains(lines.text(), "yolo_data_jitter changes nothing in the TEST phase"));
}

TEST(AnnotatedDataTest, SyntheticRowsForYolo) {
  OpenedLayer layer(layer_param("/none/such_lmdb", 2, "yolo_data_type: 1", "resize_param { height: 30 width: 30 }"),
                    {.data = {.synthesize_missing = true}});
  const Tops tops = pass_over(layer, nth_pass(0, 2));
  EXPECT_EQ(tops.shapes[1], (Shape{2, 1, 300, 5}));
  const Row wanted{0, 0.3f, 0.35f, 0.4f, 0.5f, 0, 0.65f, 0.55f, 0.5f, 0.5f, 0, 0, 0, 0, 0};
  for (const size_t sample : {0u, 1u}) {
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(tops.values[1][sample * 1500 + i], wanted[i], 1e-6) << i;
  }
}

TEST(AnnotatedDataTest, UnknownTypeForYolo) {
  EXPECT_EQ(error_of([] { make_layer(layer_param("x", 1, "yolo_data_type: 2")); }).field(),
            "annotated_data_param.yolo_data_type");
}

constexpr char kSamplers[] =
    "batch_sampler { max_sample: 1 max_trials: 1 } batch_sampler { sampler { min_scale: 0.3 min_aspect_ratio: 0.5 "
    "max_aspect_ratio: 2 } sample_constraint { min_jaccard_overlap: 0.1 } max_sample: 1 max_trials: 50 }";
constexpr char kMoves[] =
    "expand_param { prob: 0.5 max_expand_ratio: 2 } emit_constraint { emit_type: CENTER } resize_param { height: 32 "
    "width: "
    "32 } mirror: true mean_value: 100 scale: 0.01";

TEST(AnnotatedDataTest, ResumeContinues) {
  TempDir dir;
  const auto param = layer_param(make_boxes(dir), 4, kSamplers, kMoves);
  OpenedLayer whole(param), resumed(param);
  std::vector<Tops> all;
  for (uint64_t k = 0; k < 8; ++k) all.push_back(pass_over(whole, nth_pass(k, 4)));
  for (uint64_t k = 5; k < 8; ++k) {
    const Tops again = pass_over(resumed, nth_pass(k, 4));
    EXPECT_EQ(again.shapes, all[k].shapes);
    EXPECT_EQ(again.values, all[k].values);
  }
  EXPECT_NE(pass_over(whole, nth_pass(2, 4, 99)).values, all[2].values);
}

TEST(AnnotatedDataTest, RanksSeeTogetherWhatOneSees) {
  TempDir dir;
  const std::string folder = make_boxes(dir);
  OpenedLayer one(layer_param(folder, 6, kSamplers, kMoves));
  OpenedLayer first(layer_param(folder, 3, kSamplers, kMoves)), second(layer_param(folder, 3, kSamplers, kMoves));
  for (uint64_t k = 0; k < 5; ++k) {
    const Tops want = pass_over(one, nth_pass(k, 6));
    const Tops mine = pass_over(first, {.seed = 1, .first_sample = 6 * k, .next_sample = 6 * k + 6, .batch = 3});
    const Tops other = pass_over(second, {.seed = 1, .first_sample = 6 * k + 3, .next_sample = 6 * k + 9, .batch = 3});
    std::vector<float> pixels = mine.values[0];
    pixels.insert(pixels.end(), other.values[0].begin(), other.values[0].end());
    EXPECT_EQ(pixels, want.values[0]);
    std::vector<Row> rows;
    for (const Row& row : rows_of(mine)) {
      if (row[0] >= 0) rows.push_back(row);
    }
    for (Row row : rows_of(other)) {
      if (row[0] < 0) continue;
      row[0] += 3;
      rows.push_back(row);
    }
    EXPECT_EQ(rows, rows_of(want));
  }
}

TEST(AnnotatedDataTest, LabelsWhereRecordsHaveNoBoxes) {
  TempDir dir;
  test::write_database(dir / "labels", 4, [](int i) {
    caffe::AnnotatedDatum record;
    *record.mutable_datum() = test::raw_datum({1, 4, 5}, i, 1);
    return record;
  });
  OpenedLayer layer(layer_param(dir / "labels", 4));
  const Tops tops = pass_over(layer, nth_pass(0, 4));
  EXPECT_EQ(tops.shapes[1], (Shape{4}));
  EXPECT_EQ(tops.values[1], (Row{0, 1, 2, 3}));
  ASSERT_TRUE(layer->labelled());
  EXPECT_EQ(layer->labelled()->label(2), 2);
  OpenedLayer given(layer_param(dir / "labels", 4, "anno_type: BBOX"));
  EXPECT_EQ(pass_over(given, nth_pass(0, 4)).values[1], Row(8, -1));
}

TEST(AnnotatedDataTest, SyntheticBoxesAreBoxes) {
  auto param = layer_param("/none/such_lmdb", 2, "", "resize_param { height: 300 width: 300 }");
  OpenedLayer layer(param, {.data = {.synthesize_missing = true}});
  Tops tops = pass_over(layer, nth_pass(0, 2));
  EXPECT_EQ(tops.shapes[0], (Shape{2, 3, 300, 300}));
  EXPECT_EQ(tops.shapes[1], (Shape{1, 1, 4, 8}));
  std::map<float, int> of_item;
  for (const Row& row : rows_of(tops)) {
    ++of_item[row[0]];
    EXPECT_EQ(row[1], 1);
    EXPECT_GT(row[5], row[3]);
    EXPECT_GT(row[6], row[4]);
    EXPECT_GT(row[3], 0);
    EXPECT_LT(row[6], 1);
    EXPECT_EQ(row[7], 0);
  }
  EXPECT_EQ(of_item, (std::map<float, int>{{0, 2}, {1, 2}}));
  layer->set_batch(5);
  EXPECT_EQ(layer->infer_tops({})[1], (Shape{1, 1, 10, 8}));
}

std::string cause_of_record(const caffe::AnnotatedDatum& record) {
  return error_of([&] { parse_annotated_datum(record.SerializeAsString()); }).cause();
}

TEST(AnnotatedDatumTest, BoxesThatCannotBe) {
  const auto with = [](float xmin, float ymin, float xmax, float ymax) {
    caffe::AnnotatedDatum record = record_with_boxes(0);
    add_box(record, 1, 0, 0, 0, 1, 1);
    add_box(record, 1, 0, xmin, ymin, xmax, ymax);
    return record;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(cause_of_record(with(0.5f, 0, 0.25f, 1)), "box 2 of it, (0.5, 0) .. (0.25, 1), is upside down");
  EXPECT_NE(cause_of_record(with(nan, 0, 1, 1)).find("is not finite"), std::string::npos);
  EXPECT_NE(cause_of_record(with(0, 0, infinite, 1)).find("is not finite"), std::string::npos);
  EXPECT_NE(cause_of_record(with(1.5f, 0, 2, 1)).find("lies outside"), std::string::npos);
  EXPECT_NE(cause_of_record(with(0, -2, 1, -1)).find("lies outside"), std::string::npos);
  EXPECT_EQ(parse_annotated_datum(with(0.5f, 0.5f, 0.5f, 1).SerializeAsString()).boxes.size(), 1u) << "empty: left out";
  EXPECT_EQ(parse_annotated_datum(with(-0.5f, 0.5f, 0.5f, 1e9f).SerializeAsString()).boxes.size(), 2u) << "reaches out";
}

TEST(AnnotatedDatumTest, EveryCutOffOrChangedRecordIsBoxesOrAnError) {
  const std::string record = record_with_boxes(2).SerializeAsString();
  for (size_t size = 0; size < record.size(); ++size) {
    try {
      parse_annotated_datum(std::string_view(record).substr(0, size));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
    }
  }
  PhiloxStream random(5);
  for (int i = 0; i < 5000; ++i) {
    std::string changed = record;
    changed[random.below(changed.size())] = static_cast<char>(random.below(256));
    try {
      for (const AnnotatedBox& annotated : parse_annotated_datum(changed).boxes) EXPECT_TRUE(annotated.box.is_finite());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
    }
  }
}

TEST(AnnotatedDataTest, BadRecordsAreNamed) {
  TempDir dir;
  test::write_database(dir / "bad", 6, [](int i) {
    caffe::AnnotatedDatum record = record_with_boxes(i);
    if (i == 4) add_box(record, 1, 0, 3, 3, 4, 4);
    return record;
  });
  OpenedLayer layer(layer_param(dir / "bad", 3));
  pass_over(layer, nth_pass(0, 3));
  const Error error = error_of([&] { pass_over(layer, nth_pass(1, 3)); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_NE(error.cause().find("record 00000004 in " + (dir / "bad") + ": box 2 of it"), std::string::npos)
      << error.cause();
  test::write_database(dir / "plain", 2, [](int i) { return test::raw_datum({1, 4, 5}, i, 1); });
  const Error plain = error_of([&] { OpenedLayer(layer_param(dir / "plain", 1)); });
  EXPECT_EQ(plain.kind(), ErrorKind::kData);
  EXPECT_NE(plain.cause().find("AnnotatedDatum"), std::string::npos) << plain.cause();
}

TEST(AnnotatedDataTest, PatchesWantOneSize) {
  TempDir dir;
  const Error error = error_of([&] { OpenedLayer(layer_param(make_boxes(dir), 2, kSamplers)); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_EQ(error.field(), "transform_param.resize_param");
}

/// Boxes of classes 3 and 4 around the middle of each quarter.
caffe::Datum yolo_datum(int i) {
  caffe::Datum datum = test::encoded_datum({3, 40, 60}, 0, static_cast<uint64_t>(i), ImageFormat::kPng);
  for (const float number : {3.0f, 0.0f, 0.25f, 0.25f, 0.2f, 0.1f, 4.0f, 1.0f, 0.75f, 0.75f, 0.5f, 0.5f})
    datum.add_float_data(number);
  return datum;
}

caffe::LayerParameter box_param(const std::string& source, const std::string& more, const std::string& transform,
                                caffe::Phase phase) {
  caffe::LayerParameter param = parse<caffe::LayerParameter>(
      "name: 'data' type: 'BoxData' top: 'data' top: 'a' top: 'b' data_param { backend: LMDB source: '" + source +
      "' batch_size: 2 side: 7 side: 13 " + more + " } transform_param { " + transform + " }");
  param.set_phase(phase);
  return param;
}

TEST(BoxDataTest, BoxesAsTheyAreInTesting) {
  TempDir dir;
  test::write_database(dir / "db", 4, yolo_datum);
  OpenedLayer layer(box_param(dir / "db", "", "resize_param { height: 20 width: 20 }", caffe::TEST));
  const Tops tops = pass_over(layer, nth_pass(0, 2));
  EXPECT_EQ(tops.shapes, (std::vector<Shape>{{2, 3, 20, 20}, {2, 150}, {2, 150}}));
  Row want(150, 0);
  std::ranges::copy(Row{3, 0.25f, 0.25f, 0.2f, 0.1f, 4, 0.75f, 0.75f, 0.5f, 0.5f}, want.begin());
  Row both = want;
  both.insert(both.end(), want.begin(), want.end());
  EXPECT_EQ(tops.values[1], both);
  EXPECT_EQ(tops.values[2], both);
}

TEST(BoxDataTest, PatchesHoldTheMiddleOfABoxInTraining) {
  TempDir dir;
  test::write_database(dir / "db", 4, yolo_datum);
  OpenedLayer layer(box_param(dir / "db", "", "mirror: true", caffe::TRAIN));
  int both = 0, moved = 0;
  for (uint64_t k = 0; k < 60; ++k) {
    const Tops tops = pass_over(layer, nth_pass(k, 2));
    EXPECT_EQ(tops.shapes[0], (Shape{2, 3, 40, 60}));
    EXPECT_EQ(tops.values[1], tops.values[2]);
    for (size_t at = 0; at < 300; at += 150) {
      const float* first = tops.values[1].data() + at;
      EXPECT_TRUE(first[0] == 3 || first[0] == 4);
      for (int i = 1; i < 5; ++i) EXPECT_TRUE(first[i] >= 0 && first[i] <= 1);
      both += first[5] == 4;
      moved += first[1] != 0.25f && first[1] != 0.75f;
      EXPECT_EQ(first[10], 0);
    }
  }
  EXPECT_GT(both, 60);
  EXPECT_GT(moved, 80);
}

TEST(BoxDataTest, WhatCannotBe) {
  TempDir dir;
  const auto cause_of_boxes = [&](const std::string& name, const std::vector<float>& numbers) {
    test::write_database(dir / name, 2, [&](int i) {
      caffe::Datum datum = test::encoded_datum({3, 40, 60}, 0, 1, ImageFormat::kPng);
      for (const float number : numbers) datum.add_float_data(number);
      return datum;
    });
    OpenedLayer layer(box_param(dir / name, "", "", caffe::TRAIN));
    return error_of([&] { pass_over(layer, nth_pass(0, 2)); }).cause();
  };
  EXPECT_NE(cause_of_boxes("none", {}).find("float_data has 0 numbers"), std::string::npos);
  EXPECT_NE(cause_of_boxes("five", {1, 0, 0.5f, 0.5f, 1}).find("float_data has 5 numbers"), std::string::npos);
  EXPECT_NE(cause_of_boxes("far", {1, 0, 1.5f, 0.5f, 1, 1}).find("box 1 of it"), std::string::npos);
  EXPECT_NE(cause_of_boxes("nan", {1, 0, std::nanf(""), 0.5f, 1, 1}).find("box 1 of it"), std::string::npos);
  EXPECT_EQ(error_of([&] { make_layer(box_param("x", "side: 26", "", caffe::TRAIN)); }).field(), "data_param.side");
  EXPECT_EQ(error_of([&] { make_layer(box_param("x", "", "crop_size: 4", caffe::TRAIN)); }).kind(),
            ErrorKind::kUnsupported);
}

TEST(BoxDataTest, SyntheticBoxes) {
  OpenedLayer layer(box_param("/none/such", "", "", caffe::TRAIN), {.data = {.synthesize_missing = true}});
  const Tops tops = pass_over(layer, nth_pass(0, 2));
  EXPECT_EQ(tops.shapes[2], (Shape{2, 150}));
  EXPECT_EQ(tops.values[1][151], 0.5f);
  EXPECT_EQ(tops.values[1][155], 0);
}

}  // namespace
}  // namespace robusta::annotated_data_test
