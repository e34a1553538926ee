// Arrays are taken while the pass goes on, because layers that work in place replace what was there.

#include "inspect/layer_dump.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>

#include "base/atomic_file.h"
#include "base/counted.h"
#include "base/excerpt.h"
#include "base/input_file.h"
#include "base/log.h"
#include "base/output_place.h"
#include "base/str.h"
#include "inspect/text_table.h"
#include "robusta/error.h"
#include "schema/blob_proto.h"

namespace robusta {
namespace {

namespace fs = std::filesystem;

/// A line for each array, in the order in which they were computed: the name of its file, a tab, and entry(). The files
/// are BlobProto messages in binary form, NNNNN_layer_what_blob.binaryproto.
constexpr char kIndex[] = "INDEX.txt";
constexpr char kParamValues[] = "parameter";

/// One array of a pass. `what` is "parameter", "top", "bottom gradient" or "parameter gradient".
struct DumpedArray {
  std::string what, layer, blob;
  std::vector<int64_t> shape;
  std::vector<float> values;

  /// What it is called in the index, behind the name of its file: words between tabs, so the names have none.
  std::string entry() const { return what + '\t' + excerpt(layer) + '\t' + excerpt(blob); }
};

using OnArray = std::function<void(DumpedArray&&)>;

Pass first_pass(const Net& net) {
  const auto batch = static_cast<uint64_t>(net.batch());
  return {.seed = net.options().seed, .first_sample = 0, .next_sample = batch, .batch = net.batch()};
}

void take_params(Net& net, const OnArray& on_array) {
  for (const ParamPtr& param : net.params()) {
    on_array({.what = kParamValues,
              .layer = param->layer,
              .blob = std::to_string(param->index),
              .shape = param->desc.shape.dims(),
              .values = net.blobs().read_param(*param)});
  }
}

void take_value(Net& net, const std::string& what, const Node& node, VersionId version, ValueId value,
                const OnArray& on_array) {
  if (!value) return;  // a fused kernel keeps it for itself, or there is no gradient
  const BlobVersion& blob = net.graph().versions[version];
  on_array({.what = what,
            .layer = node.layer->name(),
            .blob = blob.name,
            .shape = blob.shape.dims(),
            .values = net.diagnostics().read_value(value)});
}

/// What a layer has just computed: its tops, or after backward the gradients of its bottoms.
void take_results(Net& net, const Node& node, bool backward, const OnArray& on_array) {
  const Plan& plan = net.plan();
  // The tops of a Split are its bottom once more.
  if (!backward && node.layer->type() != "Split") {
    for (const VersionId top : node.tops) take_value(net, "top", node, top, plan.data[top], on_array);
  }
  for (size_t i = 0; backward && i < node.bottoms.size(); ++i) {
    const VersionId bottom = node.bottoms[i];
    if (node.bottom_grads[i]) take_value(net, "bottom gradient", node, bottom, plan.diff[bottom], on_array);
  }
}

/// Runs the pass and hands on every array, in the order in which they are computed.
void run_pass_with(Net& net, const OnArray& on_array) {
  net.diagnostics().set_layer_hook(
      [&](const Node& node, bool backward) { take_results(net, node, backward, on_array); });
  const Pass pass = first_pass(net);
  net.forward(pass);
  if (net.options().backward) net.backward(pass, false);
  net.diagnostics().set_layer_hook(nullptr);
  if (!net.options().backward) return;
  for (const ParamPtr& param : net.params()) {
    if (!param->learns || !param->diff) continue;
    on_array({.what = "parameter gradient",
              .layer = param->layer,
              .blob = std::to_string(param->index),
              .shape = param->desc.shape.dims(),
              .values = net.blobs().read_param_diff(*param)});
  }
}

/// Letters, digits and few signs of a name, for the name of a file.
std::string plain_name(const std::string& name) {
  constexpr size_t kMost = 60;
  std::string plain = name.substr(0, kMost);
  for (char& c : plain) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    if (!allowed) c = '_';
  }
  return plain;
}

/// The number alone makes it unique: names may be cut, or alike but for the signs that are replaced.
std::string file_name(int64_t number, const DumpedArray& array) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 5 ? 5 - digits.size() : 0, '0');
  return digits + "_" + plain_name(array.layer) + "_" + plain_name(array.what) + "_" + plain_name(array.blob);
}

void require_empty_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_output("cannot make the folder", folder, error.value());
  const bool empty = fs::is_empty(folder, error);
  if (error) fail_output("cannot write into", folder, error.value());
  if (!empty) {
    throw Error(ErrorKind::kOutput, folder + " is not empty", "remove what is there, or name another folder");
  }
}

void write_text(const std::string& path, const std::string& text) {
  write_file_atomically(path, [&](int fd) { write_all(fd, text.data(), text.size()); });
}

/// The files of a folder, by what their arrays are.
std::map<std::string, std::string> read_index(const std::string& folder) {
  const std::string path = folder + "/" + kIndex;
  std::istringstream lines(read_input_file(path, ErrorKind::kData));
  std::map<std::string, std::string> files;
  int64_t number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    const size_t tab = line.find('\t');
    // The index may come from elsewhere: no name of a file leads out of the folder.
    const std::string file = line.substr(0, tab);
    if (tab == std::string::npos || file.empty() || file[0] == '.' || file.find('/') != std::string::npos) {
      throw Error(ErrorKind::kData, "this is no line of collect's", "collect into a new folder")
          .at(str(path, ":", number));
    }
    files[line.substr(tab + 1)] = file;
  }
  return files;
}

struct DumpErrors {
  int64_t found = 0;
  double largest = 0;
  std::string listed;  ///< "place collected computed error" lines
};

/// Relative for numbers above 1, absolute below, where a relative error would be one of what rounding has left.
double error_between(float collected, float computed) {
  if (collected == computed || (std::isnan(collected) && std::isnan(computed))) return 0;
  const double error =
      std::fabs(static_cast<double>(collected) - computed) / std::max(1.0, std::fabs(static_cast<double>(collected)));
  return std::isnan(error) ? INFINITY : error;
}

DumpErrors errors_between(const std::vector<float>& collected, const std::vector<float>& computed,
                          const CompareOptions& options) {
  constexpr int64_t kMostListed = 10'000;
  const int64_t most = options.most_listed > 0 ? options.most_listed : kMostListed;
  DumpErrors errors;
  std::ostringstream listed;
  for (size_t i = 0; i < collected.size(); ++i) {
    const double error = error_between(collected[i], computed[i]);
    errors.largest = std::max(errors.largest, error);
    if (error <= options.epsilon) continue;
    if (++errors.found <= most) listed << i << ' ' << collected[i] << ' ' << computed[i] << ' ' << error << '\n';
    if (options.stop_there && errors.found >= most) break;
  }
  errors.listed = listed.str();
  return errors;
}

class PassComparison {
 public:
  PassComparison(const std::string& folder, const CompareOptions& options)
      : folder_(folder), options_(options), files_(read_index(folder)) {
    table_.add({"layer", "what", "blob", "numbers", "errors", "largest error"});
  }

  /// The collected parameters, so that both sides compute with the same.
  void give_params(Net& net) {
    for (const ParamPtr& param : net.params()) {
      const DumpedArray array{.what = kParamValues,
                              .layer = param->layer,
                              .blob = std::to_string(param->index),
                              .shape = param->desc.shape.dims(),
                              .values = {}};
      const auto file = files_.find(array.entry());
      if (file == files_.end()) {
        throw Error(ErrorKind::kData, str(folder_, " has no parameter ", param->index, " of this layer"),
                    "compare with a folder that was collected of this net")
            .in_layer(param->layer);
      }
      net.blobs().write_param(*param, read(file->second, array).data);
      files_.erase(file);
    }
  }

  void compare(const DumpedArray& array) {
    const auto file = files_.find(array.entry());
    if (file == files_.end()) {
      ++not_collected_;
      return;
    }
    const std::string name = file->second;
    const BlobData collected = read(name, array);
    files_.erase(file);
    ++compared_;
    const DumpErrors errors = errors_between(collected.data, array.values, options_);
    largest_ = std::max(largest_, errors.largest);
    if (errors.found == 0) return;
    ++differing_;
    table_.add({array.layer, array.what, array.blob, str(array.values.size()),
                str(options_.stop_there ? "at least " : "", errors.found), str(errors.largest)});
    if (!options_.output.empty()) list_errors(name, array, errors);
  }

  bool print(std::ostream& out) const {
    if (differing_ > 0) table_.print(out);
    out << differing_ << " of " << counted(compared_, "array") << " differ by more than " << options_.epsilon
        << "; the largest error is " << largest_ << '\n';
    if (differing_ > 0 && !options_.output.empty()) out << "lists of errors: " << options_.output << '\n';
    if (not_collected_ + static_cast<int64_t>(files_.size()) > 0) {
      out << "not compared: " << files_.size() << " that only " << folder_ << " has, " << not_collected_
          << " that only this pass has (a kernel for several layers keeps nothing between them)\n";
    }
    return differing_ > 0;
  }

 private:
  BlobData read(const std::string& file, const DumpedArray& array) const {
    const std::string path = folder_ + "/" + file;
    BlobData blob = read_array_file(path, "array that collect has written");
    if (blob.shape == array.shape) return blob;
    throw Error(ErrorKind::kData,
                str("its shape is ", Shape(blob.shape).str(), ", in this net it is ", Shape(array.shape).str()),
                "compare with a folder that was collected of this net")
        .in_layer(array.layer)
        .at(path);
  }

  void list_errors(const std::string& name, const DumpedArray& array, const DumpErrors& errors) {
    // With the first difference: a pass without any leaves no folder behind.
    if (differing_ == 1) require_empty_folder(options_.output);
    const fs::path stem = fs::path(name).stem();
    write_text(options_.output + "/" + stem.string() + ".txt",
               "# " + array.entry() + "\n# place collected computed error\n" + errors.listed);
  }

  std::string folder_;
  const CompareOptions& options_;
  std::map<std::string, std::string> files_;  // by entry; what is left in the end was collected alone
  TextTable table_;
  int64_t compared_ = 0, differing_ = 0, not_collected_ = 0;
  double largest_ = 0;
};

}  // namespace

int64_t collect_pass(Net& net, const std::string& folder) {
  require_empty_folder(folder);
  std::string index;
  int64_t count = 0;
  const auto write = [&](DumpedArray&& array) {
    const std::string name = file_name(count++, array) + ".binaryproto";
    caffe::BlobProto proto;
    blob_to_proto(array.shape, array.values.data(), &proto);
    write_binary_proto(folder + "/" + name, proto);
    index += name + '\t' + array.entry() + '\n';
  };
  take_params(net, write);
  run_pass_with(net, write);
  write_text(folder + "/" + kIndex, index);
  return count;
}

bool compare_pass(Net& net, const std::string& folder, const CompareOptions& options, std::ostream& out) {
  PassComparison comparison(folder, options);
  comparison.give_params(net);
  run_pass_with(net, [&](DumpedArray&& array) { comparison.compare(array); });
  return comparison.print(out);
}

}  // namespace robusta
