// Recurrent layers of Caffe keep their states in blobs, which never shrink: a batch of fewer streams goes on with the
// states of the first ones, and new memory is zero.

#include "net/run/carried_memory.h"

namespace robusta {

void CarriedMemory::take(Graph& graph, const NetOptions& options, Stream& stream) {
  size_t next = 0;
  for (Node& node : graph.nodes) {
    node.carried.clear();
    for (const Shape& shape : node.layer->carried()) {
      if (next == arrays_.size()) arrays_.emplace_back();
      DeviceBuffer& array = arrays_[next++];
      const TensorDesc desc{shape, options.dtype, nullptr};
      if (desc.bytes() > array.bytes()) {
        array.reset();
        array = DeviceBuffer(*options.device, desc.bytes());
        stream.fill_zero(array.data(), array.bytes());
      }
      node.carried.push_back({desc, array.data()});
    }
  }
}

}  // namespace robusta
