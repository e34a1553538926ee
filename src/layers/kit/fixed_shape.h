/// The shape of a parameter: fixed the first time a layer sees its inputs, the same ever after.
#pragma once

#include <optional>
#include <string>

#include "base/str.h"
#include "robusta/error.h"
#include "tensor/shape.h"

namespace robusta {

class FixedShape {
 public:
  /// Throws Error{kConfig} when another shape has been fixed before. `what` names the parameter: "weights".
  void fix(const Shape& shape, const std::string& what) {
    if (shape_ && *shape_ != shape) {
      throw Error(ErrorKind::kConfig,
                  ::robusta::str("the input changed size: ", what, " of shape ", shape.str(),
                                 " would be needed, but those of shape ", shape_->str(), " exist"),
                  "keep the channels of this layer's input the same for the whole run");
    }
    shape_ = shape;
  }
  const Shape& get() const { return *shape_; }

 private:
  std::optional<Shape> shape_;
};

}  // namespace robusta
