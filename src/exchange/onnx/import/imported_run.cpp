// The net is built from its prototxt alone, as anybody else's is, and then gets the arrays.

#include "exchange/onnx/import/imported_run.h"

#include "exchange/onnx/import/import.h"
#include "schema/read_text.h"
#include "schema/splits.h"

namespace robusta {

std::unique_ptr<Net> net_of(const ImportedNet& imported) {
  caffe::NetState state;
  state.set_phase(caffe::TEST);
  NetOptions options;
  options.phase = caffe::TEST;
  options.backward = false;
  auto net = std::make_unique<Net>(net_in_state(net_from(without_arrays(imported.net), "imported"), state), options);
  for (const caffe::LayerParameter& layer : imported.net.layer()) {
    const std::vector<ParamPtr> params = net->layer_params(layer.name());
    for (int i = 0; i < layer.blobs_size(); ++i) {
      const auto& data = layer.blobs(i).data();
      net->blobs().write_param(*params.at(static_cast<size_t>(i)), {data.begin(), data.end()});
    }
  }
  return net;
}

}  // namespace robusta
