// The filler types: a table of how each checks its settings and draws its numbers.
//
// All numbers come from one Philox stream in the order of the elements, so they depend neither on threads nor on the
// element type.

#include "layers/kit/filler.h"

#include <algorithm>
#include <cmath>

#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

using Filler = caffe::FillerParameter;

/// An array of either type, which takes doubles.
class Sink {
 public:
  Sink(DType dtype, void* data) : dtype_(dtype), data_(data) {}
  void put(int64_t i, double value) const {
    dispatch(dtype_, [&](auto t) { static_cast<decltype(t)*>(data_)[i] = static_cast<decltype(t)>(value); });
  }
  /// draw(put) calls put(i, value) for each i, from any thread.
  template <typename Draw>
  void take(const Draw& draw) const {
    dispatch(dtype_, [&](auto t) {
      draw([to = static_cast<decltype(t)*>(data_)](int64_t i, double value) {
        to[i] = static_cast<decltype(t)>(value);
      });
    });
  }

 private:
  DType dtype_;
  void* data_;  // of the host
};

struct FillerType {
  const char* name;
  void (*fill)(const Filler&, const Shape&, PhiloxStream&, const Sink&);
  void (*check)(const Filler&, const Shape&);
};

[[noreturn]] void fail(const std::string& field, const std::string& cause, const std::string& fix = "") {
  throw Error(ErrorKind::kConfig, cause, fix).in_field(field);
}

void check_nothing(const Filler&, const Shape&) {}

void fill_constant(const Filler& f, const Shape& shape, PhiloxStream&, const Sink& sink) {
  const int64_t count = shape.count();
  for (int64_t i = 0; i < count; ++i) sink.put(i, f.value());
}

void check_uniform(const Filler& f, const Shape&) {
  if (!(f.min() <= f.max())) fail("min", str("a uniform filler with min ", f.min(), " above max ", f.max()));
}

void fill_uniform(const Filler& f, const Shape& shape, PhiloxStream& random, const Sink& sink) {
  const double low = f.min(), width = double{f.max()} - low;
  sink.take([&](const auto& put) {
    random.uniforms(shape.count(), [&](int64_t i, double draw) { put(i, low + width * draw); });
  });
}

void check_gaussian(const Filler& f, const Shape& shape) {
  if (!(f.std() >= 0)) fail("std", str("a gaussian filler with negative std ", f.std()));
  if (f.sparse() < 0) return;
  if (shape.axes() == 0 || f.sparse() > shape[0]) {
    fail("sparse", str("sparse ", f.sparse(), " exceeds the outputs of shape ", shape.str()),
         "sparse is the number of outputs that each input is joined to");
  }
}

/// Each input is joined to an output with the probability that gives it `sparse` of them on average.
void fill_sparse(const Filler& f, const Shape& shape, PhiloxStream& random, const Sink& sink) {
  const double kept = static_cast<double>(f.sparse()) / static_cast<double>(shape[0]);
  const int64_t count = shape.count();
  for (int64_t i = 0; i < count; ++i) {
    const double value = f.mean() + f.std() * random.normal();
    sink.put(i, random.uniform() < kept ? value : 0);
  }
}

void fill_gaussian(const Filler& f, const Shape& shape, PhiloxStream& random, const Sink& sink) {
  if (f.sparse() >= 0) return fill_sparse(f, shape, random, sink);
  sink.take([&](const auto& put) {
    random.normals(shape.count(), [&](int64_t i, double draw) { put(i, f.mean() + f.std() * draw); });
  });
}

void check_unitball(const Filler&, const Shape& shape) {
  if (shape.axes() == 0) fail("type", "a positive_unitball filler for a scalar");
}

void fill_unitball(const Filler&, const Shape& shape, PhiloxStream& random, const Sink& sink) {
  const int64_t row = shape.count(1);
  std::vector<double> values(static_cast<size_t>(row));
  for (int64_t r = 0; r < shape[0]; ++r) {
    double sum = 0;
    for (double& value : values) sum += value = random.uniform();
    for (int64_t i = 0; i < row; ++i) sink.put(r * row + i, values[static_cast<size_t>(i)] / sum);
  }
}

void check_fans(const Filler&, const Shape& shape) {
  if (shape.axes() == 0) fail("type", "a xavier or msra filler for a scalar", "use a constant");
}

/// Elements per output or per input, by the axes 0 and 1 whatever they mean to the layer.
double fan(const Filler& f, const Shape& shape) {
  const double count = static_cast<double>(shape.count());
  const double in = count / static_cast<double>(shape[0]);
  const double out = shape.axes() > 1 ? count / static_cast<double>(shape[1]) : count;
  switch (f.variance_norm()) {
    case Filler::FAN_OUT:
      return out;
    case Filler::AVERAGE:
      return (in + out) / 2;
    default:
      return in;
  }
}

/// Glorot and Bengio 2010.
void fill_xavier(const Filler& f, const Shape& shape, PhiloxStream& random, const Sink& sink) {
  const double limit = std::sqrt(3 / fan(f, shape));
  sink.take([&](const auto& put) {
    random.uniforms(shape.count(), [&](int64_t i, double draw) { put(i, limit * (2 * draw - 1)); });
  });
}

/// He, Zhang, Ren, Sun 2015.
void fill_msra(const Filler& f, const Shape& shape, PhiloxStream& random, const Sink& sink) {
  const double deviation = f.scale() * std::sqrt(2 / fan(f, shape));
  sink.take([&](const auto& put) {
    random.normals(shape.count(), [&](int64_t i, double draw) { put(i, deviation * draw); });
  });
}

void check_bilinear(const Filler&, const Shape& shape) {
  if (shape.axes() != 4 || shape[2] != shape[3]) {
    fail("type", str("a bilinear filler for shape ", shape.str()), "it takes four axes, the last two of equal size");
  }
}

void fill_bilinear(const Filler&, const Shape& shape, PhiloxStream&, const Sink& sink) {
  const int64_t size = shape[3];
  const double factor = static_cast<double>((size + 1) / 2);
  const double centre = static_cast<double>(size - 1) / (2 * factor);
  const auto weight = [=](int64_t i) { return 1 - std::abs(static_cast<double>(i) / factor - centre); };
  const int64_t count = shape.count();
  for (int64_t i = 0; i < count; ++i) sink.put(i, weight(i % size) * weight(i / size % size));
}

constexpr FillerType kTypes[] = {
    {"constant", fill_constant, check_nothing},  {"uniform", fill_uniform, check_uniform},
    {"gaussian", fill_gaussian, check_gaussian}, {"positive_unitball", fill_unitball, check_unitball},
    {"xavier", fill_xavier, check_fans},         {"msra", fill_msra, check_fans},
    {"bilinear", fill_bilinear, check_bilinear},
};

const FillerType& type_of(const Filler& filler) {
  const std::string suffix = "static";
  std::string name = filler.type();
  if (name.size() > suffix.size() && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  for (const FillerType& type : kTypes) {
    if (name == type.name && (name == filler.type() || name != "constant")) return type;
  }
  std::string known;
  for (const std::string& type : filler_types()) known += (known.empty() ? "" : ", ") + type;
  fail("type", str("unknown filler type \"", filler.type(), "\"", did_you_mean(filler.type(), filler_types())),
       "known types: " + known);
}

}  // namespace

const std::vector<std::string>& filler_types() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const FillerType& type : kTypes) all.push_back(type.name);
    for (const FillerType& type : kTypes) {
      if (type.fill != fill_constant) all.push_back(str(type.name, "static"));
    }
    return all;
  }();
  return names;
}

void check_filler(const Filler& filler, const Shape& shape, const std::string& path) {
  try {
    const FillerType& type = type_of(filler);
    if (filler.sparse() >= 0 && type.fill != fill_gaussian) {
      fail("sparse", str("a ", filler.type(), " filler cannot be sparse"), "only gaussian takes sparse");
    }
    type.check(filler, shape);
  } catch (const Error& error) {
    Error placed(error.kind(), error.cause(), error.fix());
    throw path.empty() ? placed : placed.in_field(path + "." + error.field());
  }
}

void fill(const Filler& filler, const Shape& shape, PhiloxStream& random, DType dtype, void* data) {
  check_filler(filler, shape);
  type_of(filler).fill(filler, shape, random, Sink(dtype, data));
}

}  // namespace robusta
