// Views where there are some, copies elsewhere.

#include "array.h"

#include <algorithm>
#include <cstring>

#include "robusta/error.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

std::span<float> elements(py::array_t<float>& array) {
  return {array.mutable_data(), static_cast<size_t>(array.size())};
}

py::object shown(const TensorView& view, std::shared_ptr<const void> memory) {
  using Held = std::shared_ptr<const void>;
  const py::capsule owner(new Held(std::move(memory)), [](void* held) { delete static_cast<Held*>(held); });
  const auto size = static_cast<int64_t>(size_of(view.dtype));
  std::vector<int64_t> strides = view.strides;
  for (int64_t& stride : strides) stride *= size;
  // pybind11 before 2.12 asks numpy 2 in vain for an element's size, where strides are not given.
  return py::array(py::dtype(view.dtype == DType::kF64 ? "float64" : "float32"), view.shape, strides, view.data, owner);
}

}  // namespace

py::object Array::get(const Shape& shape, uint64_t stamp, const Numbers& numbers,
                      const std::function<std::shared_ptr<const void>()>& hold) {
  if (stamp_ != stamp) forget();
  stamp_ = stamp;
  if (array_) return array_;
  if (copy_) return copy_;
  return made_of(shape, numbers, hold);
}

py::object Array::made_of(const Shape& shape, const Numbers& numbers,
                          const std::function<std::shared_ptr<const void>()>& hold) {
  TensorView view;
  try {
    view = numbers.view();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported && error.kind() != ErrorKind::kUsage) throw;
  }
  if (!view) return copied(shape, numbers.read());
  array_ = shown(view, hold());
  return array_;
}

py::object Array::copied(const Shape& shape, const std::vector<float>& numbers) {
  copy_ = py::array_t<float>(shape);
  std::ranges::copy(numbers, elements(copy_).begin());
  last_ = numbers;
  return copy_;
}

py::object Array::get_unsent(const Shape& shape) {
  if (copy_ && std::equal(shape.begin(), shape.end(), copy_.shape(), copy_.shape() + copy_.ndim())) return copy_;
  forget();
  copied(shape, std::vector<float>(static_cast<size_t>(count(shape))));
  last_.clear();
  stamp_ = 0;
  return copy_;
}

void Array::send(const Numbers& numbers) {
  if (!copy_) return;
  const std::span<const float> now = elements(copy_);
  const bool same = last_.size() == now.size() && std::memcmp(last_.data(), now.data(), now.size_bytes()) == 0;
  if (same) return;
  numbers.write(now);
  last_.assign(now.begin(), now.end());
}

void Array::renew(const Numbers& numbers) {
  if (!copy_) return;
  if (copy_.ref_count() == 1) return forget();
  last_ = numbers.read();
  if (last_.size() != elements(copy_).size()) return forget();
  std::ranges::copy(last_, elements(copy_).begin());
}

void Array::keep_for(uint64_t stamp) {
  if (copy_ && copy_.ref_count() > 1) {
    stamp_ = stamp;
  } else {
    forget();
  }
}

void Array::forget() {
  stamp_ = 0;
  array_ = {};
  copy_ = py::reinterpret_steal<py::array_t<float>>(py::handle());
  last_.clear();
}

}  // namespace robusta::python
