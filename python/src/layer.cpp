// Arrays are copied on their way: what a layer's code keeps of them is its own.

#include "layer.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "guard.h"
#include "layer_errors.h"
#include "robusta/net.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;

thread_local const LayerObjects* known_objects = nullptr;

/// Runs work, which calls a layer's code, under the interpreter's lock.
template <typename Work>
auto in_python(const Work& work) {
  if (!Py_IsInitialized() || passes_end()) throw Error(ErrorKind::kUsage, "the interpreter ends while a net runs");
  const InLayersCode may_wait;
  const py::gil_scoped_acquire acquired;
  try {
    return work();
  } catch (py::error_already_set& error) {
    throw_as_error(error);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // of conversions
    throw Error(ErrorKind::kConfig, std::string("its Python code: ") + error.what());
  }
}

py::list arrays_of(std::span<const TensorView> views) {
  py::list arrays;
  for (const TensorView& view : views) arrays.append(py::array_t<float>(view.shape, view.as<float>()));
  return arrays;
}

py::list shapes_of(const std::vector<Shape>& shapes) {
  py::list list;
  for (const Shape& shape : shapes) list.append(py::tuple(py::cast(shape)));
  return list;
}

/// Arrays that stay while the library reads them.
struct Held {
  py::list arrays;
  std::vector<TensorView> views;

  explicit Held(const py::list& made) {
    for (const py::handle array : made) {
      const Floats floats = array.cast<Floats>();
      views.push_back(plain_view(const_cast<float*>(floats.data()), DType::kF32,
                                 Shape(floats.shape(), floats.shape() + floats.ndim())));
      arrays.append(floats);
    }
  }
};

/// `what` the code has left, where the library wants it.
void write(const py::list& arrays, std::span<const TensorView> places, const std::string& what) {
  for (size_t i = 0; i < places.size() && i < arrays.size(); ++i) {
    if (!places[i]) continue;
    const Floats from = arrays[i].cast<Floats>();
    const auto size = static_cast<size_t>(from.size());
    if (size != places[i].elements<float>().size()) {
      throw Error(ErrorKind::kConfig, "its Python code has left another shape to " + what + "[" + std::to_string(i) + "]",
                  "give shapes in setup() and reshape(), and only to tops in forward()");
    }
    std::copy_n(from.data(), size, places[i].as<float>());
  }
}

class PythonLayer : public HostLayer {
 public:
  explicit PythonLayer(const HostLayerSpec& spec) {
    in_python([&] {
      if (known_objects && known_objects->contains(spec.name)) {
        running_ = known_objects->at(spec.name);
        return;
      }
      py::dict settings;
      settings["name"] = spec.name;
      settings["module"] = spec.module;
      settings["layer"] = spec.layer;
      settings["param_str"] = spec.param_str;
      settings["phase"] = spec.training ? 0 : 1;
      settings["bottoms"] = spec.bottoms;
      settings["tops"] = spec.tops;
      settings["in_place_of"] = spec.in_place_of;
      running_ = py::module_::import("caffe.python_layer").attr("Running")(settings);
    });
  }

  ~PythonLayer() override {
    if (!Py_IsInitialized()) {  // what it held has ended with the interpreter
      for (py::object* held : {&running_, &tops_, &parameters_}) held->release();
      return;
    }
    const py::gil_scoped_acquire acquired;
    running_ = tops_ = parameters_ = {};
  }

  void reshape(const std::vector<Shape>& bottoms) override {
    const Guard::Blind blind(Guard::of_this_thread());
    in_python([&] { running_.attr("reshape")(shapes_of(bottoms)); });
  }

  std::vector<Shape> tops() const override {
    return in_python([&] { return running_.attr("tops")().cast<std::vector<Shape>>(); });
  }

  std::vector<TensorView> parameters() const override {
    return in_python([&] { return keep(Held(running_.attr("parameters")()), parameters_); });
  }

  std::vector<TensorView> forward(const HostCall& call) override {
    return in_python([&] {
      const py::tuple made = running_.attr("forward")(arrays_of(call.bottoms), arrays_of(call.parameters));
      write(made[1], call.parameters, "blobs");
      return keep(Held(made[0]), tops_);
    });
  }

  void backward(const HostCall& call) override {
    in_python([&] {
      py::list wanted, gradients;
      for (const TensorView& bottom : call.bottom_gradients) wanted.append(py::bool_(static_cast<bool>(bottom)));
      for (const TensorView& gradient : call.parameter_gradients) {
        gradients.append(gradient ? py::array_t<float>(gradient.shape, gradient.as<float>())
                                  : py::array_t<float>(gradient.shape));
      }
      const py::tuple made =
          running_.attr("backward")(arrays_of(call.top_gradients), wanted, arrays_of(call.parameters), gradients);
      write(made[0], call.bottom_gradients, "bottom");
      write(made[1], call.parameter_gradients, "blobs");
      write(made[2], call.parameters, "blobs");
    });
  }

  const py::object& running() const { return running_; }

 private:
  /// Until the next ones of their kind.
  static std::vector<TensorView> keep(Held held, py::object& place) {
    const auto former = std::exchange(place, std::move(held.arrays));
    return std::move(held.views);
  }

  py::object running_;
  mutable py::object tops_, parameters_;
};

/// A net that is made anew from layers which run needs no module.
void find_module(const std::string& module, const std::string& layer) {
  if (known_objects || !Py_IsInitialized() || passes_end()) return;
  const InLayersCode may_wait;
  const py::gil_scoped_acquire acquired;
  try {
    py::module_::import("caffe.python_layer").attr("find_module")(module);
  } catch (py::error_already_set& error) {
    throw_module_missing(error, module, layer);
  }
}

const PythonLayer* python_layer(const Net& net, const std::string& layer) {
  return dynamic_cast<const PythonLayer*>(host_layer(net, layer).get());
}

}  // namespace

py::object layer_object(const Net& net, const std::string& layer) {
  const PythonLayer* made = python_layer(net, layer);
  return made ? made->running().attr("layer") : py::object(py::none());
}

LayerObjects layer_objects(const Net& net) {
  LayerObjects objects;
  for (const LayerInfo& layer : net.layers()) {
    if (layer.type == "Python") objects[layer.name] = python_layer(net, layer.name)->running();
  }
  return objects;
}

UseLayerObjects::UseLayerObjects(const LayerObjects* objects) : outer_(std::exchange(known_objects, objects)) {}
UseLayerObjects::~UseLayerObjects() { known_objects = outer_; }

void add_layers(py::module_&) {
  set_host_layers([](const HostLayerSpec& spec) { return std::make_unique<PythonLayer>(spec); }, &find_module);
}

}  // namespace robusta::python
