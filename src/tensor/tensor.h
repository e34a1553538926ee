/// Where the elements of a tensor lie in memory.
///
/// Logical axes never change (NCHW stays NCHW); a layout says how they are stored. The null layout is plain C order.
/// A backend brings its own (blocked) layouts as descendants of `StoredLayout`; nobody else looks inside. The planner
/// compares layouts and inserts visible Reorder steps between kernels that do not agree.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace robusta {

class Stream;
class StoredLayout;
using Layout = std::shared_ptr<const StoredLayout>;

/// What a tensor is, without its memory.
struct TensorDesc {
  Shape shape;
  DType dtype = DType::kF32;
  Layout layout;  ///< null: plain

  int64_t count() const { return shape.count(); }
  /// Bytes of storage, padding of blocked layouts included.
  size_t bytes() const;
  TensorDesc plain() const { return {shape, dtype, nullptr}; }
};

/// Copies one tensor into another of the same shape and another layout or element type. Prepared once, run many times,
/// allocates nothing when run.
class Reorder {
 public:
  virtual ~Reorder() = default;
  virtual size_t scratch_bytes() const { return 0; }
  /// `stream`: where a GPU's is enqueued; the host's needs none.
  virtual void run(const void* from, void* to, void* scratch, Stream* stream = nullptr) = 0;
};

/// A layout other than plain. Immutable, shared.
class StoredLayout {
 public:
  virtual ~StoredLayout() = default;
  /// Of storage, padding included.
  virtual int64_t elements() const = 0;
  virtual std::string name() const = 0;
  /// True when some stored elements belong to no logical element. They are zero and must stay zero.
  virtual bool padded() const = 0;
  virtual bool same_as(const StoredLayout& other) const = 0;
  /// A copy in host memory between this layout and another (or plain), and between types where they differ; called on
  /// whichever side is not plain.
  virtual std::unique_ptr<Reorder> make_reorder(const TensorDesc& from, const TensorDesc& to) const = 0;
};

bool same_layout(const Layout& a, const Layout& b);
std::string layout_name(const Layout& layout);
bool is_padded(const Layout& layout);

/// For memory of the host. REQUIRES: equal shapes; different layouts or types; of different types neither is f64.
std::unique_ptr<Reorder> make_reorder(const TensorDesc& from, const TensorDesc& to);

/// Makes reorders for memory that kernels of one kind work on (KernelCandidate::device).
using ReorderFactory = std::unique_ptr<Reorder> (*)(const TensorDesc& from, const TensorDesc& to);
bool register_reorder(const std::string& kernel_kind, ReorderFactory factory);
/// The same for memory of such a device; kind "cpu" is the host's.
std::unique_ptr<Reorder> make_reorder(const std::string& kernel_kind, const TensorDesc& from, const TensorDesc& to);

/// A tensor: descriptor and a view of memory that somebody else owns. Null data: the tensor is not there (an unwanted
/// gradient, say).
struct Tensor {
  TensorDesc desc;
  void* data = nullptr;

  explicit operator bool() const { return data != nullptr; }
  const Shape& shape() const { return desc.shape; }
  int64_t count() const { return desc.count(); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

}  // namespace robusta
