#include "device/sim/sim_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

#include "robusta/error.h"

namespace robusta::sim_device_test {
namespace {

TEST(SimDevice, RefusesMoreThanItsBudget) {
  SimDevice device(1000);
  DeviceBuffer first(device, 600);
  try {
    DeviceBuffer second(device, 600);
    FAIL() << "600 + 600 bytes fit into 1000";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
  }
  EXPECT_EQ(device.peak_bytes(), 600u);
}

TEST(SimDevice, PoisonsFreshMemory) {
  SimDevice device(1000);
  DeviceBuffer buffer(device, 64);
  EXPECT_TRUE(std::isnan(static_cast<const float*>(buffer.data())[5]));
}

TEST(SimDevice, RefusesHostAndFreedPointers) {
  SimDevice device(1000);
  float host = 0;
  EXPECT_THROW(device.check(&host, sizeof host), Error);
  DeviceBuffer buffer(device, 64);
  const void* memory = buffer.data();
  EXPECT_NO_THROW(device.check(memory, 64));
  EXPECT_THROW(device.check(memory, 65), Error);
  buffer.reset();
  EXPECT_THROW(device.check(memory, 64), Error);
}

TEST(SimDevice, StreamsRunInOrderAndLate) {
  SimDevice device(1 << 20, 200);
  auto stream = device.make_stream();
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    stream->run([&order, i] { order.push_back(i); });
  }
  stream->synchronize();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(SimDevice, EventsOrderStreams) {
  SimDevice device(1 << 20, 500);
  DeviceBuffer buffer(device, 4);
  auto upload = device.make_stream(), compute = device.make_stream();
  const int sent = 42;
  int received = 0;
  upload->copy_to_device(buffer.data(), &sent, 4);
  compute->wait(upload->record());
  compute->copy_to_host(&received, buffer.data(), 4);
  compute->synchronize();
  EXPECT_EQ(received, 42);
  EXPECT_EQ(device.bytes_to_device(), 4u);
  EXPECT_EQ(device.bytes_to_host(), 4u);
}

TEST(SimDevice, AnEventTellsWhetherItIsReached) {
  SimDevice device(1 << 20);
  auto stream = device.make_stream();
  std::mutex closed;
  std::unique_lock lock(closed);
  stream->run([&closed] { const std::lock_guard opened(closed); });
  const auto event = stream->record();
  EXPECT_FALSE(event->reached());
  lock.unlock();
  event->wait();
  EXPECT_TRUE(event->reached());
}

TEST(SimDevice, ErrorsOfWorkComeOutOfSynchronize) {
  SimDevice device(1000);
  auto stream = device.make_stream();
  stream->run([] { throw Error(ErrorKind::kData, "bad label"); });
  EXPECT_THROW(stream->synchronize(), Error);
  EXPECT_NO_THROW(stream->synchronize());
}

TEST(SimDevice, AFailureStopsTheStreamAndShowsInEvents) {
  SimDevice device(1000);
  auto stream = device.make_stream();
  bool ran = false;
  const auto before = stream->record();
  stream->run([] { throw Error(ErrorKind::kData, "bad label"); });
  stream->run([&] { ran = true; });
  const auto after = stream->record();
  EXPECT_NO_THROW(before->wait());
  EXPECT_THROW(after->wait(), Error);
  EXPECT_THROW(stream->synchronize(), Error);
  EXPECT_FALSE(ran);
  stream->run([&] { ran = true; });
  stream->synchronize();
  EXPECT_TRUE(ran);
}

TEST(SimDevice, ARecordingRunsWhenItIsLaunched) {
  SimDevice device(1000, 100);
  auto stream = device.make_stream();
  DeviceBuffer buffer(device, 4);
  int number = 0, sent = 7, received = 0;
  stream->begin_recording();
  stream->run([&] { ++number; });
  stream->copy_to_device(buffer.data(), &sent, 4);
  stream->copy_to_host(&received, buffer.data(), 4);
  std::unique_ptr<Recording> graph = stream->end_recording();
  stream->synchronize();
  EXPECT_EQ(number, 0);
  const uint64_t launches = device.launches();
  stream->launch(*graph);
  stream->launch(*graph);
  graph.reset();
  stream->synchronize();
  EXPECT_EQ(number, 2);
  EXPECT_EQ(received, 7);
  EXPECT_EQ(device.launches() - launches, 2u);
}

TEST(SimDevice, ARecordingRefusesWhatCudaRefuses) {
  SimDevice device(1000);
  auto stream = device.make_stream(), other = device.make_stream();
  const auto event = other->record();
  const std::function<void()> refused[] = {
      [&] { stream->synchronize(); }, [&] { other->synchronize(); },    [&] { event->wait(); },
      [&] { stream->wait(event); },   [&] { DeviceBuffer(device, 4); },
  };
  for (const auto& act : refused) {
    stream->begin_recording();
    EXPECT_THROW(act(), Error);
    EXPECT_THROW(stream->end_recording(), Error);
    EXPECT_NO_THROW(act());
  }
  stream->begin_recording();
  stream->run([] { FAIL() << "abandoned work ran"; });
  stream->abandon_recording();
  stream->synchronize();
}

// Streams that wait for an event of the recording belong to it; each launch runs their work in the order of the events.
TEST(SimDevice, ARecordingHasTheStreamsThatJoinIt) {
  SimDevice device(1 << 20);
  auto compute = device.make_stream(), copies = device.make_stream();
  DeviceBuffer buffer(device, 4);
  int sent = 0, received = 0;
  std::vector<int> seen;
  compute->begin_recording();
  compute->run([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ++sent;
  });
  copies->wait(compute->record());
  copies->copy_to_device(buffer.data(), &sent, 4);
  copies->run([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
  copies->copy_to_host(&received, buffer.data(), 4);
  const auto before = compute->record_timed();
  compute->wait(copies->record());
  const auto after = compute->record_timed();
  compute->run([&] { seen.push_back(received); });
  const auto graph = compute->end_recording();
  for (int launch = 1; launch <= 3; ++launch) {
    compute->launch(*graph);
    compute->synchronize();
    EXPECT_GE(after->ms_since(*before), 2.0);
  }
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
  std::mutex closed;
  std::unique_lock lock(closed);
  compute->run([&closed] { const std::lock_guard opened(closed); });
  compute->launch(*graph);
  EXPECT_FALSE(after->reached());
  lock.unlock();
  after->wait();
  EXPECT_EQ(received, 4);
  compute->synchronize();
  // Outside of it both are what they were.
  copies->run([&] { sent = 7; });
  copies->synchronize();
  EXPECT_EQ(sent, 7);
}

/// What is recorded in a stream runs where the launch is, not where that stream is.
TEST(SimDevice, BranchesAreOrderedByTheirEventsAlone) {
  SimDevice device(1 << 20);
  auto compute = device.make_stream(), copies = device.make_stream();
  std::atomic<bool> ran = false;
  compute->begin_recording();
  copies->wait(compute->record());
  copies->run([&] { ran = true; });
  compute->wait(copies->record());
  const auto graph = compute->end_recording();
  std::mutex closed;
  std::unique_lock lock(closed);
  copies->run([&closed] { const std::lock_guard opened(closed); });
  compute->launch(*graph);
  compute->synchronize();
  EXPECT_TRUE(ran);
  lock.unlock();
  copies->synchronize();
}

TEST(SimDevice, ARecordingEndsWithAllOfItsStreams) {
  SimDevice device(1 << 20);
  auto compute = device.make_stream(), copies = device.make_stream();
  const auto leave_out = [&](bool work_behind) {
    compute->begin_recording();
    copies->wait(compute->record());
    copies->run([] {});
    if (work_behind) compute->wait(copies->record());
    if (work_behind) copies->run([] {});
    compute->end_recording();
  };
  EXPECT_THROW(leave_out(false), Error);
  EXPECT_THROW(leave_out(true), Error);
  // Nobody outside waits for an event of a recording, neither a stream nor the host.
  compute->begin_recording();
  const auto event = compute->record();
  const auto graph = compute->end_recording();
  EXPECT_THROW(copies->wait(event), Error);
  EXPECT_THROW(event->wait(), Error);
  EXPECT_THROW(event->reached(), Error);
  compute->begin_recording();
  copies->wait(compute->record());
  compute->abandon_recording();
  bool ran = false;
  copies->run([&] { ran = true; });
  copies->synchronize();
  EXPECT_TRUE(ran);
}

TEST(SimDevice, AFailureOfABranchIsOneOfItsLaunch) {
  SimDevice device(1 << 20);
  auto compute = device.make_stream(), copies = device.make_stream();
  bool fails = true;
  int behind = 0;
  compute->begin_recording();
  copies->wait(compute->record());
  copies->run([&] {
    if (fails) throw Error(ErrorKind::kData, "bad label");
  });
  compute->wait(copies->record());
  compute->run([&] { ++behind; });
  const auto graph = compute->end_recording();
  compute->launch(*graph);
  EXPECT_THROW(compute->synchronize(), Error);
  EXPECT_EQ(behind, 0);
  fails = false;
  compute->launch(*graph);
  compute->synchronize();
  EXPECT_EQ(behind, 1);
}

}  // namespace
}  // namespace robusta::sim_device_test
