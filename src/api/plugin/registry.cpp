// The layer types that plugins, and programs that embed the library, have brought.
//
// The engine's registers hold plain functions; the plugins' closures are kept here and found again by the layer's type.
// Types are never taken back, as nets may live as long as the process.

#include <map>
#include <mutex>

#include "api/plugin/border.h"
#include "api/plugin/plugin_kernel.h"
#include "api/plugin/plugin_layer.h"
#include "base/str.h"

namespace robusta::v1 {

// Whoever derives from these in a plugin needs their tables of functions, which stand where these members do.
Kernel::~Kernel() = default;
void Kernel::backward(const KernelCall&) {}
Layer::~Layer() = default;

std::vector<std::string> layer_types() { return robusta::layer_types(); }

namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, LayerFactory> layers;
};

/// Never destroyed: a plugin's code is not unloaded either.
Registry& registry() {
  static auto* const made = new Registry;
  return *made;
}

LayerFactory factory_of(const std::string& type) {
  const std::lock_guard lock(registry().mutex);
  return registry().layers.at(type);
}

std::unique_ptr<robusta::Layer> make_plugin_layer(const caffe::LayerParameter& param) {
  return std::make_unique<PluginLayer>(param, factory_of(param.type()));
}

std::unique_ptr<robusta::Kernel> make_layers_own_kernel(const robusta::KernelRequest& request, std::string& why_not) {
  Layer& layer = request.layer<PluginLayer>().own();
  const std::string device = request.device ? request.device->kernel_kind() : "cpu";
  if (!in_plugin([&] { return layer.runs_on(device, static_cast<DType>(request.dtype())); })) {
    why_not = str("the plugin's layer does not run on ", device, " in ", name_of(request.dtype()));
    return nullptr;
  }
  const std::shared_ptr<Kernel> borrowed(&layer, [](Kernel*) {});  // layers outlive their kernels
  return std::make_unique<PluginKernel>(request, borrowed, "plugin");
}

std::vector<Shape> shapes_of(const std::vector<TensorDesc>& descs) {
  std::vector<Shape> shapes;
  for (const TensorDesc& desc : descs) shapes.push_back(desc.shape.dims());
  return shapes;
}

std::unique_ptr<robusta::Kernel> make_foreign_kernel(const KernelFactory& factory, const std::string& backend,
                                                     const std::string& device, const robusta::KernelRequest& request,
                                                     std::string& why_not) {
  const LayerSpec::Impl fields(request.layers[0]->param());
  const std::vector<Shape> bottoms = shapes_of(request.bottoms), tops = shapes_of(request.tops);
  const std::vector<Shape> parameters = shapes_of(request.params);
  const KernelRequest asked{.spec = LayerSpec(fields),
                            .device = device,
                            .dtype = static_cast<DType>(request.dtype()),
                            .bottoms = bottoms,
                            .tops = tops,
                            .parameters = parameters,
                            .backward = request.backward};
  std::shared_ptr<Kernel> own = in_plugin([&] { return factory(asked, why_not); });
  return own ? std::make_unique<PluginKernel>(request, std::move(own), backend) : nullptr;
}

constexpr const char* kDevices[] = {"cpu", "cuda"};

}  // namespace

void register_layer(const std::string& type, LayerFactory factory) {
  {
    const std::lock_guard lock(registry().mutex);
    registry().layers.emplace(type, std::move(factory));
  }
  if (!robusta::register_layer(type, make_plugin_layer)) {
    throw Error(ErrorKind::kUsage, str("a layer type \"", type, "\" is known already"),
                "give the plugin's layer another name, such as one that begins with its maker's");
  }
  for (const char* device : kDevices) {
    robusta::register_kernel({type, "reference", device, 0, make_layers_own_kernel});
  }
}

void register_kernel(const std::string& type, const std::string& backend, int priority, KernelFactory factory) {
  if (backend.empty() || backend == "auto") {
    throw Error(ErrorKind::kUsage, str("a kernel cannot have the name \"", backend, "\""));
  }
  for (const char* device : kDevices) {
    const std::string kind = device;
    robusta::register_kernel({type, backend, device, priority,
                              [factory, backend, kind](const robusta::KernelRequest& request, std::string& why_not) {
                                return make_foreign_kernel(factory, backend, kind, request, why_not);
                              }});
  }
}

}  // namespace robusta::v1
