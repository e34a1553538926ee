/// A blob's, or a parameter's, values or gradient as one numpy array.
///
/// Where the net has them on the host in C order the array shows the net's own memory and keeps it; elsewhere - blocked
/// layouts, GPUs - it shows a copy, which is renewed after each pass while a script holds it, and whose changes go to
/// the net before each pass. Either way a script may keep the array: it never points to memory that is gone, and when
/// the net is planned anew it stays what it was, no part of the net any more.
///
/// Scripts get numpy views of the array: what they do to a view's type or shape in place is their own affair.
#pragma once

#include <pybind11/numpy.h>

#include <functional>
#include <span>
#include <vector>

#include "robusta/tensor.h"

namespace robusta::python {

/// Where numbers come from and go to. Each may throw Error.
struct Numbers {
  std::function<TensorView()> view;  ///< throws where there is no memory to show
  std::function<std::vector<float>()> read;
  std::function<void(std::span<const float>)> write;
};

/// What is let go of. Who drops it may run code of a script (a weak reference's), and comes last.
using Dropped = std::vector<pybind11::object>;

class Array {
 public:
  /// A view of the array of now. `stamp` tells plans apart: where it is another one than before, a new array is made.
  pybind11::object get(const Shape& shape, uint64_t stamp, const Numbers& numbers,
                       const std::function<std::shared_ptr<const void>()>& hold);
  /// That of an array of zeros of this shape that send() is going to write, and nothing reads before.
  pybind11::object get_unsent(const Shape& shape);
  /// Writes what the script has changed in a copy.
  void send(const Numbers& numbers);
  /// Renews a copy that a script holds, and forgets one that nobody does.
  void renew(const Numbers& numbers, Dropped& dropped);
  /// Nothing of the net any more; what a script holds stays as it is.
  void forget(Dropped& dropped);
  /// Of the array that there is; 0: of none, or of one that the net does not have yet.
  uint64_t stamp() const { return stamp_; }
  /// A copy that a script holds becomes that of the plan `stamp`; one that nobody holds is forgotten.
  void keep_for(uint64_t stamp, Dropped& dropped);

 private:
  using Floats = pybind11::array_t<float>;

  Floats copied(const Shape& shape, const std::vector<float>& numbers);
  std::span<float> elements() const { return {static_cast<float*>(copy_.mutable_data()), static_cast<size_t>(copy_.size())}; }
  bool is_held() const { return copy_.ref_count() > 1; }

  pybind11::object array_;  ///< shows the net's memory
  mutable Floats copy_{pybind11::reinterpret_steal<Floats>(pybind11::handle())};
  std::vector<float> last_;  ///< the copy as the net has it; of another size: as it has not
  uint64_t stamp_ = 0;
};

}  // namespace robusta::python
