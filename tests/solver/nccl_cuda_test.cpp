// NVIDIA's NCCL itself: found and called, and summing over the GPUs of this machine, where there are any.
#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "robusta/error.h"
#include "solver/nccl_sums.h"

namespace robusta::test::nccl {
namespace {

const NcclApi* library() {
  std::string why;
  return find_nccl(nccl_files(), why);
}

bool has_gpus() {
  try {
    return !list_gpus().empty();
  } catch (const Error&) {
    return false;
  }
}

#define ROBUSTA_SKIP_WITHOUT_NCCL() \
  if (!library()) GTEST_SKIP() << "NCCL is not installed"

TEST(NcclLibrary, IsFoundAndAnswers) {
  ROBUSTA_SKIP_WITHOUT_NCCL();
  EXPECT_GE(library()->version, 21400);
  EXPECT_STREQ(library()->get_error_string(kNcclSuccess), "no error");
  NcclId first, second;
  ASSERT_EQ(library()->get_unique_id(&first), kNcclSuccess);
  ASSERT_EQ(library()->get_unique_id(&second), kNcclSuccess);
  EXPECT_NE(std::string(first.bytes, sizeof first.bytes), std::string(second.bytes, sizeof second.bytes));
}

TEST(NcclLibrary, WithoutAGpuItSaysWhatIsWrong) {
  ROBUSTA_SKIP_WITHOUT_NCCL();
  if (has_gpus()) GTEST_SKIP() << "there are GPUs";
  SimDevice device(1 << 20);
  NcclId id;
  ASSERT_EQ(library()->get_unique_id(&id), kNcclSuccess);
  try {
    NcclComm(*library(), device, id, 1, 0, {.limit_s = 30});
    FAIL() << "connected without a GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice) << error.what();
    EXPECT_EQ(std::string(error.what()).find("NCCL, connecting (member 0 of 1): "), 0u) << error.what();
  }
}

TEST(NcclLibrary, SumsOverTheGpusOfThisMachine) {
  ROBUSTA_SKIP_WITHOUT_NCCL();
  if (!has_gpus()) GTEST_SKIP() << "there is no GPU";
  for (const size_t ranks : {size_t{1}, list_gpus().size()}) {
    for (const int64_t count : {5, 100, 1000003}) {
      run_thread_ranks(static_cast<int>(ranks),
                       [&](Communicator& world) { expect_exact_sums(*library(), world, count); });
    }
  }
}

}  // namespace
}  // namespace robusta::test::nccl
