/// One recorded case of the real Caffe and its replay. The format is described in the recordings' README.
#pragma once

#include <string>
#include <vector>

#include "net/net.h"
#include "support/golden_file.h"

namespace robusta::test {

/// How a case is replayed.
struct Mode {
  std::string name;
  std::string kernels;       ///< NetOptions::kernels
  Device* device = nullptr;  ///< null: the host
  double rel = 1e-5;         ///< bound of a single pass, as a share of an array's largest value
};

enum class Outcome { kPassed, kFailed, kUnsupported };

struct Result {
  Outcome outcome = Outcome::kPassed;
  std::string detail;  ///< the failures, or what is not supported
};

/// Bounds of the recordings' README: |got - want| <= rel * max|want| + abs.
struct Bounds {
  double rel = 1e-5, abs = 1e-6;
};

class Case {
 public:
  /// `name` without extension, in the current folder.
  Case(std::string name, const Mode& mode);

  const std::string& name() const { return name_; }
  std::string kind() const { return name_.substr(0, name_.find("__")); }
  const GoldenFile& arrays() const { return arrays_; }
  const std::vector<float>& values(const std::string& key) const { return arrays_.at(key).values; }
  bool has(const std::string& key) const { return arrays_.contains(key); }
  double number(const std::string& key) const { return arrays_.at(key).values.at(0); }
  /// The rest of the prototxt's comment line `# key: ...`, "" if there is none.
  std::string header(const std::string& key) const;
  /// The text of the case's prototxt.
  const std::string& text() const { return text_; }

  /// Within the mode's bounds, unless told.
  void compare(const std::string& key, const std::vector<float>& got) { compare(key, got, bounds_); }
  void compare(const std::string& key, const std::vector<float>& got, const Bounds& bounds);
  void compare_shape(const std::string& key, const Shape& got);
  void fail(const std::string& what) { failures_ += (failures_.empty() ? "" : "; ") + what; }
  Result result() const { return {failures_.empty() ? Outcome::kPassed : Outcome::kFailed, failures_}; }

 private:
  std::string name_, text_, failures_;
  GoldenFile arrays_;
  Bounds bounds_;
};

/// The layer type, source or solver outside what is built, "" if there is none.
std::string unsupported_part(const Case& golden);

/// The case's net in its phase, level and stages.
NetDef golden_net(const Case& golden);
NetOptions golden_options(const Case& golden, const Mode& mode);

Result replay_layer(const std::string& name, const Mode& mode);
Result replay_data(const std::string& name, const Mode& mode);
Result replay_net(const std::string& name, const Mode& mode);
Result replay_solver(const std::string& name, const Mode& mode);
Result replay_io(const std::string& name, const Mode& mode);

}  // namespace robusta::test
