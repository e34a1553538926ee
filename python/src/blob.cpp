// Blob's properties under pycaffe's names.

#include "blob.h"

#include <pybind11/stl.h>

#include "robusta/error.h"

namespace py = pybind11;

namespace robusta::python {
namespace {

py::object array_of(const Blob& blob, bool gradient) {
  Place place = blob.place;
  place.gradient = gradient;
  return blob.core->array(place);
}

/// `blob.data = x` means `blob.data[...] = x`: numpy says what does not fit.
void assign(const Blob& blob, bool gradient, const py::object& values) {
  array_of(blob, gradient)[py::ellipsis()] = values;
}

/// An extent by its name in Caffe's old, four-dimensional shapes: axes that are not there have 1.
int64_t extent(const Blob& blob, size_t axis) {
  const Shape shape = blob.core->shape(blob.place);
  if (shape.size() > 4) {
    throw Error(ErrorKind::kUsage, "a blob of more than four axes has no num, channels, height and width", "use shape");
  }
  return axis < shape.size() ? shape[axis] : 1;
}

/// reshape(2, 3, 4) and reshape((2, 3, 4)).
Shape shape_of(const py::args& extents) {
  try {
    if (extents.size() == 1 && py::isinstance<py::sequence>(extents[0])) return extents[0].cast<Shape>();
    return extents.cast<Shape>();
  } catch (const py::cast_error&) {
    throw py::type_error("a shape is made of integers, each below 2 to the power of 63");
  }
}

void reshape(const Blob& blob, const py::args& extents) {
  const Shape wanted = shape_of(extents);
  if (blob.place.index < 0) return blob.core->reshape(blob.place.name, wanted);
  if (wanted == blob.core->shape(blob.place)) return;
  throw Error(ErrorKind::kUnsupported, "a parameter has the shape that its layer gives it",
              "change the layer in the prototxt")
      .in_layer(blob.place.name);
}

std::string described(const Blob& blob) {
  std::string extents;
  for (const int64_t extent : blob.core->shape(blob.place)) {
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  }
  const std::string which = blob.place.index < 0 ? "" : "[" + std::to_string(blob.place.index) + "]";
  return "<caffe.Blob \"" + blob.place.name + which + "\" (" + extents + ")>";
}

}  // namespace

void add_blob(py::module_& module) {
  py::class_<Blob>(module, "Blob", "A blob of a net, or a parameter of a layer.")
      .def_property(
          "data", [](const Blob& blob) { return array_of(blob, false); },
          [](const Blob& blob, const py::object& values) { assign(blob, false, values); },
          "The values, float32: the net's own memory where it lies on the host in C order, else a copy that passes "
          "read and renew.")
      .def_property(
          "diff", [](const Blob& blob) { return array_of(blob, true); },
          [](const Blob& blob, const py::object& values) { assign(blob, true, values); }, "The gradient, likewise.")
      .def_property_readonly("shape", [](const Blob& blob) { return py::tuple(py::cast(blob.core->shape(blob.place))); })
      .def_property_readonly("count", [](const Blob& blob) { return count(blob.core->shape(blob.place)); })
      .def_property_readonly("num", [](const Blob& blob) { return extent(blob, 0); })
      .def_property_readonly("channels", [](const Blob& blob) { return extent(blob, 1); })
      .def_property_readonly("height", [](const Blob& blob) { return extent(blob, 2); })
      .def_property_readonly("width", [](const Blob& blob) { return extent(blob, 3); })
      .def("reshape", &reshape, "Gives an input another shape, which the net takes with its next reshape or pass.")
      .def("__repr__", &described);
}

}  // namespace robusta::python
