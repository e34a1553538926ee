// The converters, as functions and as programs.

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/str.h"
#include "data/convert/cifar.h"
#include "data/convert/idx.h"
#include "data/convert/image_mean.h"
#include "data/convert/image_set.h"
#include "data/convert/siamese.h"
#include "data/datum.h"
#include "data/lmdb/lmdb_reader.h"
#include "data/open_source.h"
#include "robusta/error.h"
#include "sample_db.h"
#include "schema/blob_proto.h"
#include "schema/mean_file.h"
#include "support/files.h"
#include "support/places.h"

namespace robusta::convert_test {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::TempDir;
using test::tools_dir;
using test::write_file;

std::vector<std::pair<std::string, std::string>> records(const std::string& folder) {
  const auto reader = open_source(folder, caffe::DataParameter::LMDB);
  std::vector<std::pair<std::string, std::string>> all;
  std::string storage;
  for (int64_t i = 0; i < reader->size(); ++i) all.emplace_back(reader->key(i), reader->record(i, storage));
  return all;
}

caffe::Datum parse(const std::string& record) {
  caffe::Datum datum;
  EXPECT_TRUE(datum.ParseFromString(record));
  return datum;
}

template <typename Body>
Error error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::kInternal, "");
}

std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string idx_images(uint32_t count, uint32_t rows, uint32_t cols, const std::string& pixels) {
  return big_endian(2051) + big_endian(count) + big_endian(rows) + big_endian(cols) + pixels;
}

TEST(ConvertMnistTest, Records) {
  TempDir dir;
  write_file(dir / "images", idx_images(2, 2, 3, "abcdefghijkl"));
  write_file(dir / "labels", big_endian(2049) + big_endian(2) + "\x07\xff");
  EXPECT_EQ(convert_mnist(dir / "images", dir / "labels", dir / "db"), 2);
  const auto all = records(dir / "db");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].first, "00000001");
  const caffe::Datum datum = parse(all[1].second);
  EXPECT_EQ(datum.channels(), 1);
  EXPECT_EQ(datum.height(), 2);
  EXPECT_EQ(datum.width(), 3);
  EXPECT_EQ(datum.data(), "ghijkl");
  EXPECT_EQ(datum.label(), 255);
}

TEST(ConvertMnistTest, BadFiles) {
  TempDir dir;
  const std::string labels = big_endian(2049) + big_endian(2) + "ab";
  const auto cause = [&](const std::string& images, const std::string& label_file) {
    write_file(dir / "images", images);
    write_file(dir / "labels", label_file);
    const Error error = error_of([&] { convert_mnist(dir / "images", dir / "labels", dir / "db"); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_FALSE(fs::exists(dir / "db"));
    return error.cause().substr((dir / "").size());
  };
  EXPECT_EQ(cause("\x1f\x8b..", labels), "images is compressed");
  EXPECT_EQ(cause("short", labels), "images is cut off");
  EXPECT_EQ(cause(labels + std::string(20, 'x'), labels), "images begins with 2049 instead of 2051");
  EXPECT_EQ(cause(idx_images(2, 2, 3, "abcdefghijk"), labels), "images holds 11 bytes of pixels, not 2 x 2 x 3");
  EXPECT_EQ(cause(idx_images(0xffffffff, 0xffffffff, 0xffffffff, "abc"), labels).find("images holds 3"), 0u);
  EXPECT_EQ(cause(idx_images(3, 2, 2, "abcdefghijkl"), labels), "labels has 2 labels for 3 images");
  EXPECT_EQ(cause(idx_images(2, 2, 3, "abcdefghijkl"), labels + "c"), "labels holds 3 labels, not 2");
  EXPECT_EQ(error_of([&] { convert_mnist(dir / "none", dir / "labels", dir / "db"); }).kind(), ErrorKind::kData);
}

void write_cifar(const TempDir& dir, int records_per_file) {
  PhiloxStream random(1);
  for (const char* name :
       {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"}) {
    std::string file;
    for (int i = 0; i < records_per_file; ++i) {
      file += static_cast<char>(random.below(10));
      for (int pixel = 0; pixel < 3072; ++pixel) file += static_cast<char>(random.below(256));
    }
    write_file(dir / (std::string(name) + ".bin"), file);
  }
}

TEST(ConvertCifarTest, Records) {
  TempDir in, out;
  write_cifar(in, 4);
  convert_cifar(in.path(), out.path(), "lmdb", 4);
  const auto train = records(out / "cifar10_train_lmdb"), test = records(out / "cifar10_test_lmdb");
  ASSERT_EQ(train.size(), 20u);
  ASSERT_EQ(test.size(), 4u);
  EXPECT_EQ(train[19].first, "00019");
  const std::string file = read_file(in / "data_batch_2.bin");
  const caffe::Datum datum = parse(train[5].second);
  EXPECT_EQ(datum.label(), file[3073]);
  EXPECT_EQ(datum.data(), file.substr(3074, 3072));
  EXPECT_EQ(datum.channels() * datum.height() * datum.width(), 3072);
}

TEST(ConvertCifarTest, LeavesNothingWhenAFileIsBad) {
  TempDir in, out;
  write_cifar(in, 4);
  fs::resize_file(in / "test_batch.bin", 4 * 3073 - 1);
  EXPECT_EQ(error_of([&] { convert_cifar(in.path(), out.path(), "lmdb", 4); }).kind(), ErrorKind::kData);
  EXPECT_TRUE(fs::is_empty(out.path()));
}

TEST(ImageListTest, LinesAsCaffeReadsThem) {
  TempDir dir;
  write_file(dir / "list", "a b.jpg 3\nc.png  -2\nd.png 4.7\ne.png x\nalone\n\n12\n");
  const auto items = read_image_list(dir / "list");
  const std::vector<std::pair<std::string, int>> want{{"a b.jpg", 3}, {"c.png ", -2}, {"d.png", 4}, {"e.png", 0},
                                                      {"alone", 0},   {"", 0},        {"12", 12}};
  ASSERT_EQ(items.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(items[i].path, want[i].first);
    EXPECT_EQ(items[i].label, want[i].second);
  }
}

/// Images i00.png .. of the given sizes and a list of them.
ImageSetOptions make_set(const TempDir& dir, const std::vector<Extent>& extents) {
  std::string list;
  for (size_t i = 0; i < extents.size(); ++i) {
    const std::string name = str("i", padded(static_cast<int64_t>(i), 2), ".png");
    write_file(dir / name, encode_image(test::random_image(extents[i], i), ImageFormat::kPng));
    list += name + " " + std::to_string(i) + "\n";
  }
  write_file(dir / "list", list);
  ImageSetOptions options;
  options.root = dir / "";
  options.list = dir / "list";
  options.folder = dir / "db";
  return options;
}

TEST(ConvertImageSetTest, Pixels) {
  TempDir dir;
  const auto result = convert_image_set(make_set(dir, {{3, 4, 5}, {1, 6, 3}}));
  EXPECT_EQ(result.written, 2);
  const auto all = records(dir / "db");
  EXPECT_EQ(all[0].first, "00000000_i00.png");
  const Image image = test::random_image({3, 4, 5}, 0);
  EXPECT_EQ(parse(all[0].second).data(), std::string(image.planes.begin(), image.planes.end()));
  const caffe::Datum gray = parse(all[1].second);
  EXPECT_EQ(gray.channels(), 3) << "read in colour unless --gray";
  EXPECT_EQ(gray.height(), 6);
  EXPECT_EQ(gray.label(), 1);
  EXPECT_TRUE(gray.has_encoded());
  EXPECT_FALSE(gray.encoded());
}

TEST(ConvertImageSetTest, UnreadableImagesLeaveAGap) {
  TempDir dir;
  const ImageSetOptions options = make_set(dir, {{3, 4, 4}, {3, 4, 4}, {3, 4, 4}});
  fs::resize_file(dir / "i01.png", 30);
  const auto result = convert_image_set(options);
  EXPECT_EQ(result.written, 2);
  EXPECT_EQ(result.skipped, 1);
  EXPECT_EQ(records(dir / "db")[1].first, "00000002_i02.png");
}

TEST(ConvertImageSetTest, NothingReadableIsAnError) {
  TempDir dir;
  ImageSetOptions options = make_set(dir, {{3, 4, 4}, {3, 4, 4}});
  options.root = dir.path().string();  // without the slash
  const Error error = error_of([&] { convert_image_set(options); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_NE(error.fix().find("does it need a /"), std::string::npos);
  EXPECT_FALSE(fs::exists(dir / "db"));
}

TEST(ConvertImageSetTest, CheckSize) {
  TempDir dir;
  ImageSetOptions options = make_set(dir, {{3, 4, 5}, {3, 5, 4}});
  options.check_size = true;
  EXPECT_EQ(error_of([&] { convert_image_set(options); }).cause(), "i01.png is 3x5x4, the first image is 3x4x5");
  EXPECT_FALSE(fs::exists(dir / "db"));
  options.image.resize_height = options.image.resize_width = 6;
  EXPECT_EQ(convert_image_set(options).written, 2);
  EXPECT_EQ(parse(records(dir / "db")[1].second).data().size(), 3u * 6 * 6);
}

TEST(ConvertImageSetTest, NoImageIsLargerThanAnyThatCouldBeRead) {
  TempDir dir;
  ImageSetOptions options = make_set(dir, {{3, 4, 4}, {3, 4, 4}});
  options.image.resize_height = options.image.resize_width = 2'000'000;
  const Error error = error_of([&] { convert_image_set(options); });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_EQ(error.cause(), "images of 2000000 x 2000000 pixels; at most 134217728");
  EXPECT_FALSE(fs::exists(dir / "db"));
}

TEST(ConvertImageSetTest, StoredFiles) {
  TempDir dir;
  ImageSetOptions options = make_set(dir, {{3, 8, 9}, {1, 8, 9}});
  options.image.encoded = true;
  convert_image_set(options);
  const auto all = records(dir / "db");
  EXPECT_EQ(parse(all[0].second).data(), read_file(dir / "i00.png")) << "untouched";
  EXPECT_TRUE(parse(all[0].second).encoded());
  EXPECT_FALSE(parse(all[0].second).has_channels());
  EXPECT_EQ(image_extent(parse(all[1].second).data(), ColorMode::kAsStored).channels, 3) << "made a colour image";
  options.image.encoded = false;
  options.image.encode_type = "JPG";  // alone it means encoded, too
  options.folder = dir / "jpg";
  options.image.gray = true;
  options.image.resize_height = 16;
  options.image.resize_width = 12;
  convert_image_set(options);
  const std::string jpeg = parse(records(dir / "jpg")[0].second).data();
  EXPECT_EQ(image_format_of(jpeg), ImageFormat::kJpeg);
  EXPECT_EQ(image_extent(jpeg, ColorMode::kAsStored), (Extent{1, 16, 12}));
  options.image.encode_type = "tiff";
  options.folder = dir / "tiff";
  EXPECT_EQ(error_of([&] { convert_image_set(options); }).kind(), ErrorKind::kUnsupported);
}

TEST(ConvertImageSetTest, ShuffleBySeed) {
  TempDir dir;
  ImageSetOptions options = make_set(dir, std::vector<Extent>(12, Extent{1, 2, 2}));
  options.shuffle = true;
  const auto order = [&](uint64_t seed, const std::string& name) {
    options.seed = seed;
    options.folder = dir / name;
    convert_image_set(options);
    std::vector<int> labels;
    for (const auto& [key, record] : records(dir / name)) labels.push_back(parse(record).label());
    return labels;
  };
  const auto first = order(1, "a"), again = order(1, "b"), other = order(2, "c");
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_EQ(std::set<int>(first.begin(), first.end()).size(), 12u);
}

/// Byte for byte what Caffe's convert_imageset wrote of the same images.
void compare_with_recorded(const std::string& name, const ImageSetOptions& how) {
  ROBUSTA_SHARED_FILE(samples, "golden/samples");
  TempDir dir;
  ImageSetOptions options = how;
  options.root = samples + "/images/";
  options.list = samples + "/list.txt";
  options.folder = dir / name;
  EXPECT_EQ(convert_image_set(options).written, 10);
  EXPECT_EQ(records(dir / name), records(samples + "/" + name));
}

TEST(ConvertImageSetGoldenTest, Raw) { compare_with_recorded("lmdb_raw", {}); }
TEST(ConvertImageSetGoldenTest, Gray) {
  ImageSetOptions options;
  options.image.gray = true;
  compare_with_recorded("lmdb_gray", options);
}
TEST(ConvertImageSetGoldenTest, Resized) {
  ImageSetOptions options;
  options.image.resize_height = 6;
  options.image.resize_width = 8;
  compare_with_recorded("lmdb_resized", options);
}
TEST(ConvertImageSetGoldenTest, Encoded) {
  ImageSetOptions options;
  options.image.encoded = true;
  compare_with_recorded("lmdb_png", options);
}

TEST(ImageMeanGoldenTest, SameFileAsCaffe) {
  ROBUSTA_SHARED_FILE(samples, "golden/samples");
  TempDir dir;
  for (const char* name : {"lmdb_raw", "lmdb_png"}) {
    write_image_mean(image_mean(*LmdbReader::open(samples + "/" + name)), dir / "mean.binaryproto");
    EXPECT_EQ(read_file(dir / "mean.binaryproto"), read_file(samples + "/mean.binaryproto")) << name;
  }
}

TEST(ImageMeanTest, MeanOfPixelsAndChannels) {
  TempDir dir;
  test::write_database(dir / "db", 200, [](int i) { return test::raw_datum({2, 3, 4}, 0, static_cast<uint64_t>(i)); });
  const ImageMean mean = image_mean(*LmdbReader::open(dir / "db"));
  double channel = 0;
  for (size_t pixel = 0; pixel < 24; ++pixel) {
    double sum = 0;
    for (uint64_t i = 0; i < 200; ++i) sum += test::random_image({2, 3, 4}, i).planes[pixel];
    EXPECT_FLOAT_EQ(mean.values[pixel], static_cast<float>(sum / 200));
    if (pixel >= 12) channel += sum / 200 / 12;
  }
  EXPECT_FLOAT_EQ(mean.channel_values[1], static_cast<float>(channel));
}

TEST(ImageMeanTest, SizesMustAgree) {
  TempDir dir;
  test::write_database(dir / "db", 100, [](int i) { return test::raw_datum({1, 3, i == 70 ? 5 : 4}, 0, 1); });
  const Error error = error_of([&] { image_mean(*LmdbReader::open(dir / "db")); });
  EXPECT_EQ(error.cause(), "record 00000070 in " + (dir / "db") + " is 1x3x5, the first one 1x3x4");
}

TEST(ConvertBackendsTest, HoldTheSameRecords) {
  TempDir dir;
  std::string pixels;
  for (int i = 0; i < 50 * 6; ++i) pixels += static_cast<char>(i * 7);
  write_file(dir / "images", idx_images(50, 2, 3, pixels));
  write_file(dir / "labels", big_endian(2049) + big_endian(50) + pixels.substr(0, 50));
  write_cifar(dir, 30);
  ImageSetOptions set = make_set(dir, std::vector<Extent>(40, Extent{3, 9, 8}));
  set.shuffle = true;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> lmdbs;
  for (const std::string backend : {"lmdb", "leveldb"}) {
    convert_mnist(dir / "images", dir / "labels", dir / ("mnist_" + backend), backend);
    convert_mnist_pairs(dir / "images", dir / "labels", dir / ("pairs_" + backend), 3, backend);
    convert_cifar(dir.path(), dir.path(), backend, 30);
    set.folder = dir / ("set_" + backend);
    set.backend = backend;
    convert_image_set(set);
    for (const std::string name : {"mnist", "pairs", "cifar10_train", "cifar10_test", "set"}) {
      const auto found = records(dir / (name + "_" + backend));
      const auto [lmdb, first] = lmdbs.emplace(name, found);
      EXPECT_FALSE(found.empty());
      EXPECT_TRUE(first || found == lmdb->second) << name;
    }
  }
}

TEST(ConvertImageSetTest, ThreadsDoNotChangeTheDatabase) {
  TempDir dir;
  ImageSetOptions set = make_set(dir, std::vector<Extent>(90, Extent{3, 30, 40}));
  fs::resize_file(dir / "i07.png", 50);
  set.image.resize_height = set.image.resize_width = 64;
  const int threads_before = omp_get_max_threads();
  std::string first;
  for (const int threads : {1, 2, 4, 9}) {
    omp_set_num_threads(threads);
    set.folder = dir / str("db", threads);
    EXPECT_EQ(convert_image_set(set).skipped, 1);
    const std::string file = read_file(set.folder + "/data.mdb");
    if (first.empty()) first = file;
    EXPECT_TRUE(file == first) << threads;
  }
  omp_set_num_threads(threads_before);
}

/// Exit code of a program of the tools folder.
int run_tool(const std::string& command) {
  const std::string tool = tools_dir() + "/" + command;
  return WEXITSTATUS(std::system((tool + " > /dev/null 2>&1").c_str()));
}

TEST(DataToolsTest, ExitCodes) {
  if (!fs::exists(tools_dir() + "/convert_imageset")) GTEST_SKIP() << "the tools are not built";
  TempDir dir;
  const ImageSetOptions set = make_set(dir, {{3, 4, 4}, {3, 4, 4}});
  const std::string arguments = set.root + " " + set.list + " " + set.folder;
  EXPECT_EQ(run_tool("convert_imageset " + set.root + " " + set.list), 1);
  EXPECT_EQ(run_tool("convert_imageset --backend=hdf5 " + arguments), 1);
  EXPECT_FALSE(fs::exists(set.folder));
  EXPECT_EQ(run_tool("convert_imageset -shuffle -seed 3 -resize_width=8 --resize_height 9 " + arguments), 0);
  EXPECT_EQ(run_tool("convert_imageset " + arguments), 7) << "the folder exists";
  EXPECT_EQ(run_tool("compute_image_mean " + set.folder + " " + (dir / "mean")), 0);
  EXPECT_EQ(read_mean_file(dir / "mean").shape, (std::vector<int64_t>{3, 9, 8}));
  EXPECT_EQ(run_tool("compute_image_mean " + (dir / "none")), 3);
  EXPECT_EQ(run_tool("convert_mnist_data " + (dir / "a") + " " + (dir / "b") + " " + (dir / "c")), 3);
  EXPECT_EQ(run_tool("convert_cifar_data " + (dir / "") + " " + (dir / "") + " lmdb"), 3);
  EXPECT_EQ(run_tool("convert_cifar_data " + (dir / "")), 1);
}

}  // namespace
}  // namespace robusta::convert_test
