// caffe device_query on fake GPUs.

#include <gtest/gtest.h>

#include <cstdlib>

#include "robusta/error.h"
#include "solver/process.h"
#include "support/files.h"

namespace robusta::test {
namespace {

/// `caffe device_query args...` where there are these fake GPUs.
Finished query(const std::string& gpus, std::vector<std::string> args = {}) {
  const TempDir folder;
  args.insert(args.begin(), "device_query");
  setenv("ROBUSTA_SIM_GPUS", gpus.c_str(), 1);
  Finished done = run_caffe_program(folder.path(), args);
  unsetenv("ROBUSTA_SIM_GPUS");
  return done;
}

const std::string kSecond =
    "GPU 1: sim\n  memory: 0.0625 GiB\n  compute capability: 0.0, 1 processors\n  PCI id: sim:1\n"
    "  peers: 0 \\(PCIe\\)\n";

TEST(DeviceQuery, ShowsAllGpus) {
  const Finished done = query("2:64M");
  EXPECT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(matches(done.out, "GPU 0: sim\n(  .*\n)+" + kSecond)) << done.out;
  EXPECT_TRUE(matches(done.out, "CPU: .*\n  cores: \\d+ online")) << done.out;
}

TEST(DeviceQuery, ShowsThoseOfTheFlag) {
  const Finished done = query("2:64M", {"-gpu", "1"});
  EXPECT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(matches(done.out, "^" + kSecond)) << done.out;
  EXPECT_EQ(done.out.find("GPU 0"), std::string::npos) << done.out;
}

TEST(DeviceQuery, NamesGpusThatAreNotThere) {
  const Finished done = query("2:64M", {"-gpu", "0,2"});
  EXPECT_EQ(done.code, static_cast<int>(ErrorKind::kUsage));
  EXPECT_TRUE(matches(done.log, "there is no GPU 2: this process sees 2")) << done.log;
}

TEST(DeviceQuery, SaysWhenThereIsNone) {
  const Finished done = query("0:64M");
  EXPECT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(matches(done.out, "^GPUs: none\n")) << done.out;
  EXPECT_EQ(query("0:64M", {"-gpu", "0"}).code, static_cast<int>(ErrorKind::kUnsupported));
}

}  // namespace
}  // namespace robusta::test
