// HDF5Output: what is written, batch behind batch, and where it cannot be.

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "data/hdf5_access.h"
#include "device/sim/sim_device.h"
#include "hdf5_files.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/nets.h"

namespace robusta::hdf5_output_test {
namespace {

using test::contains;
using test::error_of;
using test::TempDir;

NetDef output_net(const std::string& file, const std::string& label_shape = "dim: 2") {
  return test::net_def(
      "layer { name: 'in' type: 'Input' top: 'x' top: 'l' input_param { shape { dim: 2 dim: 3 } shape { " +
      label_shape + " } } }\nlayer { name: 'out' type: 'HDF5Output' bottom: 'x' bottom: 'l' " +
      "hdf5_output_param { file_name: '" + file + "' } }");
}

void pass(Net& net, float begin) {
  std::vector<float> x(6), labels{begin, begin + 1};
  for (size_t i = 0; i < 6; ++i) x[i] = begin * 100 + static_cast<float>(i);
  net.blobs().write("x", x);
  net.blobs().write("l", labels);
  net.forward({.batch = 2});
}

/// All rows of a dataset with the shape of each.
std::pair<Shape, std::vector<float>> rows_of(const std::string& file, const std::string& dataset) {
  const auto rows = hdf5_access().open(file, {dataset});
  const Shape item = rows->items()[0];
  std::vector<float> all(static_cast<size_t>(rows->rows() * item.count()));
  for (int64_t i = 0; i < rows->rows(); ++i) rows->read(i, all.data() + i * item.count());
  return {item, all};
}

void expect_two_passes(const std::string& file, const NetOptions& options) {
  Net net(output_net(file), options);
  EXPECT_FALSE(std::filesystem::exists(file));  // a net that only exists writes nothing
  pass(net, 0);
  EXPECT_EQ(rows_of(file, "label").second, (std::vector<float>{0, 1}));  // whole after each pass
  pass(net, 2);
  EXPECT_EQ(rows_of(file, "label").second, (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(rows_of(file, "label").first, (Shape{1, 1, 1}));
  EXPECT_EQ(rows_of(file, "data").first, (Shape{3, 1, 1}));
  EXPECT_EQ(rows_of(file, "data").second, (std::vector<float>{0, 1, 2, 3, 4, 5, 200, 201, 202, 203, 204, 205}));
}

TEST(Hdf5OutputTest, BatchBehindBatch) {
  TempDir dir;
  expect_two_passes(dir / "out.h5", {});
}

TEST(Hdf5OutputTest, OnAnEmulatedGpu) {
  TempDir dir;
  SimDevice gpu(size_t{1} << 26, 0, "emulated");
  NetOptions options;
  options.device = &gpu;
  expect_two_passes(dir / "out.h5", options);
}

TEST(Hdf5OutputTest, DoublesStayDoubles) {
  TempDir dir;
  NetOptions options;
  options.dtype = DType::kF64;
  {
    Net net(output_net(dir / "out.h5"), options);
    pass(net, 4);
  }
  const hid_t file = H5Fopen((dir / "out.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t data = H5Dopen2(file, "data", H5P_DEFAULT), type = H5Dget_type(data);
  EXPECT_GT(H5Tequal(type, H5T_NATIVE_DOUBLE), 0);
  H5Tclose(type);
  H5Dclose(data);
  H5Fclose(file);
}

TEST(Hdf5OutputTest, ReplacesWhatWasThereAndIsReadByHdf5Data) {
  TempDir dir;
  test::write_file(dir / "out.h5", "something else");
  {
    Net net(output_net(dir / "out.h5"), {});
    pass(net, 0);
  }
  test::write_file(dir / "list.txt", dir / "out.h5");
  Net net(test::net_def("layer { name: 'd' type: 'HDF5Data' top: 'data' top: 'label' hdf5_data_param { source: '" +
                        (dir / "list.txt") + "' batch_size: 2 } }"),
          {});
  net.forward({.next_sample = 2, .batch = 2});
  EXPECT_EQ(net.blobs().read("data"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Hdf5OutputTest, PlacesThatCannotBeWritten) {
  TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  for (const std::string& place : {dir / "fifo", dir / "", dir / "no/folder.h5", std::string("/dev/full")}) {
    Net net(output_net(place), {});
    const Error error = error_of([&] { pass(net, 0); });
    EXPECT_EQ(error.kind(), ErrorKind::kOutput) << place << ": " << error.what();
    EXPECT_EQ(error.layer(), "out");
  }
  Net first(output_net(dir / "out.h5"), {}), second(output_net(dir / "out.h5"), {});
  pass(first, 0);
  EXPECT_EQ(error_of([&] { pass(second, 0); }).kind(), ErrorKind::kOutput);
  pass(first, 2);
  EXPECT_EQ(rows_of(dir / "out.h5", "label").second, (std::vector<float>{0, 1, 2, 3}));
}

/// Writes where files can only have so many bytes, as on a full disk, and ends the process as programs do.
[[noreturn]] void end_on_a_full_disk(const std::string& file, rlim_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {bytes, bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  int code = 0;
  try {
    Net net(output_net(file), {});
    pass(net, 0);
  } catch (const Error& error) {
    std::cerr << error.what() << std::endl;
    code = static_cast<int>(error.kind());
  }
  std::exit(code);
}

TEST(Hdf5OutputDeathTest, AFullDiskIsAnErrorOfOneLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TempDir dir;
  const std::string file = dir / "out.h5";
  pass(*std::make_unique<Net>(output_net(file), NetOptions{}), 0);
  const auto whole = static_cast<rlim_t>(std::filesystem::file_size(file));
  for (rlim_t bytes = 512; bytes < whole; bytes += 512) {
    EXPECT_EXIT(end_on_a_full_disk(file, bytes), testing::ExitedWithCode(static_cast<int>(ErrorKind::kOutput)),
                "cannot write: File too large; make room on the disk[^\n]*\n$")
        << bytes;
  }
  EXPECT_EXIT(end_on_a_full_disk(file, whole), testing::ExitedWithCode(0), "");
}

TEST(Hdf5OutputTest, BottomsHaveToFit) {
  TempDir dir;
  EXPECT_EQ(error_of([&] { Net(output_net(dir / "out.h5", "dim: 3"), {}); }).kind(), ErrorKind::kConfig);
  EXPECT_EQ(error_of([&] { Net(output_net(""), {}); }).field(), "hdf5_output_param.file_name");
}

}  // namespace
}  // namespace robusta::hdf5_output_test
