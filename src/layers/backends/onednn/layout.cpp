// A layout of ours around a memory descriptor of oneDNN: its name, its size, and reorders from and to it.

#include "layers/backends/onednn/layout.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "layers/backends/onednn/primitive.h"

namespace robusta::onednn {
namespace {

/// The axes from the slowest to the fastest, as the outer strides order them.
std::vector<int> axes_by_stride(const dnnl_memory_desc_t& desc) {
  std::vector<int> axes(static_cast<size_t>(desc.ndims));
  std::iota(axes.begin(), axes.end(), 0);
  std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) {
    return desc.format_desc.blocking.strides[a] > desc.format_desc.blocking.strides[b];
  });
  return axes;
}

/// oneDNN's own way to write a format: "aBcd16b" has axis b cut into blocks of 16 that lie innermost.
std::string format_name(const dnnl_memory_desc_t& desc) {
  const dnnl_blocking_desc_t& blocking = desc.format_desc.blocking;
  std::string name;
  for (int axis : axes_by_stride(desc)) {
    bool blocked = false;
    for (int i = 0; i < blocking.inner_nblks; ++i) blocked |= blocking.inner_idxs[i] == axis;
    name += static_cast<char>((blocked ? 'A' : 'a') + axis);
  }
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    name += std::to_string(blocking.inner_blks[i]) + static_cast<char>('a' + blocking.inner_idxs[i]);
  }
  return name;
}

bool is_padded(const dnnl_memory_desc_t& desc) {
  return !std::equal(desc.dims, desc.dims + desc.ndims, desc.padded_dims);
}

/// True when the elements lie in C order. Axes of extent 1 may have any stride; a block that holds the whole of its
/// axis, with nothing but single elements behind it, is no reordering either.
bool is_dense_c_order(const dnnl_memory_desc_t& desc) {
  if (is_padded(desc) || desc.offset0 != 0) return false;
  const dnnl_blocking_desc_t& blocking = desc.format_desc.blocking;
  int64_t stride = 1, block = 1;
  int blocked = -1;
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    if (blocked >= 0 && blocking.inner_idxs[i] != blocked) return false;
    blocked = static_cast<int>(blocking.inner_idxs[i]);
    block *= blocking.inner_blks[i];
  }
  for (int axis = desc.ndims - 1; axis >= 0; --axis) {
    if (axis == blocked) {
      if (stride != 1) return false;
      if (desc.dims[axis] != block && blocking.strides[axis] != block) return false;
    } else if (desc.dims[axis] != 1 && blocking.strides[axis] != stride) {
      return false;
    }
    stride *= desc.dims[axis];
  }
  return true;
}

class ReorderStep : public Reorder {
 public:
  ReorderStep(const Desc& from, const Desc& to) : step_(reorder_step(from, to)) {}
  size_t scratch_bytes() const override { return step_.scratch_bytes(); }
  void run(const void* from, void* to, void* scratch, Stream*) override {
    step_.run({{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, scratch);
  }

 private:
  Step step_;
};

class OnednnLayout : public StoredLayout {
 public:
  explicit OnednnLayout(const Desc& desc) : desc_(desc) {}

  int64_t elements() const override { return static_cast<int64_t>(desc_.get_size() / sizeof(float)); }
  std::string name() const override { return format_name(desc_.data); }
  bool padded() const override { return is_padded(desc_.data); }
  bool same_as(const StoredLayout& other) const override {
    const auto* same = dynamic_cast<const OnednnLayout*>(&other);
    return same && same->desc_ == desc_;
  }
  std::unique_ptr<Reorder> make_reorder(const TensorDesc& from, const TensorDesc& to) const override {
    return std::make_unique<ReorderStep>(desc_of(from), desc_of(to));
  }
  const Desc& desc() const { return desc_; }

 private:
  Desc desc_;
};

}  // namespace

Desc desc_of(const TensorDesc& tensor) {
  assert(tensor.dtype == DType::kF32);
  if (!tensor.layout) return plain_desc(tensor.shape);
  const auto* layout = dynamic_cast<const OnednnLayout*>(tensor.layout.get());
  assert(layout);
  return layout->desc();
}

Layout layout_of(const Desc& desc) {
  assert(desc.data.format_kind == dnnl_blocked);
  if (is_dense_c_order(desc.data)) return nullptr;
  return std::make_shared<OnednnLayout>(desc);
}

int channel_block(const Layout& layout) {
  if (!layout) return 1;
  const auto* known = dynamic_cast<const OnednnLayout*>(layout.get());
  if (!known || known->desc().data.ndims < 3 || known->desc().data.ndims > 5) return 0;
  for (int block : {16, 8}) {
    if (known->desc() == blocked_desc(known->desc().dims(), block)) return block;
  }
  return 0;
}

bool has_channels_last(const Layout& layout) {
  const auto* known = dynamic_cast<const OnednnLayout*>(layout.get());
  if (!known || known->desc().data.ndims < 3 || known->desc().data.ndims > 5) return false;
  return known->desc() == channels_last_desc(known->desc().dims());
}

}  // namespace robusta::onednn
