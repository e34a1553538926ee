// Each kind of file has its own comparison; all of them write lines that say where and what.

#include "inspect/file_differences.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/counted.h"
#include "base/excerpt.h"
#include "base/str.h"
#include "inspect/array_difference.h"
#include "inspect/file_kind.h"
#include "inspect/flat_fields.h"
#include "inspect/text_table.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// A layer's name, and which of those of this name it is. Names need not be unique in files of Caffe.
using LayerKey = std::pair<std::string, int>;

std::string shown(const LayerKey& key) {
  return "layer \"" + excerpt(key.first) + "\"" + (key.second > 0 ? str(" (number ", key.second + 1, ")") : "");
}

/// Places of the layers by key. `name_of_layer(i)` for i below `count`.
template <typename NameOf>
std::pair<std::map<LayerKey, size_t>, std::vector<LayerKey>> key_layers(size_t count, const NameOf& name_of_layer) {
  std::map<std::string, int> seen;
  std::map<LayerKey, size_t> places;
  std::vector<LayerKey> order;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = name_of_layer(i);
    order.emplace_back(name, seen[name]++);
    places[order.back()] = i;
  }
  return {std::move(places), std::move(order)};
}

/// Whether the layers that both have come in another order.
bool reordered(const std::vector<LayerKey>& before, const std::vector<LayerKey>& after) {
  const std::set<LayerKey> old_ones(before.begin(), before.end()), new_ones(after.begin(), after.end());
  std::vector<LayerKey> a, b;
  for (const LayerKey& key : before) {
    if (new_ones.contains(key)) a.push_back(key);
  }
  for (const LayerKey& key : after) {
    if (old_ones.contains(key)) b.push_back(key);
  }
  return a != b;
}

bool print_lines(std::ostream& out, const std::vector<std::string>& lines, const std::string& indent) {
  for (const std::string& line : lines) out << indent << line << '\n';
  return !lines.empty();
}

bool compare_nets(std::ostream& out, const NetDef& before, const NetDef& after) {
  const auto keyed = [](const NetDef& net) {
    return key_layers(static_cast<size_t>(net.param.layer_size()),
                      [&](size_t i) { return net.param.layer(static_cast<int>(i)).name(); });
  };
  const auto [old_places, old_order] = keyed(before);
  const auto [new_places, new_order] = keyed(after);
  bool differs =
      print_lines(out, changed_fields(flat_fields(before.param, {"layer"}), flat_fields(after.param, {"layer"})), "");
  const auto print_alone = [&](const char* what, const NetDef& net, size_t place, const LayerKey& key) {
    const int i = static_cast<int>(place);
    out << what << ' ' << shown(key) << ", " << net.param.layer(i).type() << ", " << net.source_of(i).where() << '\n';
    differs = true;
  };
  for (const LayerKey& key : old_order) {
    const size_t place = old_places.at(key);
    const auto other = new_places.find(key);
    if (other == new_places.end()) {
      print_alone("removed", before, place, key);
      continue;
    }
    const int a = static_cast<int>(place), b = static_cast<int>(other->second);
    const std::vector<std::string> changed =
        changed_fields(flat_fields(before.param.layer(a)), flat_fields(after.param.layer(b)));
    if (changed.empty()) continue;
    out << "changed " << shown(key) << ", " << before.source_of(a).where() << " and " << after.source_of(b).where()
        << '\n';
    differs = print_lines(out, changed, "    ");
  }
  for (const LayerKey& key : new_order) {
    if (!old_places.contains(key)) print_alone("added", after, new_places.at(key), key);
  }
  if (!reordered(old_order, new_order)) return differs;
  out << "the layers that both have come in another order\n";
  return true;
}

bool compare_solvers(std::ostream& out, const SolverDef& before, const SolverDef& after) {
  return print_lines(out, changed_fields(flat_fields(before.param), flat_fields(after.param)), "");
}

std::string dims_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "scalar" : text;
}

/// Legacy shapes have ones in front.
bool equal_shapes(const BlobData& a, const BlobData& b) { return same_shape(a, b.shape) || same_shape(b, a.shape); }

/// Arrays that differ, as rows of a table.
class ArrayTable {
 public:
  ArrayTable() {
    table_.add({"array", "shape", "numbers", "beyond epsilon", "largest difference", "at", "mean", "largest number"});
  }
  void compare(const std::string& name, const BlobData& a, const BlobData& b, double epsilon) {
    ++arrays_;
    if (!equal_shapes(a, b) || a.data.size() != b.data.size()) {
      table_.add({name, dims_text(a.shape) + " -> " + dims_text(b.shape)});
      ++differing_;
      return;
    }
    const ArrayDifference d = array_difference(a.data, b.data, epsilon);
    largest_ = std::max(largest_, d.largest);
    if (d.beyond == 0) return;
    ++differing_;
    table_.add(
        {name, dims_text(a.shape), str(d.count), str(d.beyond), str(d.largest), str(d.at), str(d.mean), str(d.scale)});
  }
  /// Returns whether any differs.
  bool print(std::ostream& out) const {
    if (differing_ > 0) table_.print(out, "    ");
    out << differing_ << " of " << counted(arrays_, "array") << " differ"
        << (differing_ > 0 || largest_ == 0 ? "" : str("; the largest difference within epsilon is ", largest_))
        << '\n';
    return differing_ > 0;
  }

 private:
  TextTable table_;
  int64_t arrays_ = 0, differing_ = 0;
  double largest_ = 0;
};

bool compare_weights(std::ostream& out, const WeightsFile& before, const WeightsFile& after, double epsilon) {
  const auto keyed = [](const WeightsFile& file) {
    return key_layers(file.layers.size(), [&](size_t i) { return file.layers[i].name; });
  };
  const auto [old_places, old_order] = keyed(before);
  const auto [new_places, new_order] = keyed(after);
  bool differs = false;
  const auto print_alone = [&](const char* what, const LayerWeights& layer, const LayerKey& key) {
    if (layer.blobs.empty()) return;  // formats differ in which of those they list
    out << what << ' ' << shown(key) << " with " << counted(static_cast<int64_t>(layer.blobs.size()), "array") << '\n';
    differs = true;
  };
  ArrayTable arrays;
  for (const LayerKey& key : old_order) {
    const LayerWeights& a = before.layers[old_places.at(key)];
    const auto other = new_places.find(key);
    if (other == new_places.end()) {
      print_alone("removed", a, key);
      continue;
    }
    const LayerWeights& b = after.layers[other->second];
    if (a.blobs.size() != b.blobs.size()) {
      out << "changed " << shown(key) << ": " << a.blobs.size() << " -> " << b.blobs.size() << " arrays\n";
      differs = true;
    }
    for (size_t i = 0; i < std::min(a.blobs.size(), b.blobs.size()); ++i) {
      arrays.compare(key.first + (key.second > 0 ? str("#", key.second + 1) : "") + str("[", i, "]"), a.blobs[i],
                     b.blobs[i], epsilon);
    }
  }
  for (const LayerKey& key : new_order) {
    if (!old_places.contains(key)) print_alone("added", after.layers[new_places.at(key)], key);
  }
  return arrays.print(out) || differs;
}

bool compare_states(std::ostream& out, const CaffeFile& before, const CaffeFile& after, double epsilon) {
  bool differs = print_lines(
      out, changed_fields(flat_fields(before.state, {"history"}), flat_fields(after.state, {"history"})), "");
  if (before.state.history_size() != after.state.history_size()) {
    out << "histories: " << before.state.history_size() << " -> " << after.state.history_size() << '\n';
    differs = true;
  }
  ArrayTable arrays;
  const int both = std::min(before.state.history_size(), after.state.history_size());
  for (int i = 0; i < both; ++i) {
    const auto read = [&](const CaffeFile& file) {
      try {
        return blob_from_proto(file.state.history(i));
      } catch (Error& error) {
        throw error.at(file.path);
      }
    };
    arrays.compare(str("history[", i, "]"), read(before), read(after), epsilon);
  }
  return arrays.print(out) || differs;
}

}  // namespace

bool print_file_differences(std::ostream& out, const std::string& before, const std::string& after,
                            const DiffOptions& options) {
  const CaffeFile a = read_caffe_file(before), b = read_caffe_file(after);
  if (a.kind != b.kind) {
    throw Error(ErrorKind::kUsage, str(before, " holds ", name_of(a.kind), ", ", after, " ", name_of(b.kind)),
                "compare two files of one kind");
  }
  bool differs = false;
  switch (a.kind) {
    case FileKind::kNet:
      differs = compare_nets(out, a.net, b.net);
      break;
    case FileKind::kSolver:
      differs = compare_solvers(out, a.solver, b.solver);
      break;
    case FileKind::kWeights:
      differs = compare_weights(out, a.weights, b.weights, options.epsilon);
      break;
    case FileKind::kState:
      differs = compare_states(out, a, b, options.epsilon);
      break;
  }
  if (!differs) out << "no difference: both hold " << name_of(a.kind) << '\n';
  return differs;
}

}  // namespace robusta
