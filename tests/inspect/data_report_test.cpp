// caffe data: what is in databases, lists, HDF5 files and means; what is broken in them; pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <sstream>

#include "data/sample_db.h"
#include "inspect/data_report.h"
#include "schema/blob_proto.h"
#include "solver/process.h"
#include "support/errors.h"

namespace robusta::test::data_report_test {
namespace {

namespace fs = std::filesystem;

struct Report {
  bool whole;
  std::string text;
};

Report report(const std::string& path, const DataReportOptions& options = {}) {
  std::ostringstream out;
  const bool whole = print_data_report(out, path, options);
  return {whole, out.str()};
}

TEST(DataReport, CountsSizesLabelsAndDuplicates) {
  const TempDir folder;
  write_database(folder / "db", 10, [](int i) {
    const Extent extent{3, i < 8 ? 5 : 6, 4};
    return i == 9 ? raw_datum({3, 5, 4}, 7, 2) : raw_datum(extent, i % 3, static_cast<uint64_t>(i));
  });
  const Report said = report(folder / "db", {.show = 2});
  EXPECT_TRUE(said.whole);
  EXPECT_TRUE(contains(said.text, "an LMDB of Datum records"));
  EXPECT_TRUE(contains(said.text, "records: 10 (0 image files, 0 of floats, 10 of bytes)"));
  EXPECT_TRUE(matches(said.text, "3x5x4 +9 +90.0 %")) << said.text;
  EXPECT_TRUE(matches(said.text, "3x6x4 +1 +10.0 %")) << said.text;
  EXPECT_TRUE(contains(said.text, "labels from 0 to 7\nlabels: 4\n"));
  EXPECT_TRUE(
      contains(said.text, "duplicates: 1, 1 with another label\n    record 9 is record 2, with another label\n"));
  EXPECT_TRUE(matches(said.text, "\n1 +00000001 +3x5x4 +1 +bytes\n")) << said.text;
  EXPECT_FALSE(contains(said.text, "00000002"));
}

TEST(DataReport, BrokenRecordsAreNamed) {
  const TempDir folder;
  write_database(folder / "db", 4, [](int i) {
    caffe::Datum datum = encoded_datum({3, 8, 8}, i, static_cast<uint64_t>(i), ImageFormat::kJpeg);
    if (i == 2) datum.set_data(datum.data().substr(0, 30));
    return datum;
  });
  const Report said = report(folder / "db", {.show = 4, .png = folder / "png"});
  EXPECT_FALSE(said.whole);
  EXPECT_TRUE(contains(said.text, "broken: 1\n    record 2 (00000002): "));
  EXPECT_TRUE(contains(said.text, "records: 4 (3 image files"));
  EXPECT_TRUE(contains(said.text, "pictures written: 3"));
  EXPECT_EQ(run_caffe_program(folder.path(), {"data", "db"}).code, 3);
}

TEST(DataReport, PicturesStayInTheirFolderAndReplaceNothing) {
  const TempDir folder;
  {
    LmdbWriter writer(folder / "db");
    writer.put("../../evil", raw_datum({3, 4, 4}, 1, 1).SerializeAsString());
    writer.put("/tmp/evil", raw_datum({2, 4, 4}, 2, 2).SerializeAsString());
    writer.finish();
  }
  report(folder / "db", {.png = folder / "png"});
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "png")) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  EXPECT_EQ(names,
            (std::vector<std::string>{"00000000_label1.png", "00000001_label2_c0.png", "00000001_label2_c1.png"}));
  Image image;
  decode_image(read_file(folder / "png/00000000_label1.png"), ColorMode::kAsStored, image);
  EXPECT_EQ(image.planes, random_image({3, 4, 4}, 1).planes);
  EXPECT_EQ(error_of([&] { report(folder / "db", {.png = folder / "png"}); }).kind(), ErrorKind::kOutput);
  fs::create_directory(folder / "links");
  write_file(folder / "victim", "mine");
  fs::create_symlink(folder / "victim", folder / "links/00000000_label1.png");
  EXPECT_EQ(error_of([&] { report(folder / "db", {.png = folder / "links"}); }).kind(), ErrorKind::kOutput);
  EXPECT_EQ(read_file(folder / "victim"), "mine");
}

TEST(DataReport, AnnotatedRecords) {
  const TempDir folder;
  LmdbWriter writer(folder / "db");
  for (int i = 0; i < 3; ++i) {
    caffe::AnnotatedDatum record;
    *record.mutable_datum() = raw_datum({3, 4, 4}, -1, static_cast<uint64_t>(i));
    record.set_type(caffe::AnnotatedDatum::BBOX);
    for (int k = 0; k < i; ++k) {
      auto* box = record.add_annotation_group()->add_annotation()->mutable_bbox();
      box->set_xmin(0.1f), box->set_ymin(0.1f), box->set_xmax(0.5f), box->set_ymax(0.5f);
    }
    writer.put(padded(i, 8), record.SerializeAsString());
  }
  writer.finish();
  const Report said = report(folder / "db");
  EXPECT_TRUE(contains(said.text, "of AnnotatedDatum records"));
  EXPECT_TRUE(contains(said.text, "boxes: 3; images without any: 1\n"));
}

TEST(DataReport, WeightsLayerByLayer) {
  const TempDir folder;
  caffe::NetParameter model;
  caffe::LayerParameter* layer = model.add_layer();
  layer->set_name("ip");
  layer->set_type("InnerProduct");
  const float weights[] = {1, -2, 3, 4, 5, 7}, bias[] = {0.5f, std::numeric_limits<float>::infinity()};
  blob_to_proto({2, 3}, weights, layer->add_blobs());
  blob_to_proto({2}, bias, layer->add_blobs());
  write_binary_proto(folder / "a.caffemodel", model);
  const Report found = report(folder / "a.caffemodel", {});
  EXPECT_TRUE(found.whole);
  EXPECT_TRUE(contains(found.text, "weights of 1 layer\n"));
  EXPECT_TRUE(matches(found.text, "ip +InnerProduct +0 +2 3 .6. +-2 +7 +3 +0\n")) << found.text;
  EXPECT_TRUE(matches(found.text, "ip +InnerProduct +1 +2 .2. +0.5 +0.5 +0.5 +1\n")) << found.text;
}

TEST(DataReport, ListsAndMeans) {
  const TempDir folder;
  write_file(folder / "cat.png", encode_image(random_image({3, 6, 5}, 3), ImageFormat::kPng));
  write_file(folder / "list.txt", "cat.png 4\nmissing.png 1\ncat.png 4\n");
  const Report list = report(folder / "list.txt", {.root = folder / ""});
  EXPECT_FALSE(list.whole);
  EXPECT_TRUE(contains(list.text, "a list of images"));
  EXPECT_TRUE(contains(list.text, "duplicates: 1\n    record 2 is record 0\n"));
  EXPECT_TRUE(contains(list.text, "broken: 1\n"));
  const float values[] = {1, 2, 3, 4, 300, -5, 7, 8};
  caffe::BlobProto proto;
  blob_to_proto({1, 2, 2, 2}, values, &proto);
  write_binary_proto(folder / "mean.binaryproto", proto);
  const Report mean = report(folder / "mean.binaryproto", {.png = folder / "png"});
  EXPECT_TRUE(matches(mean.text, "0 +1 +4 +2.5 +0\n")) << mean.text;
  EXPECT_TRUE(matches(mean.text, "1 +-5 +300 +77.5 +0\n")) << mean.text;
  Image image;
  decode_image(read_file(folder / "png/mean_c1.png"), ColorMode::kAsStored, image);
  EXPECT_EQ(image.planes, (std::vector<uint8_t>{255, 0, 7, 8})) << "limited to what a picture can hold";
}

TEST(DataReport, WhatIsNone) {
  const TempDir folder;
  EXPECT_EQ(error_of([&] { report(folder / "absent"); }).kind(), ErrorKind::kData);
  fs::create_directory(folder / "empty");
  EXPECT_EQ(error_of([&] { report(folder / "empty"); }).kind(), ErrorKind::kData);
  write_file(folder / "text", "no label here at all\n");
  EXPECT_EQ(error_of([&] { report(folder / "text"); }).kind(), ErrorKind::kData);
  write_file(folder / "bytes", std::string("\x01\x02\x00garbage", 10));
  EXPECT_EQ(error_of([&] { report(folder / "bytes"); }).kind(), ErrorKind::kData);
  write_file(folder / "cut.h5", "\x89HDF\r\n\x1a\nnothing more");
  const Error cut = error_of([&] { report(folder / "cut.h5"); });
  EXPECT_TRUE(cut.kind() == ErrorKind::kData || cut.kind() == ErrorKind::kUnsupported) << cut.what();
}

}  // namespace
}  // namespace robusta::test::data_report_test
