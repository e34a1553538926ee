// HDF5 files with each byte changed and each length cut off: numbers, or an Error{kData}, in little time and memory. In
// a process of its own, so that a crash in libhdf5 is counted with the byte that caused it.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "data/hdf5_access.h"
#include "hdf5_files.h"
#include "robusta/error.h"
#include "support/files.h"

namespace robusta {
namespace {

using test::counted_values;
using test::Hdf5Maker;
using test::TempDir;

/// Reads all rows of both datasets. What is thrown has to be an Error{kData}.
bool survives(const std::string& path) {
  try {
    const auto rows = hdf5_access().open(path, {"data", "label"});
    std::vector<float> numbers(static_cast<size_t>(rows->items()[0].count() + rows->items()[1].count()));
    for (int64_t i = 0; i < std::min<int64_t>(rows->rows(), 8); ++i) rows->read(i, numbers.data());
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kData;
  }
  return true;
}

/// survives() in a child with little time. 0: yes; else what waitpid says.
int status_of(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    rlimit core{0, 0}, time{5, 5}, memory{rlim_t{4} << 30, rlim_t{4} << 30};
    setrlimit(RLIMIT_CORE, &core);
    setrlimit(RLIMIT_CPU, &time);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    setrlimit(RLIMIT_AS, &memory);
#endif
    _exit(survives(path) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void try_changes(const std::string& path) {
  const std::string content = test::read_file(path);
  ASSERT_EQ(status_of(path), 0);
  int failed = 0;
  for (size_t at = 0; at < content.size(); ++at) {
    for (const uint8_t flip : {0xff, 0x01, 0x80}) {
      std::string changed = content;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      test::write_file(path, changed);
      const int status = status_of(path);
      if (status == 0) continue;
      ++failed;
      if (failed < 20) ADD_FAILURE() << "byte " << at << " ^ " << int{flip} << ": status " << status;
    }
    if (at % 8 != 0) continue;
    test::write_file(path, content.substr(0, at));
    EXPECT_EQ(status_of(path), 0) << "cut off at " << at;
  }
  EXPECT_EQ(failed, 0);
}

TEST(DamagedHdf5Test, InOnePiece) {
  TempDir dir;
  {
    Hdf5Maker file(dir / "a.h5");
    file.add("data", {4, 2}, counted_values(8));
    file.add("label", {4}, counted_values(4));
  }
  try_changes(dir / "a.h5");
}

TEST(DamagedHdf5Test, InPackedChunks) {
  TempDir dir;
  {
    Hdf5Maker file(dir / "a.h5");
    file.add("data", {4, 2}, counted_values(8), {H5T_IEEE_F64LE, {2, 2}, true});
    file.add("label", {4}, counted_values(4), {H5T_STD_I32LE, {2}});
  }
  try_changes(dir / "a.h5");
}

}  // namespace
}  // namespace robusta
