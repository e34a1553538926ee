// oneDNN's memory descriptors for the formats that are known here.

#include "layers/backends/onednn/desc.h"

#include <cassert>

namespace robusta::onednn {

dnnl::engine& engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& stream() {
  thread_local dnnl::stream stream(engine());
  return stream;
}

Dims dims_of(const Shape& shape) { return shape.axes() == 0 ? Dims{1} : shape.dims(); }

Desc plain_desc(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return Desc(dims, dnnl::memory::data_type::f32, strides);
}

Desc any_desc(const Dims& dims) { return Desc(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any); }

Desc blocked_desc(const Dims& dims, int block) {
  using Tag = dnnl::memory::format_tag;
  const bool wide = block == 16;
  assert(wide || block == 8);
  assert(dims.size() >= 3 && dims.size() <= 5);
  const Tag tag = dims.size() == 3   ? (wide ? Tag::nCw16c : Tag::nCw8c)
                  : dims.size() == 4 ? (wide ? Tag::nChw16c : Tag::nChw8c)
                                     : (wide ? Tag::nCdhw16c : Tag::nCdhw8c);
  return Desc(dims, dnnl::memory::data_type::f32, tag);
}

Desc channels_last_desc(const Dims& dims) {
  using Tag = dnnl::memory::format_tag;
  assert(dims.size() >= 3 && dims.size() <= 5);
  const Tag tag = dims.size() == 3 ? Tag::nwc : dims.size() == 4 ? Tag::nhwc : Tag::ndhwc;
  return Desc(dims, dnnl::memory::data_type::f32, tag);
}

}  // namespace robusta::onednn
