// Channels last (NHWC) on the host: per image, the transpose of a matrix of channels by pixels.

#include "tensor/channels_last.h"

#include <cassert>
#include <cstring>

namespace robusta {
namespace {

/// Per batch item a matrix of `rows` x `cols` becomes its transpose.
class Transpose : public Reorder {
 public:
  Transpose(int64_t batch, int64_t rows, int64_t cols, size_t size)
      : batch_(batch), rows_(rows), cols_(cols), size_(size) {}
  void run(const void* from, void* to, void*, Stream*) override {
    if (size_ == 2) return move(static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to));
    if (size_ == 4) return move(static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to));
    assert(size_ == 8);
    move(static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to));
  }

 private:
  template <typename T>
  void move(const T* from, T* to) const {
    for (int64_t n = 0; n < batch_; ++n) {
      const int64_t begin = n * rows_ * cols_;
      for (int64_t row = 0; row < rows_; ++row) {
        for (int64_t col = 0; col < cols_; ++col) to[begin + col * rows_ + row] = from[begin + row * cols_ + col];
      }
    }
  }

  int64_t batch_, rows_, cols_;
  size_t size_;
};

class ChannelsLast : public StoredLayout {
 public:
  explicit ChannelsLast(int64_t elements) : elements_(elements) {}
  int64_t elements() const override { return elements_; }
  std::string name() const override { return "channels last"; }
  bool padded() const override { return false; }
  bool same_as(const StoredLayout& other) const override { return dynamic_cast<const ChannelsLast*>(&other); }
  std::unique_ptr<Reorder> make_reorder(const TensorDesc& from, const TensorDesc& to) const override {
    assert(!from.layout != !to.layout);
    const ChannelExtents e = channel_extents(from.shape);
    const bool towards = is_channels_last(to.layout);
    return std::make_unique<Transpose>(e.batch, towards ? e.channels : e.pixels, towards ? e.pixels : e.channels,
                                       size_of(from.dtype));
  }

 private:
  int64_t elements_;  // of the plain tensor
};

}  // namespace

ChannelExtents channel_extents(const Shape& shape) {
  assert(shape.axes() >= 2);
  ChannelExtents extents{shape[0], shape[1], 1};
  for (int axis = 2; axis < shape.axes(); ++axis) extents.pixels *= shape[axis];
  return extents;
}

Layout channels_last(const TensorDesc& desc) {
  if (desc.shape.axes() < 3) return nullptr;
  const ChannelExtents extents = channel_extents(desc.shape);
  if (extents.channels == 1 || extents.pixels == 1) return nullptr;
  return std::make_shared<ChannelsLast>(desc.count());
}

bool is_channels_last(const Layout& layout) { return dynamic_cast<const ChannelsLast*>(layout.get()); }

}  // namespace robusta
