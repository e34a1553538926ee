#include <iostream>

#include "app/commands/commands.h"
#include "app/commands/devices.h"
#include "app/commands/flags.h"
#include "app/commands/memory_flags.h"
#include "app/commands/subject.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/str.h"
#include "device/cpu/host_memory.h"
#include "device/gpus.h"
#include "device/sim/sim_device.h"
#include "net/planner/budget.h"
#include "net/planner/largest_batch.h"
#include "net/planner/out_of_memory.h"
#include "net/report.h"
#include "robusta/error.h"
#include "solver/update/update_rule.h"

namespace robusta {
namespace {

/// GPUs that are absent can be planned for: by their kernels, with the memory that -gpu_memory says.
std::shared_ptr<Device> absent_gpu() {
  constexpr size_t kUsualMemory = size_t{16} << 30;
  const size_t given = size_flag("gpu_memory", FLAGS_gpu_memory), memory = given > 0 ? given : kUsualMemory;
  const bool emulated = !kernel_candidates("Convolution", "emulated").empty();
  std::cout << "No GPU here: planned for one with " << bytes_text(memory)
            << (given > 0 ? "" : " (-gpu_memory SIZE asks about another)") << ", by the kernels "
            << (emulated ? "that GPUs run" : "of the CPU, whose sizes differ a little") << "\n";
  return std::make_shared<SimDevice>(memory, 0, emulated ? "emulated" : "cpu");
}

std::shared_ptr<Device> device_to_plan_for() {
  if (FLAGS_gpu.empty()) return {&cpu_device(), [](Device*) {}};
  try {
    if (gpus_supported() && !list_gpus().empty()) return device_from_flags();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage) throw;
  }
  return absent_gpu();
}

NetOptions options_for(const Subject& subject, Device& device, const MemoryOptions& memory, Tuner* tuner) {
  NetOptions options = net_options_from_flags(subject.phase, nullptr);
  options.device = &device;
  options.tuner = tuner;
  options.plan_only = true;
  options.data.synthesize_missing = true;
  options.backward = subject.phase == caffe::TRAIN && !FLAGS_forward_only;
  set_memory(options, memory);
  return options;
}

int64_t largest_batch_in(size_t bytes, const Subject& subject, const NetOptions& options, int histories) {
  const QuietLog quiet;  // the search builds many nets: their building lines would bury the answer
  return largest_batch(bytes, [&](int64_t batch) {
    NetOptions of_batch = options;
    of_batch.batch = batch;
    of_batch.tuner = nullptr;
    return memory_use(Net(subject.net, of_batch), histories).total();
  });
}

void print_largest_batch(const Subject& subject, const NetOptions& options, int histories) {
  if (!options.budget) {
    const size_t given = size_flag("memory", FLAGS_memory), memory = given > 0 ? given : available_host_memory();
    std::cout << "Largest batch that fits in " << (memory >> 20) << " MiB"
              << (given > 0 ? "" : " (available now; -memory SIZE asks about another machine)") << ": "
              << largest_batch_in(memory, subject, options, histories) << std::endl;
    return;
  }
  const std::string where = str("fits in ", options.budget->limit >> 20, " MiB (", options.budget->source, "): ");
  NetOptions resident = options, moving = options;
  resident.lms = {};
  moving.lms.mode = LmsOptions::Mode::kAuto;
  std::cout << "Largest batch that " << where << largest_fitting_batch(subject.net, resident)
            << "; with -lms auto: " << largest_fitting_batch(subject.net, moving) << std::endl;
}

}  // namespace

int plan_command() {
  size_flag("memory", FLAGS_memory);
  const std::shared_ptr<Device> device = device_to_plan_for();
  const MemoryOptions memory = memory_options_from_flags(*device, 1);
  const Subject subject = subject_from_flags("plan");
  const std::unique_ptr<RecordingTuner> tuner = tuner_from_flags();
  const int histories = make_update_rule(subject.solver)->histories();
  const NetOptions options = options_for(subject, *device, memory, tuner.get());
  if (memory.budget) memory.budget->histories = options.backward ? histories : 0;
  const Net net(subject.net, options);
  print_plan(std::cout, net, histories);
  if (!fits(net.plan())) std::cout << out_of_memory(net.graph(), net.plan(), options).what() << "\n";
  print_largest_batch(subject, options, histories);
  return 0;
}

}  // namespace robusta
