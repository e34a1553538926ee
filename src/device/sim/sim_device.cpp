// The device's part of the fake accelerator: the heap and the streams do the work.

#include "device/sim/sim_device.h"

#include <utility>

#include "device/sim/sim_event.h"
#include "device/sim/sim_stream.h"

namespace robusta {

SimDevice::SimDevice(size_t budget, int delay_us, std::string kernels, std::string place)
    : state_(budget, delay_us), kernels_(std::move(kernels)), place_(std::move(place)) {}

void* SimDevice::allocate(size_t bytes) {
  sim_recording::refuse("device memory is taken");
  return state_.heap.allocate(bytes);
}

std::unique_ptr<Stream> SimDevice::make_stream() { return std::make_unique<SimStream>(state_); }

}  // namespace robusta
