/// What a check has found in a layer.
#pragma once

#include <string>

namespace robusta::deploy {

struct Finding {
  std::string cause;
  std::string field;  ///< "" for the layer as a whole
};

}  // namespace robusta::deploy
