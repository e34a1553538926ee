// Arrays are copied on their way: what a layer's code keeps of them is its own.

#include "layer.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "guard.h"
#include "robusta/error.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;

/// The last exception of a layer's code, until it is raised again. Never destroyed: the interpreter may end first.
struct Raised {
  std::string cause;
  py::object exception;
};
Raised& raised() {
  static auto* const made = new Raised;
  return *made;
}

[[noreturn]] void throw_as_error(py::error_already_set& error) {
  const py::object exception = error.value();
  if (error.trace()) PyException_SetTraceback(exception.ptr(), error.trace().ptr());
  const bool memory = error.matches(PyExc_MemoryError), missing = error.matches(PyExc_ImportError);
  std::string text;
  try {
    text = py::module_::import("caffe.python_layer").attr("explain")(exception).cast<std::string>();
  } catch (const py::error_already_set& second) {
    text = second.what();
  }
  raised() = {"its Python code: " + text, exception};
  throw Error(memory ? ErrorKind::kMemory : ErrorKind::kConfig, raised().cause,
              missing ? "name a module that PYTHONPATH leads to" : "");
}

/// Runs work, which calls a layer's code, under the interpreter's lock.
template <typename Work>
auto in_python(const Work& work) {
  if (!Py_IsInitialized() || passes_end()) throw Error(ErrorKind::kUsage, "the interpreter ends while a net runs");
  const py::gil_scoped_acquire acquired;
  try {
    return work();
  } catch (py::error_already_set& error) {
    throw_as_error(error);
  } catch (const py::cast_error& error) {
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

class PythonLayer : public HostLayer {
 public:
  explicit PythonLayer(const HostLayerSpec& spec) {
    in_python([&] {
      py::dict settings;
      settings["name"] = spec.name;
      settings["module"] = spec.module;
      settings["layer"] = spec.layer;
      settings["param_str"] = spec.param_str;
      settings["phase"] = spec.training ? 0 : 1;
      settings["bottoms"] = spec.bottoms;
      settings["tops"] = spec.tops;
      running_ = py::module_::import("caffe.python_layer").attr("Running")(settings);
    });
  }

  ~PythonLayer() override {
    if (!Py_IsInitialized()) {  // what it held has ended with the interpreter
      running_.release();
      held_.release();
      return;
    }
    const py::gil_scoped_acquire acquired;
    running_ = {};
    held_ = {};
  }

  void reshape(const std::vector<Shape>& bottoms) override {
    in_python([&] { running_.attr("reshape")(shapes_of(bottoms)); });
  }

  std::vector<Shape> tops() const override {
    return in_python([&] { return running_.attr("tops")().cast<std::vector<Shape>>(); });
  }

  std::vector<TensorView> parameters() const override {
    return in_python([&] { return held(running_.attr("parameters")()); });
  }

  std::vector<TensorView> forward(const HostCall& call) override {
    return in_python(
        [&] { return held(running_.attr("forward")(arrays_of(call.bottoms), arrays_of(call.parameters))); });
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
      write(made[0], call.bottom_gradients);
      write(made[1], call.parameter_gradients);
    });
  }

  py::object object() const { return running_.attr("layer"); }

 private:
  /// Views of arrays, which are kept until the next call.
  std::vector<TensorView> held(const py::list& arrays) const {
    py::list kept;
    std::vector<TensorView> views;
    for (const py::handle array : arrays) {
      Floats floats = array.cast<Floats>();
      Shape shape(floats.shape(), floats.shape() + floats.ndim());
      views.push_back(plain_view(floats.mutable_data(), DType::kF32, std::move(shape)));
      kept.append(floats);
    }
    held_ = kept;
    return views;
  }

  static void write(const py::list& arrays, std::span<const TensorView> places) {
    for (size_t i = 0; i < places.size() && i < arrays.size(); ++i) {
      if (!places[i]) continue;
      const Floats from = arrays[i].cast<Floats>();
      const auto size = static_cast<size_t>(from.size());
      if (size == places[i].elements<float>().size()) std::copy_n(from.data(), size, places[i].as<float>());
    }
  }

  py::object running_;
  mutable py::object held_;
};

}  // namespace

py::object layer_object(const Net& net, const std::string& layer) {
  const auto* made = dynamic_cast<const PythonLayer*>(host_layer(net, layer).get());
  return made ? made->object() : py::object(py::none());
}

py::object take_exception(const std::string& cause) {
  Raised& last = raised();
  if (!last.exception || last.cause != cause) return {};
  last.cause.clear();
  return std::exchange(last.exception, py::object());
}

void add_layers(py::module_&) {
  set_host_layers([](const HostLayerSpec& spec) { return std::make_unique<PythonLayer>(spec); });
}

}  // namespace robusta::python
