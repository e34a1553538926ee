// Names are taken apart as strictly as they are made: what a user calls nearly alike is left alone.
#include "solver/files/snapshot_names.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <regex>
#include <string_view>

#include "base/str.h"

namespace robusta {
namespace {

constexpr const char* kScore = "_score";

/// Nothing, or what score_text() makes.
bool are_scores(std::string_view text) {
  static const std::regex scores("(_score[0-9]+_[-+.0-9a-z]+)*");
  return std::regex_match(text.begin(), text.end(), scores);
}

}  // namespace

SnapshotPaths snapshot_paths(const std::string& prefix, int iter, const ModelFormat& format,
                             const std::string& scores) {
  const std::string stem = str(prefix, "_iter_", iter, scores);
  return {stem + format.model_ending(), stem + format.state_ending()};
}

std::string score_text(const std::vector<double>& scores) {
  constexpr size_t kMost = 5;
  std::string text;
  for (size_t i = 0; i < std::min(scores.size(), kMost); ++i) {
    text += str(kScore, i, '_', static_cast<float>(scores[i]));
  }
  return text;
}

std::string averaged_model(const std::string& model) {
  for (const ModelFormat* format : model_formats()) {
    const std::string ending = format->model_ending();
    if (model.ends_with(ending)) return model.substr(0, model.size() - ending.size()) + kAveraged + ending;
  }
  return model + kAveraged;
}

int snapshot_iteration(const std::string& file, const std::string& stem, const std::string& ending) {
  const std::string begin = stem + "_iter_";
  if (file.size() <= begin.size() + ending.size() || !file.starts_with(begin) || !file.ends_with(ending)) return -1;
  const char *first = file.data() + begin.size(), *last = file.data() + file.size() - ending.size();
  int iter = -1;
  const auto [stop, error] = std::from_chars(first, last, iter);
  return error == std::errc() && are_scores({stop, last}) ? iter : -1;
}

PrefixParts prefix_parts(const std::string& prefix) {
  const std::filesystem::path where(prefix);
  return {where.has_parent_path() ? where.parent_path().string() : ".", where.filename().string()};
}

}  // namespace robusta
