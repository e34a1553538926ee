// _caffe.Net: what pycaffe.py makes caffe.Net of.

#include "net.h"

#include <pybind11/stl.h>

#include "blob.h"
#include "layer.h"
#include "robusta/error.h"
#include "settings.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

using NetPtr = std::shared_ptr<NetCore>;
using Stages = std::optional<std::vector<std::string>>;

/// A layer as `net.layers` has it.
struct LayerView {
  std::string name, type;
  std::vector<Blob> blobs;
};

Phase phase_of(int phase) {
  if (phase == 0 || phase == 1) return phase == 0 ? Phase::kTrain : Phase::kTest;
  throw Error(ErrorKind::kUsage, "phase " + std::to_string(phase), "give caffe.TRAIN or caffe.TEST");
}

std::string text_of(const std::string& path) {
  const Guard::Unlocked unlocked;  // a slow disk, or a pipe that another thread fills
  return Net::text_of_file(path);
}

NetPtr make_net(const py::object& file, int phase, int level, const Stages& stages, const py::object& weights,
              const std::string& kernels, const std::string& precision) {
  Recipe recipe{.path = file_name(file), .text = "", .options = {}};
  recipe.text = text_of(recipe.path);
  NetOptions& options = recipe.options;
  options.phase = phase_of(phase);
  options.level = level;
  if (stages) options.stages = *stages;
  options.gpu = gpu_in_use();
  options.precision = precision;
  options.kernels = kernels;
  options.seed = next_seed();
  options.backward = options.keep_blobs = true;
  auto core = std::make_shared<NetCore>(std::move(recipe));
  if (!weights.is_none()) copy_from(*core, weights);
  return core;
}

std::vector<Blob> blobs_of(const NetPtr& core, const LayerInfo& layer) {
  std::vector<Blob> blobs;
  for (int index = 0; index < layer.parameters; ++index) blobs.push_back({core, {layer.name, index}});
  return blobs;
}

/// Layers of type "Python" are the objects of their classes.
py::list layers_of(const NetPtr& core) {
  const Guard::Use use(core->guard());
  py::list layers;
  for (const LayerInfo& layer : core->net().layers()) {
    py::object own = layer_object(core->net(), layer.name);
    if (own.is_none()) {
      layers.append(LayerView{layer.name, layer.type, blobs_of(core, layer)});
      continue;
    }
    if (layer.parameters > 0) own.attr("blobs").attr("_bind")(core, layer.name);
    layers.append(own);
  }
  return layers;
}

py::list layer_names(const NetPtr& core) {
  const Guard::Use use(core->guard());
  py::list names;
  for (const LayerInfo& layer : core->net().layers()) names.append(layer.name);
  return names;
}

/// Blob names by layer, bottoms or tops.
py::dict names_by_layer(const NetPtr& core, bool tops) {
  const Guard::Use use(core->guard());
  py::dict names;
  for (const LayerInfo& layer : core->net().layers()) names[py::str(layer.name)] = tops ? layer.tops : layer.bottoms;
  return names;
}

py::dict blobs_by_name(const NetPtr& core) {
  const Guard::Use use(core->guard());
  py::dict blobs;
  for (const std::string& name : core->net().blobs()) blobs[py::str(name)] = Blob{core, {name}};
  return blobs;
}

py::dict params_by_layer(const NetPtr& core) {
  const Guard::Use use(core->guard());
  py::dict params;
  for (const LayerInfo& layer : core->net().layers()) {
    if (layer.parameters > 0) params[py::str(layer.name)] = blobs_of(core, layer);
  }
  return params;
}

py::dict loss_weights(const NetPtr& core) {
  const Guard::Use use(core->guard());
  py::dict weights;
  for (const std::string& name : core->net().blobs()) weights[py::str(name)] = core->net().loss_weight(name);
  return weights;
}

/// Parameters that are the layer's own, and not shared with one before it.
std::vector<std::pair<std::string, int>> own_params(const NetPtr& core) {
  const Guard::Use use(core->guard());
  std::vector<std::pair<std::string, int>> places;
  for (const ParameterInfo& param : core->net().parameters()) places.emplace_back(param.layer, param.index);
  return places;
}

/// Layers by their numbers, both included, as pycaffe counts them; the ends of the net stand for a whole pass.
LayerRange range_of(NetCore& core, int64_t start, int64_t end, bool backward) {
  const Guard::Use use(core.guard());
  const std::vector<LayerInfo> layers = core.net().layers();
  const auto last = static_cast<int64_t>(layers.size()) - 1;
  for (const int64_t number : {start, end}) {
    if (number < 0 || number > last) {
      throw py::index_error("there is no layer " + std::to_string(number) + "; the net has " +
                            std::to_string(last + 1));
    }
  }
  const int64_t whole_start = backward ? last : 0, whole_end = backward ? 0 : last;
  return {.start = start == whole_start ? "" : layers[static_cast<size_t>(start)].name,
          .end = end == whole_end ? "" : layers[static_cast<size_t>(end)].name};
}

void save(NetCore& core, const py::object& path, bool with_gradients) {
  const std::string name = file_name(path);
  core.run([&] { core.net().save_weights(name, with_gradients); });
}

using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;

std::vector<float> numbers_in(const Floats& array) { return {array.data(), array.data() + array.size()}; }

/// A function of the net, which has to be there: a subclass may forget to call its base's __init__.
template <typename Result, typename... Words>
auto of_core(Result (NetCore::*function)(Words...)) {
  return [function](const NetPtr& core, Words... words) { return ((*core).*function)(words...); };
}

/// What the library says of the net.
template <typename Value>
auto asked(Value (Net::*question)() const) {
  return [question](const NetPtr& core) {
    const Guard::Use use(core->guard());
    return (core->net().*question)();
  };
}

void add_layer_view(py::module_& module) {
  py::class_<LayerView>(module, "_LayerView", "A layer of a net.")
      .def_readonly("name", &LayerView::name)
      .def_readonly("type", &LayerView::type)
      .def_property_readonly("blobs", [](const LayerView& layer) { return layer.blobs; })
      .def("__repr__", [](const LayerView& layer) { return "<layer \"" + layer.name + "\" of type " + layer.type + ">"; });
}

}  // namespace

void copy_from(NetCore& core, const py::object& path) {
  const std::string name = file_name(path);
  core.run([&] { core.net().load_weights(name); });
}

void add_net(py::module_& module) {
  add_layer_view(module);
  py::class_<NetCore, NetPtr> net(module, "Net", py::dynamic_attr(), "A net.");
  net.def(py::init(&make_net), py::arg("network_file"), py::arg("phase"), py::arg("level") = 0,
          py::arg("stages") = py::none(), py::arg("weights") = py::none(), py::arg("kernels") = "auto",
          py::arg("precision") = "")
      .def(py::init([](const py::object& file, const py::object& weights, int phase) {
             return make_net(file, phase, 0, std::nullopt, weights, "auto", "");
           }),
           py::arg("network_file"), py::arg("weights"), py::arg("phase"))
      .def("_forward", [](const NetPtr& core, int64_t start, int64_t end) { return core->forward(range_of(*core, start, end, false)); })
      .def("_backward", [](const NetPtr& core, int64_t start, int64_t end) { core->backward(range_of(*core, start, end, true)); })
      .def("_forward_all", [](const NetPtr& core) { return core->forward({}); })
      .def("_backward_all", [](const NetPtr& core) { core->backward({}); })
      .def("reshape", of_core(&NetCore::apply_shapes), "Has the net take the shapes that inputs were given.")
      .def("clear_param_diffs", of_core(&NetCore::clear_parameter_gradients))
      .def("copy_from", [](const NetPtr& core, const py::object& path) { copy_from(*core, path); }, py::arg("weights"),
           "Copies the arrays of layers with the same name from a file.")
      .def("load_hdf5", [](const NetPtr& core, const py::object& path) { copy_from(*core, path); }, py::arg("weights"))
      .def("save", [](const NetPtr& core, const py::object& path, bool with_gradients) { save(*core, path, with_gradients); },
           py::arg("path"), py::arg("write_diff") = false)
      .def("share_with", [](const NetPtr& core, const NetPtr& other) { core->share_with(other); }, py::arg("other").none(false))
      .def("_set_input_arrays", [](const NetPtr& core, const Floats& data, const Floats& labels) {
        core->set_samples(numbers_in(data), numbers_in(labels));
      })
      .def("close", of_core(&NetCore::close), "Gives the net's memory back; arrays of it stay what they are.")
      .def_property_readonly("closed", [](const NetPtr& core) { return core->closed(); })
      .def_property_readonly("name", asked(&Net::name))
      .def_property_readonly("inputs", asked(&Net::inputs))
      .def_property_readonly("outputs", asked(&Net::outputs))
      .def_property_readonly("position", asked(&Net::position))
      .def_property_readonly("layers", &layers_of)
      .def_property_readonly("_layer_names", &layer_names)
      .def("_blobs_by_name", &blobs_by_name)
      .def("_params_by_layer", &params_by_layer)
      .def("_names_by_layer", &names_by_layer)
      .def("_loss_weights", &loss_weights)
      .def_property_readonly("_own_params", &own_params);
}

}  // namespace robusta::python
