/// A kernel of a GPU whose forward pass changes parameters (statistics of a batch, weights that are brought back to a
/// length). A recording of it that is launched increments no version on the host: the net does, where this is so.
#pragma once

namespace robusta {

class ChangesParams {
 public:
  virtual bool changes_params() const = 0;

 protected:
  ~ChangesParams() = default;
};

}  // namespace robusta
