// From -mode to a reduction over ranks; which one each dimension uses is the builder's business.

#include "comm/all_reduce.h"

#include "base/str.h"
#include "comm/reduce/builder.h"
#include "comm/reduce/library.h"
#include "robusta/error.h"

namespace robusta {
namespace {

void refuse_leftovers_without_dimensions(const DdlOptions& options) {
  if (!options.wire.keeps_left() || sums_by_dimension(options.mode)) return;
  throw Error(ErrorKind::kUsage,
              str("-compress ", options.wire.compress == Compression::kInt8 ? "int8" : "topk",
                  " sums by dimension, which this -mode does not"),
              "give -mode b or p with it, or none");
}

void refuse_shards_of_library(const DdlOptions& options) {
  if (options.shard == Shard::kNone || options.mode != ReduceMode::kLibrary) return;
  throw Error(ErrorKind::kUsage, "-shard sums in two halves, which the library's own sum (-mode m) does not have",
              "give -mode b, p or r with it, or none");
}

}  // namespace

std::unique_ptr<AllReduce> make_all_reduce(Communicator& world, const Topology& topology, const DdlOptions& options,
                                           std::shared_ptr<SharedMemory> memory, size_t largest_bytes) {
  refuse_leftovers_without_dimensions(options);
  refuse_shards_of_library(options);
  if (options.mode == ReduceMode::kLibrary) return make_library_all_reduce(world);
  ReduceBuilder builder(world, topology, options, std::move(memory), largest_bytes);
  switch (options.mode) {
    case ReduceMode::kRing:
      return builder.ring();
    case ReduceMode::kNccl:
      return builder.ring(
          {str("-mode n means NCCL, which is for GPUs: one ring over the ", world.size(), " ranks instead")});
    case ReduceMode::kExplored:
      return builder.explored(topology);
    case ReduceMode::kAutomatic:
      return builder.automatic();
    default:
      return builder.layered(topology);
  }
}

}  // namespace robusta
