#include "golden/case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "base/str.h"
#include "layers/kit/layer.h"
#include "schema/filter.h"
#include "schema/read_text.h"
#include "schema/splits.h"
#include "support/files.h"

namespace robusta::test {

Case::Case(std::string name, const Mode& mode) : name_(std::move(name)), bounds_{.rel = mode.rel} {
  if (std::filesystem::exists(name_ + ".bin")) arrays_ = read_golden(name_ + ".bin");
  if (std::filesystem::exists(name_ + ".prototxt")) text_ = read_file(name_ + ".prototxt");
}

std::string Case::header(const std::string& key) const {
  std::istringstream lines(text_);
  const std::string start = "# " + key + ": ";
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(start, 0) == 0) return line.substr(start.size());
  }
  return "";
}

void Case::compare(const std::string& key, const std::vector<float>& got, const Bounds& bounds) {
  const std::vector<float>& want = values(key);
  if (got.size() != want.size()) return fail(str(key, " has ", got.size(), " values, want ", want.size()));
  double scale = 0, worst = 0;
  for (float w : want) scale = std::max(scale, std::fabs(static_cast<double>(w)));
  for (size_t i = 0; i < want.size(); ++i) {
    const double error = std::fabs(static_cast<double>(got[i]) - want[i]);
    worst = error <= worst ? worst : error;  // a NaN counts as worst
  }
  if (!(worst <= bounds.rel * scale + bounds.abs)) fail(str(key, " is off by ", worst, " (largest ", scale, ")"));
}

void Case::compare_shape(const std::string& key, const Shape& got) {
  if (got.dims() != arrays_.at(key).dims) {
    fail(str(key, " has shape ", got.str(), ", want ", Shape(arrays_.at(key).dims).str()));
  }
}

NetDef golden_net(const Case& golden) {
  caffe::NetState state;
  const bool test = golden.has("phase") ? golden.number("phase") != 0 : golden.header("phase") != "TRAIN";
  state.set_phase(test ? caffe::TEST : caffe::TRAIN);
  if (const std::string level = golden.header("level"); !level.empty()) state.set_level(std::stoi(level));
  std::istringstream stages(golden.header("stages"));
  for (std::string stage; std::getline(stages, stage, ',');) state.add_stage(stage);
  return insert_splits(filter_net(read_net(golden.name() + ".prototxt"), state));
}

NetOptions golden_options(const Case& golden, const Mode& mode) {
  NetOptions options;
  const bool test = golden.has("phase") ? golden.number("phase") != 0 : golden.header("phase") != "TRAIN";
  options.phase = test ? caffe::TEST : caffe::TRAIN;
  options.kernels = mode.kernels;
  options.keep_blobs = true;
  if (mode.device) options.device = mode.device;
  return options;
}

std::string unsupported_part(const Case& golden) {
  if (golden.text().empty()) return "";
  const std::vector<std::string> known = layer_types();
  const NetDef net = read_net(golden.name() + ".prototxt");
  for (const caffe::LayerParameter& layer : net.param.layer()) {
    if (std::find(known.begin(), known.end(), layer.type()) == known.end()) return "layer type " + layer.type();
  }
  return "";
}

}  // namespace robusta::test
