/// Sums, scatters and gathers of whole numbers, which are exact in any order, by one communicator of NCCL's.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "comm/thread_ranks.h"
#include "device/gpus.h"
#include "solver/ranks/sums/nccl/nccl_comm.h"

namespace robusta::test {

inline void expect_exact_sums(const NcclApi& api, Communicator& world, int64_t count) {
  const std::shared_ptr<Device> device = open_gpu(world.rank());
  NcclId id;
  if (world.rank() == 0) {
    ASSERT_EQ(api.get_unique_id(&id), kNcclSuccess);
  }
  world.broadcast(&id, sizeof id, 0);
  NcclComm comm(api, *device, id, world.size(), world.rank(), {.limit_s = 30});
  const auto stream = device->make_stream();
  std::vector<double> mine(static_cast<size_t>(count)), want(mine), summed(mine), gathered(mine);
  for (size_t i = 0; i < mine.size(); ++i) {
    mine[i] = static_cast<double>(i) * (world.rank() + 1);
    want[i] = static_cast<double>(i) * (world.size() * (world.size() + 1) / 2);
  }
  DeviceBuffer buffer(*device, mine.size() * sizeof(double));
  const Span span{static_cast<std::byte*>(buffer.data()), count, DType::kF64};
  stream->copy_to_device(buffer.data(), mine.data(), buffer.bytes());
  comm.all_reduce(*stream, span);
  stream->copy_to_host(summed.data(), buffer.data(), buffer.bytes());
  stream->copy_to_device(buffer.data(), mine.data(), buffer.bytes());
  comm.reduce_scatter(*stream, span);
  const Span part = comm.piece(span);
  std::vector<double> piece(static_cast<size_t>(part.count));
  stream->copy_to_host(piece.data(), part.data, part.bytes());
  comm.all_gather(*stream, span);
  stream->copy_to_host(gathered.data(), buffer.data(), buffer.bytes());
  stream->synchronize();
  comm.check();
  const auto begin = want.begin() + (part.data - span.data) / static_cast<std::ptrdiff_t>(sizeof(double));
  EXPECT_EQ(summed, want) << count;
  EXPECT_EQ(piece, std::vector<double>(begin, begin + part.count)) << count;
  EXPECT_EQ(gathered, want) << count;
}

}  // namespace robusta::test
