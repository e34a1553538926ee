// The Python program is part of this one, so that it is found wherever this one is installed.

#include "exchange/onnx/check_model.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/atomic_file.h"
#include "base/input_file.h"
#include "base/philox.h"
#include "base/str.h"
#include "robusta/error.h"

extern char** environ;

namespace robusta {
namespace {

constexpr auto kPatience = std::chrono::minutes(15);

/// Prints for each output its largest difference and its largest value. Python looks for modules in the working folder
/// first, whose files may be a stranger's; python -P is newer than 3.9, and -I passes over modules of the user's own.
constexpr char kCheckScript[] = R"(
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import numpy
import onnxruntime
print("ready", flush=True)
model, folder = sys.argv[1:3]
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
feeds = {value.name: numpy.load(f"{folder}/input_{i}.npy") for i, value in enumerate(session.get_inputs())}
for i, got in enumerate(session.run(None, feeds)):
    want = numpy.load(f"{folder}/output_{i}.npy")
    if got.shape != want.shape:
        print(f"output {i} has shape {got.shape}, and {want.shape} in the net", file=sys.stderr)
        sys.exit(4)
    got, want = got.astype(numpy.float64), want.astype(numpy.float64)
    same = (got == want) | (numpy.isnan(got) & numpy.isnan(want))
    difference = numpy.where(same, 0, numpy.abs(got - want))
    print(i, float(difference.max(initial=0)), float(numpy.abs(want[numpy.isfinite(want)]).max(initial=0)))
)";

class CheckFolder {
 public:
  CheckFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "robusta_onnx_XXXXXX").string();
    if (!::mkdtemp(name.data())) {
      throw Error(ErrorKind::kOutput, str("cannot make a folder: ", std::strerror(errno)), "set TMPDIR").at(name);
    }
    path_ = name;
  }
  ~CheckFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  CheckFolder(const CheckFolder&) = delete;
  CheckFolder& operator=(const CheckFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// NumPy's format, version 1.0 (numpy/lib/format.py): magic, length of the header, a header of a multiple of 64 bytes.
void write_npy(const std::string& path, const Shape& shape, const std::vector<float>& values) {
  std::string dims;
  for (const int64_t dim : shape.dims()) dims += str(dim, ", ");
  std::string header = str("{'descr': '<f4', 'fortran_order': False, 'shape': (", dims, "), }");
  constexpr size_t kBefore = 10, kAlignment = 64;
  header.resize((kBefore + header.size() + kAlignment) / kAlignment * kAlignment - kBefore, ' ');
  header.back() = '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string start("\x93NUMPY\x01\x00", 8);
  start.append(reinterpret_cast<const char*>(&length), sizeof length);
  write_file_atomically(path, [&](int fd) {
    write_all(fd, start.data(), start.size());
    write_all(fd, header.data(), header.size());
    write_all(fd, values.data(), values.size() * sizeof(float));
  });
}

/// Uniform between -1 and 1, the same every time.
std::vector<float> test_numbers(int64_t count, uint64_t key) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    const PhiloxBlock words = philox(key, 0, i / 4);
    values[i] = static_cast<float>(words[i % 4] >> 8) * 0x1.0p-23f - 1;
  }
  return values;
}

/// What all inputs hold; zeros where they have to be ids or regions, which numbers of any kind are not.
bool run_with_test_numbers(Net& net, const std::vector<std::string>& inputs, bool zeros, std::string& problem) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t count = net.blobs().shape(inputs[i]).count();
    net.blobs().write(inputs[i],
                      zeros ? std::vector<float>(static_cast<size_t>(count), 0.0f) : test_numbers(count, i + 1));
  }
  try {
    net.forward({.batch = net.batch()});
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    problem = error.what();
    return false;
  }
}

void write_check_arrays(Net& net, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                        bool zeros, const CheckFolder& folder) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape shape = net.blobs().shape(inputs[i]);
    const std::vector<float> values =
        zeros ? std::vector<float>(static_cast<size_t>(shape.count()), 0.0f) : test_numbers(shape.count(), i + 1);
    write_npy(folder / str("input_", i, ".npy"), shape, values);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    write_npy(folder / str("output_", i, ".npy"), net.blobs().shape(outputs[i]), net.blobs().read(outputs[i]));
  }
}

/// What it returns, -1 where it cannot be started or was ended by a signal.
int run_python(const std::string& python, std::vector<std::string> words, const CheckFolder& folder) {
  words.insert(words.begin(), {python, "-c", kCheckScript});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string out = folder / "out", err = folder / "err";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  pid_t child = 0;
  const int problem = ::posix_spawnp(&child, python.c_str(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (problem != 0) return -1;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  for (pid_t ended = 0; ended != child; std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
    ended = ::waitpid(child, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) return -1;
    if (ended == 0 && std::chrono::steady_clock::now() > end) ::kill(child, SIGKILL);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string check_output(const std::string& path) {
  return std::filesystem::exists(path) ? read_input_file(path, ErrorKind::kInternal) : "";
}

std::string last_line_of(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

ModelCheck check_not_run(const std::string& why_not) { return {.ran = false, .why_not = why_not, .outputs = {}}; }

}  // namespace

double OutputDifference::share() const {
  constexpr double kSmallValue = 1e-3;
  return largest_difference / std::max(largest_value, kSmallValue);
}

ModelCheck check_model(const std::string& path, const std::string& python, Net& net,
                       const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  const CheckFolder folder;
  std::string problem;
  bool zeros = false;
  if (!run_with_test_numbers(net, inputs, false, problem)) {
    zeros = true;
    if (!run_with_test_numbers(net, inputs, true, problem))
      return check_not_run("the net refuses made-up inputs: " + problem);
  }
  write_check_arrays(net, inputs, outputs, zeros, folder);
  const int code = run_python(python, {path, folder.path()}, folder);
  std::istringstream lines(check_output(folder / "out"));
  std::string ready;
  if (!(lines >> ready) || ready != "ready") {
    const std::string said = last_line_of(check_output(folder / "err"));
    return check_not_run(str(python, " has no onnxruntime", said.empty() ? "" : " (" + said + ")",
                             "; try: python3 -m venv E && E/bin/pip install onnxruntime, then -check E/bin/python"));
  }
  if (code != 0) {
    throw Error(ErrorKind::kInternal, "onnxruntime refuses the model: " + last_line_of(check_output(folder / "err")),
                "please report it, with the net")
        .at(path);
  }
  ModelCheck check{.ran = true, .why_not = "", .outputs = {}};
  size_t output = 0;
  for (std::string difference, value; lines >> output >> difference >> value && output < outputs.size();) {
    check.outputs.push_back(
        {outputs[output], std::strtod(difference.c_str(), nullptr), std::strtod(value.c_str(), nullptr)});
  }
  if (check.outputs.size() != outputs.size())
    throw Error(ErrorKind::kInternal, "the check by onnxruntime says nothing of some outputs").at(path);
  return check;
}

}  // namespace robusta
