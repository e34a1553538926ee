// What kind a line is of, and which files of a folder are logs.

#include "inspect/runs/run_log_reader.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/input_file.h"
#include "base/str.h"
#include "inspect/runs/line_kinds.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr size_t kLongestLine = 32 << 20;  // an event may hold pictures; what is longer is no line of a log

void read_lines_of(const std::string& path, RunLogReader& reader) {
  open_input_file(path, ErrorKind::kUsage);
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.size() <= kLongestLine) reader.read(line);
  }
}

/// Those that say something.
void append_runs(std::vector<RunLog>& runs, RunLogReader& reader) {
  for (RunLog& run : reader.runs()) {
    if (!run.empty()) runs.push_back(std::move(run));
  }
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    static constexpr std::string_view kEndings[] = {".json", ".jsonl", ".log", ".txt"};
    const std::string ending = entry.path().extension().string();
    const bool is_log = std::find(std::begin(kEndings), std::end(kEndings), ending) != std::end(kEndings);
    if (entry.is_regular_file() && is_log) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

void RunLogReader::read(std::string_view line) {
  if (line.starts_with("{")) return JsonLines(so_far_).read(line);
  TextLines(so_far_).read(line);
}

std::vector<RunLog> read_runs(const std::string& path) {
  std::vector<RunLog> runs;
  std::error_code problem;
  const bool folder = std::filesystem::is_directory(path, problem);
  for (const std::string& file : folder ? files_of(path) : std::vector<std::string>{path}) {
    RunLogReader reader(folder ? std::filesystem::path(file).lexically_relative(path).string() : file);
    read_lines_of(file, reader);
    append_runs(runs, reader);
  }
  if (runs.empty()) {
    throw Error(ErrorKind::kUsage, path + " holds no log of a training",
                folder ? "logs in folders end in .json, .jsonl, .log or .txt" : "give what -log_json or a log wrote");
  }
  return runs;
}

}  // namespace robusta
