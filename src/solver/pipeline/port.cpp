// The receiver's arrays - an Input's top, a gradient that the caller writes - are plain in every plan, so that what
// comes in needs no conversion.
#include "solver/pipeline/port.h"

#include <cassert>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

Tensor array_of(Net& net, const std::string& blob, Travels what) {
  return what == Travels::kContent ? net.blobs().memory(blob) : net.blobs().diff_memory(blob);
}

void Outlet::enqueue() {
  const Tensor from = array_of(*net_, blob_, what_);
  if (from.shape() != channel_->desc().shape) {
    throw Error(ErrorKind::kUnsupported,
                str("blob \"", blob_, "\" has shape ", from.shape().str(), " in this batch and had ",
                    channel_->desc().shape.str(), " in the first one: a pipeline sends blobs of one size"),
                "let the source give images of one size (crop_size, new_height), or train on one GPU");
  }
  net_->stream().copy_to_host(place_, converted(from), channel_->desc().bytes());
}

/// The array, or a plain copy of it on the device.
const void* Outlet::converted(const Tensor& from) {
  const TensorDesc& to = channel_->desc();
  if (!from.desc.layout && from.desc.dtype == to.dtype) return from.data;
  Device& device = *net_->options().device;
  if (!reorder_ || prepared_.dtype != from.desc.dtype || !same_layout(prepared_.layout, from.desc.layout)) {
    reorder_ = make_reorder(device.kernel_kind(), from.desc, to);
    prepared_ = from.desc;
    plain_ = DeviceBuffer(device, to.bytes());
    scratch_ = DeviceBuffer(device, reorder_->scratch_bytes());
  }
  Stream* const stream = &net_->stream();
  stream->run([reorder = reorder_.get(), data = from.data, plain = plain_.data(), scratch = scratch_.data(), stream] {
    reorder->run(data, plain, scratch, stream);
  });
  return plain_.data();
}

void Inlet::enqueue() {
  const Tensor to = array_of(*net_, blob_, what_);
  const TensorDesc& desc = channel_->desc();
  assert(to.shape() == desc.shape && to.desc.dtype == desc.dtype && !to.desc.layout);
  net_->stream().copy_to_device(to.data, place_, desc.bytes());
}

}  // namespace robusta
