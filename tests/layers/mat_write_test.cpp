// MatWrite: bytes of the files, their names, and which passes are written.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/files.h"
#include "support/kernel_checks.h"

namespace robusta::test::mat_write_test {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename T>
T number_at(const std::string& bytes, size_t at) {
  T number{};
  EXPECT_LE(at + sizeof number, bytes.size());
  if (at + sizeof number <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

KernelCase mat_write(const std::string& fields, const std::vector<Shape>& bottoms) {
  return {{"type: 'MatWrite' mat_write_param { " + fields + " }"}, bottoms};
}

/// The single numbers of "MAT-File Format", chapter 1: header of 128 bytes, miMATRIX with flags, extents, name,
/// numbers.
TEST(MatWriteTest, WritesLevelFive) {
  const TempDir folder;
  KernelHarness harness(mat_write("prefix: '" + (folder / "x_") + "'", {{1, 2, 1, 3}}), {});
  harness.forward({{1, 2, 3, 4, 5, 6}});
  const std::string bytes = bytes_of((folder / "x_iter_0_blob_0.mat"));
  EXPECT_TRUE(bytes.starts_with("MATLAB 5.0 MAT-file"));
  EXPECT_EQ(number_at<uint16_t>(bytes, 124), 0x0100);
  EXPECT_EQ(bytes.substr(126, 2), "IM");
  EXPECT_EQ(number_at<uint32_t>(bytes, 128), 14u);
  EXPECT_EQ(number_at<uint32_t>(bytes, 132), bytes.size() - 136);
  EXPECT_EQ(number_at<uint32_t>(bytes, 144), 6u);  // doubles: the harness computes in f64
  EXPECT_EQ(number_at<uint32_t>(bytes, 156), 16u);
  const int32_t extents[] = {3, 1, 2, 1};  // width, height, channels, samples
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(number_at<int32_t>(bytes, 160 + 4 * i), extents[i]);
  EXPECT_EQ(bytes.substr(184, 4), "data");
  EXPECT_EQ(number_at<uint32_t>(bytes, 192), 9u);
  EXPECT_EQ(number_at<uint32_t>(bytes, 196), 48u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(number_at<double>(bytes, 200 + 8 * i), static_cast<double>(i + 1));
  EXPECT_EQ(bytes.size(), 248u);
}

TEST(MatWriteTest, NamesFilesByTheListAndWritesEveryPeriod) {
  const TempDir folder;
  std::ofstream((folder / "ids.txt")) << "cat.png 1\ndog.png 2\n\nfox.png\n";
  KernelHarness harness(
      mat_write("prefix: '" + (folder / "") + "' source: '" + (folder / "ids.txt") + "' strip: 4 period: 2",
                {{1, 2}, {1, 1}}),
      {});
  for (int pass = 0; pass < 3; ++pass) harness.forward({{1, 2}, {3}});
  for (const char* name : {"cat_blob_0.mat", "cat_blob_1.mat", "fox_blob_0.mat", "fox_blob_1.mat"})
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  EXPECT_FALSE(std::filesystem::exists((folder / "dog_blob_0.mat")));
  harness.forward({{1, 2}, {3}});  // not written: no name is missed
  try {
    harness.forward({{1, 2}, {3}});
    FAIL() << "a pass without a name was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_NE(std::string(error.what()).find("this is pass 5, and the list has 3 names"), std::string::npos)
        << error.what();
  }
}

TEST(MatWriteTest, GpuWritesFloats) {
  const TempDir folder;
  KernelHarness harness(mat_write("prefix: '" + (folder / "g") + "'", {{2, 1}}),
                        {.backend = "gpu", .kind = "emulated", .dtype = DType::kF32});
  harness.forward({{0.5, -2}});
  const std::string bytes = bytes_of((folder / "giter_0_blob_0.mat"));
  EXPECT_EQ(number_at<uint32_t>(bytes, 144), 7u);
  EXPECT_EQ(number_at<int32_t>(bytes, 160), 1);
  EXPECT_EQ(number_at<float>(bytes, bytes.size() - 4), -2.0f);
}

TEST(MatWriteTest, Errors) {
  const TempDir folder;
  expect_config_error(mat_write("", {{1, 2}}), "no prefix", "mat_write_param.prefix");
  expect_config_error(mat_write("prefix: 'x' period: 0", {{1, 2}}), "period is 0", "mat_write_param.period");
  expect_config_error(mat_write("prefix: 'x' strip: -1", {{1, 2}}), "strip is -1", "mat_write_param.strip");
  std::ofstream((folder / "ids.txt")) << "ab\n";
  const std::string source = "prefix: 'x' source: '" + (folder / "ids.txt") + "' ";
  EXPECT_THROW(KernelHarness(mat_write(source + "strip: 2", {{1, 2}}), {}), Error);
  EXPECT_THROW(KernelHarness(mat_write("prefix: 'x' source: '" + (folder / "none") + "'", {{1, 2}}), {}), Error);
}

}  // namespace
}  // namespace robusta::test::mat_write_test
