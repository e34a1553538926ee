// Nets of the C interface: each function checks its pointers and calls the public C++ interface.

#include <algorithm>
#include <cstring>

#include "api/c/handles.h"
#include "base/str.h"
#include "solver/files/weights.h"

namespace robusta::v1 {
namespace {

std::string text_or_empty(const char* text) { return text ? text : ""; }

/// That of an older header is smaller.
void require_known(size_t size) {
  if (size >= sizeof(size_t) && size <= sizeof(robusta_net_options)) return;
  throw Error(ErrorKind::kUsage,
              str("options of ", size, " bytes, and this library knows ", sizeof(robusta_net_options)),
              "set them by robusta_net_options_init, and run with a library that is not older than the program");
}

robusta_net_options default_options(size_t size) {
  robusta_net_options options = {};
  options.size = size;
  options.gpu = -1;
  options.seed = 1;
  options.fuse = true;
  return options;
}

NetOptions options_of(const robusta_net_options* given) {
  if (!given) return {};
  require_known(given->size);
  // What an older header does not have stays at its default: fields are only ever added behind the others.
  robusta_net_options own = default_options(sizeof own);
  std::memcpy(&own, given, given->size);
  NetOptions options;
  options.phase = own.train ? Phase::kTrain : Phase::kTest;
  options.backward = own.backward;
  options.keep_blobs = own.keep_blobs;
  options.level = own.level;
  options.stages = split_list(text_or_empty(own.stages));
  options.gpu = own.gpu;
  options.precision = text_or_empty(own.precision);
  options.kernels = own.kernels ? own.kernels : "auto";
  options.seed = own.seed;
  options.batch = own.batch;
  options.fuse = own.fuse;
  return options;
}

Net& net_of(robusta_net* handle) { return *required(handle, "net")->net; }

robusta_net* handle_of(Net net) {
  auto handle = std::make_unique<robusta_net>();
  handle->owned.emplace(std::move(net));
  handle->net = &*handle->owned;
  return handle.release();
}

/// The handle keeps the characters until it is asked for another name: a program need not free them.
const char* name_at(robusta_net* handle, const std::vector<std::string>& names, int index) {
  if (index < 0 || index >= static_cast<int>(names.size())) return nullptr;
  handle->name = names[static_cast<size_t>(index)];
  return handle->name.c_str();
}

std::vector<std::string> layer_names(const Net& net) {
  std::vector<std::string> names;
  for (LayerInfo& layer : net.layers()) names.push_back(std::move(layer.name));
  return names;
}

LayerRange range_of(const char* start, const char* end) { return {text_or_empty(start), text_or_empty(end)}; }

void copy_out(const std::vector<float>& from, float* to, size_t count) {
  if (from.size() != count) {
    throw Error(ErrorKind::kUsage, str("there are ", from.size(), " numbers, and room was given for ", count));
  }
  if (count > 0) std::copy(from.begin(), from.end(), required(to, "numbers"));
}

Shape shape_in(const int64_t* extents, int axes) {
  if (axes > 0) required(extents, "extents");
  return {extents, extents + std::max(axes, 0)};
}

std::span<const float> numbers_in(const float* numbers, size_t count) {
  return {count > 0 ? required(numbers, "numbers") : numbers, count};
}

/// Names of a handle; null when anything fails.
template <typename Names>
const char* name_of_net(robusta_net* handle, int index, const Names& names) {
  const char* name = nullptr;
  guarded([&] { name = name_at(handle, names(net_of(handle)), index); });
  return name;
}

}  // namespace
}  // namespace robusta::v1

using robusta::v1::guarded;
using robusta::v1::Net;
using robusta::v1::net_of;
using robusta::v1::required;

int robusta_net_options_init_sized(robusta_net_options* options, size_t size) {
  return guarded([&] {
    // Cleared first, so that options that are refused hold nothing that was never set.
    std::memset(required(options, "options"), 0, std::min(size, sizeof *options));
    robusta::v1::require_known(size);
    const robusta_net_options defaults = robusta::v1::default_options(size);
    std::memcpy(options, &defaults, size);
  });
}

int robusta_net_from_file(const char* path, const robusta_net_options* options, robusta_net** net) {
  return guarded([&] {
    // Null if what follows fails, which robusta_net_free takes as well.
    *required(net, "net") = nullptr;
    *net = robusta::v1::handle_of(Net::from_file(required(path, "path"), robusta::v1::options_of(options)));
  });
}

int robusta_net_from_text(const char* text, const robusta_net_options* options, robusta_net** net) {
  return guarded([&] {
    *required(net, "net") = nullptr;
    *net = robusta::v1::handle_of(Net::from_text(required(text, "text"), robusta::v1::options_of(options)));
  });
}

void robusta_net_free(robusta_net* net) {
  // The net of a solver goes with its solver.
  if (net && net->owned) delete net;
}

int robusta_net_load_weights(robusta_net* net, const char* path) {
  return guarded([&] { net_of(net).load_weights(required(path, "path")); });
}
int robusta_net_save_weights(robusta_net* net, const char* path) {
  return guarded([&] { net_of(net).save_weights(required(path, "path")); });
}

const char* robusta_net_input(robusta_net* net, int index) {
  return robusta::v1::name_of_net(net, index, [](const Net& own) { return own.inputs(); });
}
const char* robusta_net_output(robusta_net* net, int index) {
  return robusta::v1::name_of_net(net, index, [](const Net& own) { return own.outputs(); });
}
const char* robusta_net_layer(robusta_net* net, int index) {
  return robusta::v1::name_of_net(net, index, [](const Net& own) { return robusta::v1::layer_names(own); });
}
const char* robusta_net_blob(robusta_net* net, int index) {
  return robusta::v1::name_of_net(net, index, [](const Net& own) { return own.blobs(); });
}

int robusta_net_shape(robusta_net* net, const char* blob, int64_t* extents, int most, int* axes) {
  return guarded([&] {
    const robusta::v1::Shape shape = net_of(net).shape(required(blob, "blob"));
    *required(axes, "axes") = static_cast<int>(shape.size());
    for (int i = 0; i < std::min(most, *axes); ++i) required(extents, "extents")[i] = shape[static_cast<size_t>(i)];
  });
}

int robusta_net_reshape(robusta_net* net, const char* input, const int64_t* extents, int axes) {
  return guarded([&] { net_of(net).reshape(required(input, "input"), robusta::v1::shape_in(extents, axes)); });
}

int robusta_net_reshape_inputs(robusta_net* net, int count, const char* const* inputs, const int64_t* const* extents,
                               const int* axes) {
  return guarded([&] {
    std::vector<robusta::v1::InputShape> shapes;
    for (int i = 0; i < count; ++i) {
      shapes.push_back({required(required(inputs, "inputs")[i], "input"),
                        robusta::v1::shape_in(required(extents, "extents")[i], required(axes, "axes")[i])});
    }
    net_of(net).reshape(shapes);
  });
}

int robusta_net_forward(robusta_net* net, double* loss) {
  return guarded([&] {
    const double own = net_of(net).forward();
    if (loss) *loss = own;
  });
}
int robusta_net_backward(robusta_net* net) {
  return guarded([&] { net_of(net).backward(); });
}
int robusta_net_forward_part(robusta_net* net, const char* start, const char* end, double* loss) {
  return guarded([&] {
    const double own = net_of(net).forward(robusta::v1::range_of(start, end));
    if (loss) *loss = own;
  });
}
int robusta_net_backward_part(robusta_net* net, const char* start, const char* end) {
  return guarded([&] { net_of(net).backward(robusta::v1::range_of(start, end)); });
}

int robusta_net_read(robusta_net* net, const char* blob, float* numbers, size_t count) {
  return guarded([&] { robusta::v1::copy_out(net_of(net).read(required(blob, "blob")), numbers, count); });
}
int robusta_net_read_gradient(robusta_net* net, const char* blob, float* numbers, size_t count) {
  return guarded([&] { robusta::v1::copy_out(net_of(net).read_gradient(required(blob, "blob")), numbers, count); });
}
int robusta_net_write(robusta_net* net, const char* blob, const float* numbers, size_t count) {
  return guarded([&] { net_of(net).write(required(blob, "blob"), robusta::v1::numbers_in(numbers, count)); });
}
int robusta_net_write_gradient(robusta_net* net, const char* blob, const float* numbers, size_t count) {
  return guarded([&] { net_of(net).write_gradient(required(blob, "blob"), robusta::v1::numbers_in(numbers, count)); });
}

int robusta_net_set_samples(robusta_net* net, const char* layer, const float* data, size_t count, const float* labels,
                            size_t samples) {
  return guarded([&] {
    net_of(net).set_samples(required(layer, "layer"), robusta::v1::numbers_in(data, count),
                            robusta::v1::numbers_in(labels, samples));
  });
}

int robusta_net_parameter_count(robusta_net* net, const char* layer, int index, size_t* count) {
  return guarded(
      [&] { *required(count, "count") = net_of(net).read_parameter(required(layer, "layer"), index).size(); });
}
int robusta_net_read_parameter(robusta_net* net, const char* layer, int index, float* numbers, size_t count) {
  return guarded(
      [&] { robusta::v1::copy_out(net_of(net).read_parameter(required(layer, "layer"), index), numbers, count); });
}
int robusta_net_write_parameter(robusta_net* net, const char* layer, int index, const float* numbers, size_t count) {
  return guarded(
      [&] { net_of(net).write_parameter(required(layer, "layer"), index, robusta::v1::numbers_in(numbers, count)); });
}
int robusta_net_read_parameter_gradient(robusta_net* net, const char* layer, int index, float* numbers, size_t count) {
  return guarded([&] {
    robusta::v1::copy_out(net_of(net).read_parameter_gradient(required(layer, "layer"), index), numbers, count);
  });
}
