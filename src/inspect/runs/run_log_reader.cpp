// What kind a line is of, and which files of a folder are logs.

#include "inspect/runs/run_log_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/input_file.h"
#include "base/str.h"
#include "inspect/runs/line_cutter.h"
#include "inspect/runs/line_kinds.h"

namespace robusta {
namespace {

/// As far as they can be read.
void read_lines_of(const std::string& path, RunLogReader& reader) {
  const InputFile file = open_input_file(path, ErrorKind::kUsage);
  LineCutter lines;
  const auto read_line = [&](std::string_view line) { reader.read(line); };
  std::string block(1 << 20, '\0');
  while (true) {
    const ssize_t got = ::read(file.descriptor.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    lines.take(std::string_view(block).substr(0, static_cast<size_t>(got)), read_line);
  }
  lines.finish(read_line);
}

/// Those that say something.
void append_runs(std::vector<RunLog>& runs, RunLogReader& reader) {
  for (RunLog& run : reader.runs()) {
    if (!run.empty()) runs.push_back(std::move(run));
  }
}

}  // namespace

void RunLogReader::read(std::string_view line) {
  if (line.starts_with("{")) return JsonLines(so_far_).read(line);
  TextLines(so_far_).read(line);
}

std::vector<std::string> log_files_of(const std::string& path) {
  std::error_code no_folder;
  if (!std::filesystem::is_directory(path, no_folder)) return {path};
  std::vector<std::string> files;
  std::error_code problem;
  std::filesystem::directory_iterator entry(path, problem);
  for (; !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    static constexpr std::string_view kEndings[] = {".json", ".jsonl", ".log", ".txt"};
    const std::string ending = entry->path().extension().string();
    const bool is_log = std::find(std::begin(kEndings), std::end(kEndings), ending) != std::end(kEndings);
    std::error_code no_file;  // a link that leads nowhere, or to itself
    if (is_log && entry->is_regular_file(no_file)) files.push_back(entry->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<RunLog> read_runs(const std::string& path) {
  std::vector<RunLog> runs;
  std::error_code problem;
  const bool folder = std::filesystem::is_directory(path, problem);
  for (const std::string& file : log_files_of(path)) {
    RunLogReader reader(folder ? std::filesystem::path(file).lexically_relative(path).string() : file);
    read_lines_of(file, reader);
    append_runs(runs, reader);
  }
  if (runs.empty()) {
    throw NoRuns(ErrorKind::kUsage, path + " holds no log of a training",
                 folder ? "logs in folders end in .json, .jsonl, .log or .txt" : "give what -log_json or a log wrote");
  }
  return runs;
}

}  // namespace robusta
