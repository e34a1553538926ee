#include "comm/all_reduce.h"

#include "base/str.h"
#include "comm/reduce/builder.h"
#include "comm/reduce/library.h"

namespace robusta {

std::unique_ptr<AllReduce> make_all_reduce(Communicator& world, const Topology& topology, const DdlOptions& options,
                                           std::shared_ptr<SharedMemory> memory, size_t largest_bytes) {
  if (options.mode == 'm') return make_library_all_reduce(world);
  ReduceBuilder builder(world, topology, options, std::move(memory), largest_bytes);
  if (options.mode == 'r') return builder.ring();
  if (options.mode == 'n') {
    return builder.ring(
        {str("-mode n means NCCL, which is for GPUs: one ring over the ", world.size(), " ranks instead")});
  }
  if (options.mode == 'p') return builder.explored(topology);
  if (options.automatic) return builder.automatic();
  return builder.layered(topology);
}

}  // namespace robusta
