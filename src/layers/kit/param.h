/// A learnable (or statistic) parameter of a net.
///
/// Values and gradient are plain arrays of the net's element type, in memory that the net (or the trainer's arena)
/// owns; kernels that want another order keep a packed copy of their own and refresh it when `version` has moved.
/// Sharing layers and test nets hold the same Param.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tensor/tensor.h"

namespace robusta {

struct Param {
  std::string layer;         ///< the owning layer
  int index = 0;             ///< position among the owner's parameters
  std::string display_name;  ///< ParamSpec name, else the index
  TensorDesc desc;
  void* data = nullptr;               ///< in memory of the net's device
  void* diff = nullptr;               ///< null in nets that never run backward
  float lr_mult = 1, decay_mult = 1;  ///< factors of the solver's rate and decay
  bool statistic = false;             ///< kept by its layer (BatchNorm's running sums), never learned
  bool learns = true;                 ///< false for statistics and lr_mult 0: no gradient is computed
  uint64_t version = 1;               ///< incremented by whoever changes `data`
  bool exposed = false;               ///< a program has the address of `data` and may change it between passes

  Tensor tensor() const { return {desc, data}; }
  Tensor gradient() const { return {desc, diff}; }
};

using ParamPtr = std::shared_ptr<Param>;

}  // namespace robusta
