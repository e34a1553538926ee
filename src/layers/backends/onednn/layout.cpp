// A layout of ours around a memory descriptor of oneDNN: its name, its size, and reorders from and to it.

#include "layers/backends/onednn/layout.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "layers/backends/onednn/generation.h"
#include "layers/backends/onednn/primitive.h"

namespace robusta::onednn {
namespace {

/// The axes from the slowest to the fastest, as the outer strides order them.
std::vector<size_t> axes_by_stride(const Blocking& blocking) {
  std::vector<size_t> axes(blocking.dims.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  std::stable_sort(axes.begin(), axes.end(),
                   [&](size_t a, size_t b) { return blocking.strides[a] > blocking.strides[b]; });
  return axes;
}

/// oneDNN's own way to write a format: "aBcd16b" has axis b cut into blocks of 16 that lie innermost.
std::string format_name(const Blocking& blocking) {
  std::string name;
  for (const size_t axis : axes_by_stride(blocking)) {
    bool blocked = false;
    for (const Blocking::Block& block : blocking.blocks) blocked |= block.axis == axis;
    name += static_cast<char>((blocked ? 'A' : 'a') + axis);
  }
  for (const Blocking::Block& block : blocking.blocks) {
    name += std::to_string(block.size) + static_cast<char>('a' + block.axis);
  }
  return name;
}

bool is_padded(const Blocking& blocking) { return blocking.dims != blocking.padded_dims; }

/// True when the elements lie in C order. Axes of extent 1 may have any stride; a block that holds the whole of its
/// axis, with nothing but single elements behind it, is no reordering either.
bool is_dense_c_order(const Blocking& blocking) {
  if (is_padded(blocking) || blocking.offset != 0) return false;
  const Dims &dims = blocking.dims, &strides = blocking.strides;
  const std::vector<Blocking::Block>& blocks = blocking.blocks;
  int64_t stride = 1, inner = 1;
  for (const Blocking::Block& block : blocks) {
    if (block.axis != blocks[0].axis) return false;
    inner *= block.size;
  }
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (!blocks.empty() && axis == blocks[0].axis) {
      if (stride != 1) return false;
      if (dims[axis] != inner && strides[axis] != inner) return false;
    } else if (dims[axis] != 1 && strides[axis] != stride) {
      return false;
    }
    stride *= dims[axis];
  }
  return true;
}

/// Batch, channels, and one to three spatial axes.
bool has_image_axes(const Desc& desc) { return axes_of(desc) >= 3 && axes_of(desc) <= 5; }

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
  /// `desc`: of f32.
  explicit OnednnLayout(const Desc& desc) : desc_(desc) {}

  int64_t elements() const override { return static_cast<int64_t>(desc_.get_size() / sizeof(float)); }
  std::string name() const override { return format_name(blocking_of(desc_)); }
  bool padded() const override { return is_padded(blocking_of(desc_)); }
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
  if (!tensor.layout) return plain_desc(tensor.shape, tensor.dtype);
  const auto* layout = dynamic_cast<const OnednnLayout*>(tensor.layout.get());
  assert(layout);
  return typed(layout->desc(), tensor.dtype);
}

Desc typed(const Desc& desc, DType type) {
  const Dims dims = dims_of(desc);
  const dnnl::memory::data_type now = type_of(desc);
  if (now == type_of(plain_desc(dims, type))) return desc;
  // A descriptor's type cannot be changed, so the format is looked for among those that can be made anew.
  const DType known = now == dnnl::memory::data_type::bf16  ? DType::kBF16
                      : now == dnnl::memory::data_type::f16 ? DType::kF16
                                                            : DType::kF32;
  if (desc == plain_desc(dims, known) || is_dense_c_order(blocking_of(desc))) return plain_desc(dims, type);
  if (has_image_axes(desc)) {
    if (desc == channels_last_desc(dims, known)) return channels_last_desc(dims, type);
    for (const int block : {16, 8}) {
      if (desc == blocked_desc(dims, block, known)) return blocked_desc(dims, block, type);
    }
  }
  throw dnnl::error(dnnl_unimplemented, "this format is known for elements of one type only");
}

Layout layout_of(const Desc& desc) {
  if (is_dense_c_order(blocking_of(desc))) return nullptr;
  return std::make_shared<OnednnLayout>(typed(desc, DType::kF32));
}

int channel_block(const Layout& layout) {
  if (!layout) return 1;
  const auto* known = dynamic_cast<const OnednnLayout*>(layout.get());
  if (!known || !has_image_axes(known->desc())) return 0;
  for (int block : {16, 8}) {
    if (known->desc() == blocked_desc(dims_of(known->desc()), block)) return block;
  }
  return 0;
}

bool has_channels_last(const Layout& layout) {
  const auto* known = dynamic_cast<const OnednnLayout*>(layout.get());
  if (!known || !has_image_axes(known->desc())) return false;
  return known->desc() == channels_last_desc(dims_of(known->desc()));
}

}  // namespace robusta::onednn
