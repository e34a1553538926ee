// HDF5Data: rows over several files, of any shape and type, and what is wrong with files.

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <thread>

#include "data/hdf5_reader.h"
#include "hdf5_files.h"
#include "opened_layer.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::hdf5_data_test {
namespace {

using test::contains;
using test::counted_values;
using test::DatasetForm;
using test::error_of;
using test::hdf5_layer;
using test::Hdf5Maker;
using test::nth_pass;
using test::OpenedLayer;
using test::pass_over;
using test::TempDir;
using test::Tops;

/// Rows 0..4 of 2 x 3 numbers and their labels, in two files of 3 and 2; and their list.
std::string make_rows(const TempDir& dir, const DatasetForm& form = {}, const DatasetForm& labels = {}) {
  {
    Hdf5Maker first(dir / "a.h5"), second(dir / "b.h5");
    first.add("data", {3, 2, 3}, counted_values(18), form);
    first.add("label", {3}, {0, 1, 2}, labels);
    second.add("data", {2, 2, 3}, counted_values(12, 18), form);
    second.add("label", {2}, {3, 4}, labels);
  }
  test::write_file(dir / "list.txt", (dir / "a.h5") + "\n  " + (dir / "b.h5") + "\n\n");
  return dir / "list.txt";
}

void expect_rows(const OpenedLayer& layer) {
  const Tops first = pass_over(layer, nth_pass(0, 4)), second = pass_over(layer, nth_pass(1, 4));
  EXPECT_EQ(first.shapes, (std::vector<Shape>{{4, 2, 3}, {4}}));
  const std::vector<double> want = counted_values(24);
  EXPECT_EQ(first.values[0], std::vector<float>(want.begin(), want.end()));
  EXPECT_EQ(first.values[1], (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(second.values[1], (std::vector<float>{4, 0, 1, 2}));
  EXPECT_EQ(second.values[0][0], 24);
  EXPECT_EQ(second.values[0][6], 0);
}

TEST(Hdf5DataTest, RowsGoOnFromFileToFile) {
  TempDir dir;
  OpenedLayer layer(hdf5_layer(make_rows(dir), "batch_size: 4"));
  expect_rows(layer);
  EXPECT_EQ(layer->records(), 5);
  EXPECT_EQ(layer->sample_key(4), "row 1 of " + (dir / "b.h5") + " in " + (dir / "list.txt"));
  ASSERT_NE(layer->labelled(), nullptr);
  EXPECT_EQ(layer->labelled()->top(), 1);
  EXPECT_EQ(layer->labelled()->label(3), 3);
}

TEST(Hdf5DataTest, AllNumbersAndWaysToStoreThem) {
  const std::map<std::string, DatasetForm> forms{
      {"double", {H5T_IEEE_F64LE}},
      {"big endian", {H5T_IEEE_F32BE}},
      {"bytes", {H5T_STD_U8LE}},
      {"int64", {H5T_STD_I64LE}},
      {"chunks", {H5T_IEEE_F32LE, {2, 2, 2}}},
      {"deflated", {H5T_IEEE_F64LE, {1, 2, 3}, true}},
  };
  for (const auto& [name, form] : forms) {
    SCOPED_TRACE(name);
    TempDir dir;
    expect_rows(OpenedLayer(hdf5_layer(make_rows(dir, form, {H5T_STD_I32LE}), "batch_size: 4")));
  }
}

TEST(Hdf5DataTest, OneTopOrManyOfAnyShape) {
  TempDir dir;
  {
    Hdf5Maker file(dir / "a.h5");
    file.add("x", {2, 3, 1, 2, 2, 1}, counted_values(24));
    file.add("y", {2, 1}, {7, 8});
    file.add("group_free", {2}, {5, 6});
  }
  test::write_file(dir / "list.txt", dir / "a.h5");
  OpenedLayer one(hdf5_layer(dir / "list.txt", "batch_size: 1", {"x"}));
  EXPECT_EQ(pass_over(one, nth_pass(0, 1)).shapes, (std::vector<Shape>{{1, 3, 1, 2, 2, 1}}));
  EXPECT_EQ(one->labelled(), nullptr);
  OpenedLayer three(hdf5_layer(dir / "list.txt", "batch_size: 2", {"y", "group_free", "x"}));
  const Tops tops = pass_over(three, nth_pass(0, 2));
  EXPECT_EQ(tops.values[0], (std::vector<float>{7, 8}));
  EXPECT_EQ(tops.values[1], (std::vector<float>{5, 6}));
  EXPECT_EQ(tops.values[2][12], 12);
}

TEST(Hdf5DataTest, ShuffleShowsEachRowOncePerEpochAndResumes) {
  TempDir dir;
  const auto param = hdf5_layer(make_rows(dir, {H5T_IEEE_F32LE, {1, 2, 3}}), "batch_size: 5 shuffle: true");
  OpenedLayer whole(param), resumed(param, {.data = {.threads = 4}});
  std::vector<Tops> all;
  bool moved = false;
  for (uint64_t k = 0; k < 6; ++k) {
    all.push_back(pass_over(whole, nth_pass(k, 5)));
    std::map<float, int> seen;
    for (size_t i = 0; i < 5; ++i) {
      ++seen[all[k].values[1][i]];
      EXPECT_EQ(all[k].values[0][6 * i], 6 * all[k].values[1][i]);
    }
    EXPECT_EQ(seen.size(), 5u);
    moved = moved || all[k].values != all[0].values;
  }
  EXPECT_TRUE(moved);
  for (uint64_t k : {4, 1}) EXPECT_EQ(pass_over(resumed, nth_pass(k, 5)).values, all[k].values);
}

TEST(Hdf5DataTest, ManyFilesAndManyThreads) {
  constexpr int kFiles = 150;
  TempDir dir;
  std::string list;
  for (int i = 0; i < kFiles; ++i) {
    const std::string path = dir / (std::to_string(i) + ".h5");
    Hdf5Maker(path).add("x", {2, 1}, {2.0 * i, 2.0 * i + 1},
                        {H5T_IEEE_F32LE, i % 2 ? std::vector<hsize_t>{1, 1} : std::vector<hsize_t>{}});
    list += path + " ";
  }
  test::write_file(dir / "list.txt", list);
  const Hdf5Reader reader(dir / "list.txt", {"x"});
  ASSERT_EQ(reader.size(), 2 * kFiles);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::string storage;
      for (int64_t i = 0; i < reader.size(); ++i) {
        const int64_t index = (i * 7 + t * 31) % reader.size();
        const std::string_view row = reader.record(index, storage);
        float value;
        std::memcpy(&value, row.data(), sizeof value);
        wrong += value != static_cast<float>(index);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

Error refusal_of(const std::string& list) {
  return error_of([&] { OpenedLayer layer(hdf5_layer(list, "batch_size: 2")); });
}

TEST(Hdf5DataTest, FilesThatDoNotFitAreNamed) {
  TempDir dir;
  const std::string list = make_rows(dir);
  const auto with = [&](const auto& change) {
    std::filesystem::remove(dir / "b.h5");
    {
      Hdf5Maker file(dir / "b.h5");
      change(file);
    }
    const Error error = refusal_of(list);
    EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
    EXPECT_EQ(error.location(), dir / "b.h5");
    return error.cause() + "; " + error.fix();
  };
  EXPECT_TRUE(contains(with([](Hdf5Maker& f) { f.add("data", {2, 2, 3}, counted_values(12)); }), "\"label\""));
  EXPECT_TRUE(contains(with([](Hdf5Maker& f) { f.add("dada", {2}, {1, 2}); }), "holds dada"));
  EXPECT_TRUE(contains(with([](Hdf5Maker& f) {
                         f.add("data", {2, 2, 3}, counted_values(12));
                         f.add("label", {3}, {1, 2, 3});
                       }),
                       "has 3 samples"));
  EXPECT_TRUE(contains(with([](Hdf5Maker& f) {
                         f.add("data", {2, 3, 2}, counted_values(12));
                         f.add("label", {2}, {1, 2});
                       }),
                       "are 3 2 (6)"));
  EXPECT_TRUE(contains(with([](Hdf5Maker& f) { f.add("data", {}, {1}); }), "single number"));
  EXPECT_TRUE(contains(with([](Hdf5Maker& f) { f.add("data", {2, 0, 3}, {}); }), "without numbers"));
  EXPECT_TRUE(contains(with([](Hdf5Maker& f) {
                         f.add("data", {2, hsize_t{1} << 40, 3}, {}, {H5T_STD_I8LE, {1, 1, 1}});
                       }),
                       "more than"));
  EXPECT_TRUE(contains(with([](Hdf5Maker& f) {
                         f.add("data", {2, 1 << 30}, {}, {H5T_STD_I8LE, {1, 1}});
                       }),
                       "can hold"));
  EXPECT_TRUE(contains(with([](Hdf5Maker& f) {
                         f.add("data", {1 << 14, 1 << 14}, {}, {H5T_IEEE_F64LE, {1 << 14, 1 << 14}});
                       }),
                       "chunks"));
  EXPECT_TRUE(contains(with([](Hdf5Maker& f) {
                         const hid_t text = H5Tcopy(H5T_C_S1);
                         f.add("data", {2}, {}, {text});
                         H5Tclose(text);
                       }),
                       "neither floats nor integers"));
}

TEST(Hdf5DataTest, OtherFilesAreNotFollowed) {
  TempDir dir;
  make_rows(dir);
  {
    Hdf5Maker file(dir / "link.h5");
    H5Lcreate_external((dir / "a.h5").c_str(), "data", file.file(), "data", H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t two = 2;
    const hid_t space = H5Screate_simple(1, &two, nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, (dir / "fifo").c_str(), 0, 8);
    H5Dclose(H5Dcreate2(file.file(), "label", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(creation);
  }
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  test::write_file(dir / "list.txt", dir / "link.h5");
  const auto cause = [&](const std::string& top) {
    return error_of([&] { OpenedLayer layer(hdf5_layer(dir / "list.txt", "batch_size: 1", {top})); }).cause();
  };
  EXPECT_TRUE(contains(cause("data"), "no dataset \"data\""));
  EXPECT_TRUE(contains(cause("label"), "other files"));
}

TEST(Hdf5DataTest, FifosFoldersAndOtherFiles) {
  TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  test::write_file(dir / "text.h5", "this is no HDF5 file");
  for (const char* name : {"fifo", "text.h5", "missing.h5", ""}) {
    test::write_file(dir / "list.txt", dir / name);
    EXPECT_EQ(refusal_of(dir / "list.txt").kind(), ErrorKind::kData) << name;
  }
  EXPECT_EQ(refusal_of(dir / "fifo").field(), "hdf5_data_param.source");
  test::write_file(dir / "list.txt", " \n ");
  EXPECT_EQ(refusal_of(dir / "list.txt").location(), dir / "list.txt");
}

TEST(Hdf5DataTest, AFileThatShrinksWhileItIsRead) {
  TempDir dir;
  OpenedLayer layer(hdf5_layer(make_rows(dir), "batch_size: 1"));
  layer->prepare(nth_pass(0, 1));
  std::filesystem::resize_file(dir / "b.h5", 100);
  const Error error = error_of([&] { layer->prepare(nth_pass(4, 1)); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_EQ(error.location(), dir / "b.h5");
}

TEST(Hdf5DataTest, SettingsThatCannotBe) {
  const auto field_of = [](const std::string& source, const std::string& settings) {
    return error_of([&] { OpenedLayer layer(hdf5_layer(source, settings)); }).field();
  };
  EXPECT_EQ(field_of("", "batch_size: 1"), "hdf5_data_param.source");
  EXPECT_EQ(field_of("l", ""), "hdf5_data_param.batch_size");
  auto transformed = hdf5_layer("l", "batch_size: 1");
  transformed.mutable_transform_param()->set_scale(2);
  EXPECT_EQ(error_of([&] { OpenedLayer layer(transformed); }).field(), "transform_param");
}

}  // namespace
}  // namespace robusta::hdf5_data_test
