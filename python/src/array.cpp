// Views where there are some, copies elsewhere.

#include "array.h"

#include <algorithm>
#include <cstring>

#include "robusta/error.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

py::object shown(const TensorView& view, std::shared_ptr<const void> memory) {
  using Held = std::shared_ptr<const void>;
  const py::capsule owner(new Held(std::move(memory)), [](void* held) { delete static_cast<Held*>(held); });
  const auto size = static_cast<int64_t>(size_of(view.dtype));
  std::vector<int64_t> strides = view.strides;
  for (int64_t& stride : strides) stride *= size;
  // pybind11 before 2.12 asks numpy 2 in vain for an element's size, where strides are not given.
  return py::array(py::dtype(view.dtype == DType::kF64 ? "float64" : "float32"), view.shape, strides, view.data, owner);
}

/// The same memory as another object, which keeps the array.
py::object view_of(const py::object& array) { return array.attr("view")(); }

}  // namespace

py::object Array::get(const Shape& shape, uint64_t stamp, const Numbers& numbers,
                      const std::function<std::shared_ptr<const void>()>& hold) {
  Dropped dropped;
  if (stamp_ != stamp) forget(dropped);
  if (array_) return view_of(array_);
  if (copy_) return view_of(copy_);
  TensorView view;
  try {
    view = numbers.view();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported && error.kind() != ErrorKind::kUsage) throw;
  }
  // Both are kept before a view is made, which may run a script's code, and that may look at this array.
  py::object made;
  if (view) {
    made = array_ = shown(view, hold());
  } else {
    made = copied(shape, numbers.read());
  }
  stamp_ = stamp;
  return view_of(made);
}

Array::Floats Array::copied(const Shape& shape, const std::vector<float>& numbers) {
  Floats made(shape);
  if (static_cast<size_t>(made.size()) != numbers.size()) {
    throw Error(ErrorKind::kUsage, "the net is being planned: a blob's memory is not that of its shape yet");
  }
  std::ranges::copy(numbers, made.mutable_data());
  copy_ = made;
  last_ = numbers;
  return made;
}

py::object Array::get_unsent(const Shape& shape) {
  if (copy_ && std::equal(shape.begin(), shape.end(), copy_.shape(), copy_.shape() + copy_.ndim())) return view_of(copy_);
  Dropped dropped;
  forget(dropped);
  const Floats made = copied(shape, std::vector<float>(static_cast<size_t>(count(shape))));
  last_.clear();
  return view_of(made);
}

void Array::send(const Numbers& numbers) {
  if (!copy_) return;
  const std::span<const float> now = elements();
  const bool same = last_.size() == now.size() && std::memcmp(last_.data(), now.data(), now.size_bytes()) == 0;
  if (same) return;
  numbers.write(now);
  last_.assign(now.begin(), now.end());
}

void Array::renew(const Numbers& numbers, Dropped& dropped) {
  if (!copy_) return;
  if (!is_held()) return forget(dropped);
  last_ = numbers.read();
  if (last_.size() != elements().size()) return forget(dropped);
  std::ranges::copy(last_, elements().begin());
}

void Array::keep_for(uint64_t stamp, Dropped& dropped) {
  if (!copy_ || !is_held()) return forget(dropped);
  stamp_ = stamp;
}

void Array::forget(Dropped& dropped) {
  stamp_ = 0;
  if (array_) dropped.push_back(std::exchange(array_, py::object()));
  if (copy_) dropped.push_back(std::exchange(copy_, py::reinterpret_steal<Floats>(py::handle())));
  last_.clear();
}

}  // namespace robusta::python
