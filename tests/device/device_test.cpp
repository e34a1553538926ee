// What every accelerator promises: on a fake one, and on the GPU where there is one.
//
// Copies are large, so that what does not wait for them finds them half done.
#include "device/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "device/gpus.h"
#include "device/sim/sim_device.h"
#include "robusta/error.h"

namespace robusta::device_test {
namespace {

constexpr size_t kCount = size_t{4} << 20, kBytes = kCount * sizeof(int);

/// Page-locked numbers from `first` on.
struct HostNumbers {
  HostNumbers(Device& device, int first) : memory(device.host_memory(kBytes)) {
    std::iota(data(), data() + kCount, first);
  }
  int* data() const { return static_cast<int*>(memory.get()); }
  /// Whether they are what `first` on would be.
  bool start_at(int first) const {
    std::vector<int> want(kCount);
    std::iota(want.begin(), want.end(), first);
    return std::equal(want.begin(), want.end(), data());
  }
  std::shared_ptr<void> memory;
};

class AnyDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("sim")) {
      device_ = std::make_shared<SimDevice>(size_t{256} << 20, 100);
    } else if (const auto gpus = list_gpus(); gpus.empty() || gpus[0].name == "sim") {
      GTEST_SKIP() << "no GPU";
    } else {
      device_ = open_gpu(0);
    }
    stream_ = device_->make_stream();
  }
  void TearDown() override {
    stream_.reset();
    device_.reset();
  }
  DeviceBuffer buffer() { return DeviceBuffer(*device_, kBytes); }

  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_P(AnyDevice, MemoryIsAlignedAndCounted) {
  EXPECT_GE(device_->total_memory(), device_->free_memory());
  const size_t free = device_->free_memory();
  const DeviceBuffer large(*device_, size_t{64} << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large.data()) % 64, 0u);
  EXPECT_LE(device_->free_memory(), free - large.bytes());
}

TEST_P(AnyDevice, MoreMemoryThanThereIsIsAnErrorThatPasses) {
  try {
    DeviceBuffer(*device_, 2 * device_->total_memory());
    FAIL() << "more than there is";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory) << error.what();
  }
  const DeviceBuffer some = buffer();
  stream_->fill_zero(some.data(), some.bytes());
  EXPECT_NO_THROW(stream_->synchronize());
}

TEST_P(AnyDevice, CopiesOfOneStreamFollowEachOther) {
  const HostNumbers sent(*device_, 3), received(*device_, 0);
  const DeviceBuffer first = buffer(), second = buffer();
  stream_->copy_to_device(first.data(), sent.data(), kBytes);
  stream_->copy(second.data(), first.data(), kBytes);
  stream_->fill_zero(first.data(), kBytes);
  stream_->copy_to_host(received.data(), second.data(), kBytes);
  stream_->synchronize();
  EXPECT_TRUE(received.start_at(3));
  stream_->copy_to_host(received.data(), first.data(), kBytes);
  stream_->synchronize();
  EXPECT_EQ(std::count(received.data(), received.data() + kCount, 0), static_cast<std::ptrdiff_t>(kCount));
}

TEST_P(AnyDevice, MemoryThatIsNotPageLockedIsCopiedAlike) {
  std::vector<int> sent(kCount), received(kCount);
  std::iota(sent.begin(), sent.end(), 5);
  const DeviceBuffer there = buffer();
  stream_->copy_to_device(there.data(), sent.data(), kBytes);
  stream_->copy_to_host(received.data(), there.data(), kBytes);
  stream_->synchronize();
  EXPECT_EQ(received, sent);
}

TEST_P(AnyDevice, PinnedMemoryIsCopiedAndStaysItsOwners) {
  std::vector<int> sent(kCount), received(kCount);
  std::iota(sent.begin(), sent.end(), 7);
  const DeviceBuffer there = buffer();
  {
    const auto one = device_->pin(sent.data(), kBytes), other = device_->pin(received.data(), kBytes);
    stream_->copy_to_device(there.data(), sent.data(), kBytes);
    stream_->copy_to_host(received.data(), there.data(), kBytes);
    stream_->synchronize();
  }
  EXPECT_EQ(received, sent);
}

TEST_P(AnyDevice, EventsOrderStreams) {
  const HostNumbers received(*device_, 0);
  const DeviceBuffer there = buffer();
  const auto upload = device_->make_stream();
  for (int round = 1; round < 8; ++round) {  // events are used again
    const HostNumbers sent(*device_, round);
    upload->wait(stream_->record());
    upload->copy_to_device(there.data(), sent.data(), kBytes);
    stream_->wait(upload->record());
    stream_->copy_to_host(received.data(), there.data(), kBytes);
    stream_->record()->wait();
    EXPECT_TRUE(received.start_at(round)) << round;
  }
}

TEST_P(AnyDevice, AnotherThreadWaitsForAnEvent) {
  const HostNumbers sent(*device_, 9), received(*device_, 0);
  const DeviceBuffer there = buffer();
  stream_->copy_to_device(there.data(), sent.data(), kBytes);
  stream_->copy_to_host(received.data(), there.data(), kBytes);
  const auto event = stream_->record();
  std::thread([&] {
    while (!event->reached()) std::this_thread::yield();
    event->wait();
    EXPECT_TRUE(received.start_at(9));
  }).join();
}

TEST_P(AnyDevice, TimedEventsMeasureMilliseconds) {
  const HostNumbers sent(*device_, 0);
  const DeviceBuffer there = buffer();
  const auto start = std::chrono::steady_clock::now();
  const auto begin = stream_->record_timed();
  stream_->copy_to_device(there.data(), sent.data(), kBytes);
  const auto end = stream_->record_timed();
  end->wait();
  const std::chrono::duration<double, std::milli> all = std::chrono::steady_clock::now() - start;
  EXPECT_GT(end->ms_since(*begin), 0.01);  // 16 MiB at more than any link's speed
  EXPECT_LT(end->ms_since(*begin), all.count());
}

TEST_P(AnyDevice, ARecordingFindsMemoryAsItIsAtEachLaunch) {
  const HostNumbers sent(*device_, 1), received(*device_, 0);
  const DeviceBuffer first = buffer(), second = buffer();
  stream_->fill_zero(second.data(), kBytes);
  stream_->begin_recording();
  stream_->copy(second.data(), first.data(), kBytes);
  std::unique_ptr<Recording> recording = stream_->end_recording();
  for (const int number : {11, 12}) {
    std::iota(sent.data(), sent.data() + kCount, number);
    stream_->copy_to_device(first.data(), sent.data(), kBytes);
    stream_->launch(*recording);
    stream_->copy_to_host(received.data(), second.data(), kBytes);
    stream_->synchronize();
    EXPECT_TRUE(received.start_at(number)) << number;
  }
  stream_->launch(*recording);
  recording.reset();  // while it may run
  stream_->synchronize();
}

TEST_P(AnyDevice, WhatIsRecordedDoesNotRun) {
  const HostNumbers sent(*device_, 21), received(*device_, 0);
  const DeviceBuffer there = buffer();
  stream_->copy_to_device(there.data(), sent.data(), kBytes);
  stream_->begin_recording();
  stream_->fill_zero(there.data(), kBytes);
  const auto unused = stream_->end_recording();
  stream_->begin_recording();
  stream_->fill_zero(there.data(), kBytes);
  stream_->abandon_recording();
  stream_->copy_to_host(received.data(), there.data(), kBytes);
  stream_->synchronize();
  EXPECT_TRUE(received.start_at(21));
}

TEST_P(AnyDevice, ASpoiledRecordingLeavesTheStreamUsable) {
  const DeviceBuffer there = buffer();
  stream_->begin_recording();
  stream_->fill_zero(there.data(), kBytes);
  EXPECT_THROW(stream_->synchronize(), Error);
  EXPECT_THROW(stream_->end_recording(), Error);
  stream_->abandon_recording();
  const HostNumbers sent(*device_, 31), received(*device_, 0);
  stream_->copy_to_device(there.data(), sent.data(), kBytes);
  stream_->copy_to_host(received.data(), there.data(), kBytes);
  stream_->synchronize();
  EXPECT_TRUE(received.start_at(31));
}

/// What a pass of another learner does is no part of this thread's recording.
TEST_P(AnyDevice, OtherThreadsTakeMemoryAndWaitWhileOneRecords) {
  const DeviceBuffer there = buffer();
  const auto event = stream_->record();
  stream_->begin_recording();
  stream_->fill_zero(there.data(), kBytes);
  std::thread([&] {
    const auto other = device_->make_stream();
    const DeviceBuffer theirs = buffer();
    other->fill_zero(theirs.data(), kBytes);
    event->wait();
    EXPECT_TRUE(event->reached());
    other->synchronize();
  }).join();
  const auto recording = stream_->end_recording();
  stream_->launch(*recording);
  EXPECT_NO_THROW(stream_->synchronize());
}

INSTANTIATE_TEST_SUITE_P(Kinds, AnyDevice, testing::Values("sim", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace robusta::device_test
