// A public Net at work: each call is one or two of the engine's.

#include "robusta/net.h"

#include <algorithm>

#include "api/devices.h"
#include "api/net_impl.h"
#include "base/nearest.h"
#include "base/str.h"

namespace robusta::v1 {

Param& Net::Impl::param(const std::string& layer, int index) const {
  const std::vector<ParamPtr> params = net->layer_params(layer);
  if (index >= 0 && index < static_cast<int>(params.size())) return *params[static_cast<size_t>(index)];
  std::vector<std::string> names;
  for (const ParamPtr& param : net->params()) names.push_back(param->layer);
  throw Error(ErrorKind::kUsage,
              params.empty() ? str("there is no layer \"", layer, "\" with parameters", did_you_mean(layer, names))
                             : str("layer \"", layer, "\" has ", params.size(), " parameters, and none ", index));
}

void Net::Impl::check_size(const std::string& blob, size_t numbers) const {
  const robusta::Shape shape = net->blobs().shape(blob);
  if (static_cast<int64_t>(numbers) == shape.count()) return;
  throw Error(ErrorKind::kUsage, str(numbers, " numbers for blob \"", blob, "\" of shape ", shape.str()));
}

void Net::Impl::require_writable(const std::string& blob) const {
  const Graph& graph = net->graph();
  net->blobs().shape(blob);  // names the nearest blob where there is none
  if (graph.find_input(blob) || net->options().keep_blobs) return;
  std::string inputs;
  for (const VersionId input : graph.inputs()) inputs += (inputs.empty() ? "" : ", ") + graph.versions[input].name;
  throw Error(ErrorKind::kUsage, str("blob \"", blob, "\" is no input: a pass writes it before it is read"),
              inputs.empty() ? "the net has no inputs" : "the inputs are " + inputs);
}

void Net::Impl::require_given_gradient(const std::string& blob) const {
  net->blobs().shape(blob);
  const std::vector<std::string>& given = net->options().seed_diffs;
  if (std::ranges::count(given, blob) > 0 || net->options().keep_blobs) return;
  throw Error(ErrorKind::kUsage, str("the gradient of \"", blob, "\" is not one that the program gives"),
              "name the blob in NetOptions::given_gradients");
}

void Net::Impl::require_one_memory(const std::string& blob) const {
  const VersionId input = net->graph().find_input(blob);
  if (!input || input == net->graph().find(blob)) return;
  throw Error(ErrorKind::kUnsupported, str("input \"", blob, "\" has no view: layers work on it in place"),
              "copy it: read, write");
}

void Net::Impl::require_backward() const {
  if (net->options().backward) return;
  throw Error(ErrorKind::kUsage, "the net was built without backward", "set NetOptions::backward");
}

Pass Net::Impl::next_pass() const {
  const int64_t batch = net->batch();
  return {net->options().seed, position, position + static_cast<uint64_t>(batch), batch};
}

namespace {

std::string why_no_view(const Tensor& tensor, bool on_host) {
  if (!tensor.data) return "there is no gradient";
  if (on_host && is_16_bit(tensor.desc.dtype)) return str("it is stored as ", name_of(tensor.desc.dtype));
  return on_host ? "it is stored as " + layout_name(tensor.desc.layout) : "it lies in a GPU's memory";
}

/// The memory as a view, where the host can read it in C order. `copy` names the calls for elsewhere.
TensorView view_of(const robusta::Net& net, const Tensor& tensor, const std::string& blob, const char* copy) {
  const bool on_host = net.options().device->is_host();
  if (on_host && tensor.data && !tensor.desc.layout && !is_16_bit(tensor.desc.dtype)) {
    return plain_view(tensor.data, outside(tensor.desc.dtype), tensor.desc.shape.dims());
  }
  throw Error(ErrorKind::kUnsupported, str("blob \"", blob, "\" has no view: ", why_no_view(tensor, on_host)),
              str("copy it: ", copy));
}

}  // namespace

std::string Net::name() const { return impl_->net->name(); }
bool Net::has_blob(const std::string& blob) const { return impl_->net->blobs().has(blob); }
Shape Net::shape(const std::string& blob) const { return impl_->net->blobs().shape(blob).dims(); }
int64_t Net::batch() const { return impl_->net->batch(); }
std::vector<std::string> Net::outputs() const { return impl_->net->blobs().outputs(); }
uint64_t Net::position() const { return impl_->position; }
void Net::seek(uint64_t sample) { impl_->position = sample; }

void Net::reshape(const std::string& input, const Shape& shape) { reshape(std::vector<InputShape>{{input, shape}}); }

void Net::reshape(const std::vector<InputShape>& inputs) {
  std::vector<std::pair<std::string, robusta::Shape>> own;
  for (const InputShape& input : inputs) own.emplace_back(input.input, input.shape);
  impl_->net->reshape_inputs(own);
  impl_->pass = {};
}

double Net::forward() {
  impl_->pass = impl_->next_pass();
  const double loss = impl_->net->forward(impl_->pass);
  impl_->position = impl_->pass.next_sample;
  return loss;
}

void Net::backward(bool add_to_gradients) {
  impl_->require_backward();
  if (!impl_->net->has_run_forward()) {
    throw Error(ErrorKind::kUsage, "backward has no forward pass to follow",
                "call forward first, or set NetOptions::keep_blobs to run backward again");
  }
  impl_->net->backward(impl_->pass, add_to_gradients);
  impl_->net->stream().synchronize();
}

std::vector<float> Net::read(const std::string& blob) const { return impl_->net->blobs().read(blob); }
std::vector<float> Net::read_gradient(const std::string& blob) const { return impl_->net->blobs().read_diff(blob); }

void Net::write(const std::string& blob, std::span<const float> numbers) {
  impl_->require_writable(blob);
  impl_->net->blobs().write(blob, {numbers.begin(), numbers.end()});
}

void Net::set_samples(const std::string& layer, std::span<const float> data, std::span<const float> labels) {
  impl_->net->set_samples(layer, data, labels);
}

void Net::write_gradient(const std::string& blob, std::span<const float> numbers) {
  impl_->require_given_gradient(blob);
  impl_->check_size(blob, numbers.size());
  impl_->net->blobs().write_diff(blob, {numbers.begin(), numbers.end()});
}

TensorView Net::view(const std::string& blob) const {
  impl_->require_one_memory(blob);
  return view_of(*impl_->net, impl_->net->blobs().memory(blob), blob, "read, write");
}

TensorView Net::gradient_view(const std::string& blob) const {
  return view_of(*impl_->net, impl_->net->blobs().diff_memory(blob), blob, "read_gradient");
}

std::shared_ptr<const void> Net::hold_memory() const {
  return std::make_shared<std::vector<std::shared_ptr<const void>>>(impl_->net->held_memory());
}

uint64_t Net::plannings() const { return impl_->net->plannings(); }
double Net::loss_weight(const std::string& blob) const { return impl_->net->blobs().loss_weight(blob); }

void Net::before_each_layer(LayerCallback callback) { impl_->net->diagnostics().set_step_watch(std::move(callback)); }

void Net::after_each_layer(LayerCallback callback) {
  if (callback && !impl_->net->options().keep_blobs) {
    throw Error(ErrorKind::kUsage, "after_each_layer needs every blob", "build the net with keep_blobs");
  }
  if (!callback) return impl_->net->diagnostics().set_layer_hook(nullptr);
  impl_->net->diagnostics().set_layer_hook(
      [callback = std::move(callback)](const Node& node, bool backward) { callback(node.layer->name(), backward); });
}

}  // namespace robusta::v1
