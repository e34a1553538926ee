// oneDNN's memory descriptors for the formats that are known here.

#include "layers/backends/onednn/desc.h"

#include <cassert>

namespace robusta::onednn {
namespace {

dnnl::memory::data_type named(DType type) {
  using Named = dnnl::memory::data_type;
  assert(type != DType::kF64);
  return type == DType::kBF16 ? Named::bf16 : type == DType::kF16 ? Named::f16 : Named::f32;
}

}  // namespace

dnnl::engine& engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& stream() {
  thread_local dnnl::stream stream(engine());
  return stream;
}

Dims dims_of(const Shape& shape) { return shape.axes() == 0 ? Dims{1} : shape.dims(); }

Desc plain_desc(const Dims& dims, DType type) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return Desc(dims, named(type), strides);
}

Desc any_desc(const Dims& dims, DType type) { return Desc(dims, named(type), dnnl::memory::format_tag::any); }

Desc blocked_desc(const Dims& dims, int block, DType type) {
  using Tag = dnnl::memory::format_tag;
  const bool wide = block == 16;
  assert(wide || block == 8);
  assert(dims.size() >= 3 && dims.size() <= 5);
  const Tag tag = dims.size() == 3   ? (wide ? Tag::nCw16c : Tag::nCw8c)
                  : dims.size() == 4 ? (wide ? Tag::nChw16c : Tag::nChw8c)
                                     : (wide ? Tag::nCdhw16c : Tag::nCdhw8c);
  return Desc(dims, named(type), tag);
}

Desc channels_last_desc(const Dims& dims, DType type) {
  using Tag = dnnl::memory::format_tag;
  assert(dims.size() >= 3 && dims.size() <= 5);
  const Tag tag = dims.size() == 3 ? Tag::nwc : dims.size() == 4 ? Tag::nhwc : Tag::ndhwc;
  return Desc(dims, named(type), tag);
}

}  // namespace robusta::onednn
