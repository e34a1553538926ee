// What a descriptor takes in memory, and the reorders: those of the host, and those that devices have registered.

#include "tensor/tensor.h"

#include <cassert>
#include <map>

#include "tensor/convert.h"

namespace robusta {

size_t TensorDesc::bytes() const { return static_cast<size_t>(layout ? layout->elements() : count()) * size_of(dtype); }

bool same_layout(const Layout& a, const Layout& b) {
  if (!a || !b) return !a && !b;
  return a == b || a->same_as(*b);
}

std::string layout_name(const Layout& layout) { return layout ? layout->name() : "plain"; }

bool is_padded(const Layout& layout) { return layout && layout->padded(); }

namespace {

/// Between types, in one layout: padding, which is zero, stays so.
class Conversion : public Reorder {
 public:
  Conversion(const TensorDesc& from, const TensorDesc& to)
      : from_(from.dtype), to_(to.dtype), count_(static_cast<int64_t>(from.bytes() / size_of(from.dtype))) {}
  void run(const void* from, void* to, void*, Stream*) override { convert(from_, from, to_, to, count_); }

 private:
  DType from_, to_;
  int64_t count_;  ///< padding included
};

}  // namespace

std::unique_ptr<Reorder> make_reorder(const TensorDesc& from, const TensorDesc& to) {
  assert(from.shape == to.shape);
  if (!same_layout(from.layout, to.layout)) return (from.layout ? from.layout : to.layout)->make_reorder(from, to);
  assert(from.dtype != to.dtype);
  return std::make_unique<Conversion>(from, to);
}

namespace {

std::map<std::string, ReorderFactory>& factories() {
  static std::map<std::string, ReorderFactory> all;
  return all;
}

}  // namespace

bool register_reorder(const std::string& kernel_kind, ReorderFactory factory) {
  return factories().emplace(kernel_kind, factory).second;
}

std::unique_ptr<Reorder> make_reorder(const std::string& kernel_kind, const TensorDesc& from, const TensorDesc& to) {
  const auto found = factories().find(kernel_kind);
  return found == factories().end() ? make_reorder(from, to) : found->second(from, to);
}

}  // namespace robusta
