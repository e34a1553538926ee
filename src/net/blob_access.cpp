// Reading and writing a net's blobs and parameters from outside.

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/nearest.h"
#include "base/str.h"
#include "net/graph/build_graph.h"
#include "net/net.h"
#include "net/run/executor.h"

namespace robusta {
namespace {

/// The version behind a visible blob name. Throws Error{kUsage} with the nearest name.
size_t require(const Graph& graph, const std::string& blob) {
  const int version = graph.find(blob);
  if (version >= 0) return static_cast<size_t>(version);
  std::vector<std::string> names;
  for (const BlobVersion& v : graph.versions) names.push_back(v.name);
  throw Error(ErrorKind::kUsage, "the net has no blob \"" + blob + "\"" + did_you_mean(blob, names));
}

double mean_of_abs(const std::vector<float>& numbers) {
  double sum = 0;
  for (float x : numbers) sum += std::fabs(x);
  return numbers.empty() ? 0 : sum / static_cast<double>(numbers.size());
}

std::vector<float> read_array(Stream& stream, const TensorDesc& desc, const void* memory) {
  std::vector<char> bytes(desc.bytes());
  if (!bytes.empty()) stream.copy_to_host(bytes.data(), memory, bytes.size());
  stream.synchronize();
  std::vector<float> numbers(static_cast<size_t>(desc.count()));
  to_floats(desc.dtype, bytes.data(), numbers.data(), numbers.size());
  return numbers;
}

void write_array(Stream& stream, const TensorDesc& desc, void* memory, const std::vector<float>& numbers) {
  assert(static_cast<int64_t>(numbers.size()) == desc.count());
  std::vector<char> bytes(desc.bytes());
  from_floats(desc.dtype, numbers.data(), bytes.data(), numbers.size());
  if (!bytes.empty()) stream.copy_to_device(memory, bytes.data(), bytes.size());
  stream.synchronize();
}

}  // namespace

std::vector<float> Net::read_blob(const std::string& blob) {
  const int value = plan_.data[require(graph_, blob)];
  if (value < 0 || !plan_.values[static_cast<size_t>(value)].persistent) {
    throw Error(ErrorKind::kUsage, "blob \"" + blob + "\" is not kept after the pass", "build the net with keep_blobs");
  }
  return executor_->read(value);
}

std::vector<float> Net::read_diff(const std::string& blob) {
  const size_t version = require(graph_, blob);
  const int value = plan_.diff[version];
  if (value < 0) return std::vector<float>(static_cast<size_t>(graph_.versions[version].shape.count()), 0.0f);
  if (!plan_.values[static_cast<size_t>(value)].persistent) {
    throw Error(ErrorKind::kUsage, "the gradient of \"" + blob + "\" is not kept", "build the net with keep_blobs");
  }
  return executor_->read(value);
}

void Net::write_blob(const std::string& blob, const std::vector<float>& values) {
  const size_t version = require(graph_, blob);
  if (static_cast<int64_t>(values.size()) != graph_.versions[version].shape.count()) {
    throw Error(ErrorKind::kUsage,
                str(values.size(), " numbers for blob \"", blob, "\" of shape ", graph_.versions[version].shape.str()));
  }
  executor_->write(plan_.data[version], values);
}

void Net::write_diff(const std::string& blob, const std::vector<float>& values) {
  const int value = plan_.diff[require(graph_, blob)];
  if (value < 0) throw Error(ErrorKind::kUsage, "blob \"" + blob + "\" has no gradient to set");
  executor_->write(value, values);
}

std::vector<float> Net::read(const Tensor& array) { return read_array(*stream_, array.desc, array.data); }

void Net::write(const Tensor& array, const std::vector<float>& values) {
  write_array(*stream_, array.desc, array.data, values);
}

std::vector<float> Net::read_param(const Param& param) { return read(param.tensor()); }
std::vector<float> Net::read_param_diff(const Param& param) { return read(param.gradient()); }

void Net::write_param(Param& param, const std::vector<float>& values) {
  write(param.tensor(), values);
  ++param.version;
}

void Net::write_param_diff(Param& param, const std::vector<float>& values) { write(param.gradient(), values); }

void Net::fetch(const Tensor& array, void* to_host) {
  if (array.desc.bytes() > 0) stream_->copy_to_host(to_host, array.data, array.desc.bytes());
  stream_->synchronize();
}

void Net::store(const Tensor& array, const void* from_host) {
  if (array.desc.bytes() > 0) stream_->copy_to_device(array.data, from_host, array.desc.bytes());
  stream_->synchronize();
}

Shape Net::blob_shape(const std::string& blob) const { return graph_.versions[require(graph_, blob)].shape; }
bool Net::has_blob(const std::string& blob) const { return graph_.find(blob) >= 0; }

std::vector<std::string> Net::outputs() const {
  std::vector<std::string> names;
  for (const BlobVersion& version : graph_.versions) {
    if (version.consumer < 0 && version.name != "(automatic)") names.push_back(version.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

float Net::loss_weight(const std::string& blob) const { return graph_.versions[require(graph_, blob)].loss_weight; }

void Net::reshape_input(const std::string& blob, const Shape& shape) {
  const BlobVersion& version = graph_.versions[require(graph_, blob)];
  Node& node = graph_.nodes[static_cast<size_t>(version.producer)];
  if (!node.source || !node.source->reshape_top(version.top, shape)) {
    throw Error(ErrorKind::kUsage, "blob \"" + blob + "\" cannot be reshaped", "only tops of Input layers can");
  }
  infer_shapes(graph_);
  replan();
}

double Net::mean_abs(int version, bool diff) {
  const int value = (diff ? plan_.diff : plan_.data)[static_cast<size_t>(version)];
  return value < 0 ? -1 : mean_of_abs(executor_->read(value));
}

double Net::mean_abs(const Param& param, bool diff) {
  return mean_of_abs(read_array(*stream_, param.desc, diff ? param.diff : param.data));
}

}  // namespace robusta
