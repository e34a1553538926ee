// What the error for too little memory says is true: the batch that it names fits, and the next one does not.

#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "net/planner/largest_batch.h"
#include "support/errors.h"
#include "support/lms.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

NetOptions limited(Device& device, size_t bytes, int64_t batch) {
  NetOptions options = resident_options(device, batch);
  options.budget = std::make_shared<MemoryBudget>();
  options.budget->limit = bytes;
  options.budget->source = "-gpu_memory";
  return options;
}

bool runs(const NetOptions& options) {
  try {
    Net net(net_def(kBranchyNet), options);
    fill_inputs(net, 1);
    run_once(net);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory) << error.what();
    return false;
  }
}

TEST(OutOfMemory, NamesTheLargestBatchThatFits) {
  constexpr size_t kLimit = 1500 * 1024;
  SimDevice device(kLimit);
  const Error error = error_of([&] { Net(net_def(kBranchyNet), limited(device, kLimit, 64)); });
  EXPECT_EQ(error.kind(), ErrorKind::kMemory);
  EXPECT_TRUE(contains(error.cause(), "the net branchy with a batch of 64 needs "));
  EXPECT_TRUE(contains(error.cause(), "may have 1.5 MiB (-gpu_memory)"));
  EXPECT_TRUE(contains(error.cause(), "the largest values at the peak are "));
  EXPECT_EQ(device.peak_bytes(), 0u);

  const int64_t largest = largest_fitting_batch(net_def(kBranchyNet), limited(device, kLimit, 64));
  EXPECT_GT(largest, 1);
  NetOptions with = limited(device, kLimit, 64);
  with.lms.mode = LmsOptions::Mode::kAuto;
  const int64_t moved = largest_fitting_batch(net_def(kBranchyNet), with);
  EXPECT_GT(moved, largest);
  EXPECT_TRUE(contains(error.fix(), "(-batch " + std::to_string(moved) + " -lms auto)"));

  EXPECT_TRUE(runs(limited(device, kLimit, largest)));
  EXPECT_FALSE(runs(limited(device, kLimit, largest + 1)));
  with = limited(device, kLimit, moved);
  with.lms.mode = LmsOptions::Mode::kAuto;
  EXPECT_TRUE(runs(with));
}

TEST(OutOfMemory, OffersLargeModelSupportWhereItServes) {
  SimDevice device(size_t{1} << 30);
  NetOptions planning = resident_options(device, 16);
  planning.plan_only = true;
  const Net resident(net_def(kBranchyNet), planning);
  const size_t limit = fixed_memory(resident) + (least_arena(resident) + resident.plan().arena_bytes) / 2;
  const Error error = error_of([&] { Net(net_def(kBranchyNet), limited(device, limit, 16)); });
  EXPECT_EQ(error.kind(), ErrorKind::kMemory);
  EXPECT_TRUE(contains(error.fix(), "give -lms auto: it fits then, with "));
  EXPECT_TRUE(contains(error.fix(), "or use a batch of at most "));
  NetOptions with = limited(device, limit, 16);
  with.lms.mode = LmsOptions::Mode::kAuto;
  EXPECT_TRUE(runs(with));
}

// The histories of the update are not the net's, but they will want their memory, too.
TEST(OutOfMemory, CountsWhatTheUpdateWillTake) {
  SimDevice device(size_t{1} << 30);
  NetOptions planning = resident_options(device, 4);
  planning.plan_only = true;
  const Net resident(net_def(kBranchyNet), planning);
  const size_t exact = fixed_memory(resident) + resident.plan().arena_bytes;
  EXPECT_TRUE(runs(limited(device, exact, 4)));
  EXPECT_FALSE(runs(limited(device, exact - 1, 4)));
  NetOptions with_history = limited(device, exact, 4);
  with_history.budget->update.per_parameter = 1;
  EXPECT_FALSE(runs(with_history));
}

// Two nets, such as one for training and one for testing, take from one budget.
TEST(OutOfMemory, NetsShareABudget) {
  SimDevice device(size_t{1} << 30);
  const Net alone(net_def(kBranchyNet), resident_options(device, 4));
  const size_t one = fixed_memory(alone) + alone.plan().arena_bytes;
  NetOptions options = limited(device, one + one / 2, 4);
  options.arena = std::make_shared<Arena>(device);
  const Net first(net_def(kBranchyNet), options);
  EXPECT_EQ(options.budget->taken, fixed_memory(first));
  NetOptions second = options;
  second.share_params = &first;
  EXPECT_NO_THROW(Net(net_def(kBranchyNet), second));
  second.budget->limit = one + alone.plan().persistent_bytes - 1;
  EXPECT_EQ(error_of([&] { Net(net_def(kBranchyNet), second); }).kind(), ErrorKind::kMemory);
}

}  // namespace
}  // namespace robusta::test
