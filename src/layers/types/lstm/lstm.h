/// LSTM: states are h and c, gates come in the order i, f, o, g (kit/recurrent/cells.h).
#pragma once

#include "layers/kit/recurrent/recurrent_layer.h"

namespace robusta {

class LstmLayer : public RecurrentLayer {
 public:
  explicit LstmLayer(const caffe::LayerParameter& param) : RecurrentLayer(param, 2, 4) {}
};

}  // namespace robusta
