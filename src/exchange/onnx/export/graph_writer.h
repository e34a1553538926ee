/// Builds the graph of an ONNX model: nodes, initializers, and names that are unique in it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "exchange/onnx/export/dims.h"
#include "onnx.pb.h"

namespace robusta {

struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, float, std::vector<int64_t>, std::string> value;
};
using OnnxAttributes = std::vector<OnnxAttribute>;

class OnnxGraphWriter {
 public:
  /// A name that nothing in the graph has yet: `wish`, or `wish` with a number behind it.
  std::string unique(const std::string& wish);

  void add_node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs, const OnnxAttributes& attributes);
  /// An array of the graph, named as nearly as it can be; the same key gives the same array, and `values` are asked for
  /// the first time alone.
  std::string floats(const std::string& key, const std::string& name, const Shape& shape,
                     const std::function<std::vector<float>()>& values);
  std::string integers(const std::string& key, const std::string& name, const Shape& shape,
                       const std::vector<int64_t>& values);

  void add_input(const std::string& name, const Dims& dims, int64_t batch);
  void add_output(const std::string& name, const Dims& dims, int64_t batch);

  onnx::GraphProto& proto() { return graph_; }

 private:
  onnx::GraphProto graph_;
  std::set<std::string> names_;
  std::map<std::string, std::string> arrays_;  ///< by key
};

}  // namespace robusta
