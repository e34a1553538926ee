// caffe plan: what would run, without running it, also for a GPU that is not there.

#include <iostream>

#include "app/commands/commands.h"
#include "app/setup/chosen_net.h"
#include "app/setup/devices.h"
#include "app/setup/net_setup.h"
#include "app/setup/planned_cuts.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/str.h"
#include "device/cpu/host_memory.h"
#include "device/described/gpu_rates.h"
#include "device/gpus.h"
#include "device/sim/sim_device.h"
#include "net/planner/budget.h"
#include "net/planner/largest_batch.h"
#include "net/planner/out_of_memory.h"
#include "net/report.h"
#include "net/traffic/plan_traffic.h"
#include "robusta/error.h"
#include "solver/ranks/sums/gradient_sum.h"
#include "solver/update/update_traffic.h"
#include "solver/update/updater.h"

namespace robusta {
namespace {

/// GPUs that are absent can be planned for: by their kernels, with the memory that -gpu_memory says.
std::shared_ptr<Device> absent_gpu(const Options& options) {
  constexpr size_t kUsualMemory = size_t{16} << 30;
  const size_t given = size_flag(options.gpu_memory), memory = given > 0 ? given : kUsualMemory;
  const bool emulated = !kernel_candidates("Convolution", "emulated").empty();
  std::cout << "No GPU here: planned for one with " << bytes_text(memory)
            << (given > 0 ? "" : " (-gpu_memory SIZE asks about another)") << ", by the kernels "
            << (emulated ? "that GPUs run" : "of the CPU, whose sizes differ a little") << "\n";
  return std::make_shared<SimDevice>(memory, 0, emulated ? "emulated" : "cpu");
}

/// One that is only described, whether a GPU is there or not: with the memory that it has.
std::shared_ptr<Device> described_gpu(const Options& options) {
  const GpuRates& gpu = gpu_rates(options.traffic());
  if (options.gpu().empty()) throw Error(ErrorKind::kUsage, "-traffic is a question about a GPU", "add -gpu 0");
  const size_t given = size_flag(options.gpu_memory), memory = given > 0 ? given : gpu.memory_bytes;
  std::cout << "Planned for " << gpu.name << " with " << bytes_text(memory) << ", by the kernels that GPUs run\n";
  return std::make_shared<DescribedGpu>(memory);
}

std::shared_ptr<Device> device_to_plan_for(const Options& options, Ranks& alone) {
  if (options.traffic.given()) return described_gpu(options);
  if (options.gpu().empty()) return {&cpu_device(), [](Device*) {}};
  try {
    if (gpus_supported() && !list_gpus().empty()) return DeviceChoice(options).open(alone);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage) throw;
  }
  return absent_gpu(options);
}

int64_t largest_batch_in(size_t bytes, const ChosenNet& chosen, const NetOptions& options, const UpdateArrays& update) {
  const QuietLog quiet;  // the search builds many nets: their building lines would bury the answer
  return largest_batch(bytes, [&](int64_t batch) {
    NetOptions of_batch = options;
    of_batch.batch = batch;
    of_batch.tuner = nullptr;
    return memory_use(Net(chosen.net, of_batch), update).total();
  });
}

void print_largest_batch(const Flag<std::string>& memory_flag, const ChosenNet& chosen, const NetOptions& options,
                         const UpdateArrays& update) {
  const size_t given = size_flag(memory_flag);
  if (!options.budget || (given > 0 && options.device->is_host())) {
    const size_t memory = given > 0 ? given : available_host_memory();
    const int64_t largest = largest_batch_in(memory, chosen, options, update);  // throws where the batch is fixed
    std::cout << "Largest batch that fits in " << (memory >> 20) << " MiB"
              << (given > 0 ? "" : " (available now; -memory SIZE asks about another machine)") << ": " << largest
              << std::endl;
    return;
  }
  const std::string where = str("fits in ", options.budget->limit >> 20, " MiB (", options.budget->source, "): ");
  NetOptions resident = options, moving = options;
  resident.lms = {};
  if (options.device->is_host()) {
    std::cout << "Largest batch that " << where << largest_fitting_batch(chosen.net, resident) << std::endl;
    return;
  }
  moving.lms.mode = LmsOptions::Mode::kAuto;
  const int64_t all_resident = largest_fitting_batch(chosen.net, resident);
  const int64_t some_moving = largest_fitting_batch(chosen.net, moving);
  std::cout << "Largest batch that " << where << all_resident << "; with -lms auto: " << some_moving << std::endl;
}

/// Of one of so many ranks with these options.
UpdateArrays update_on(const Options& options, const SolverDef& solver, const Device& device) {
  if (options.ranks() < 1) {
    throw Error(ErrorKind::kUsage, str("-ranks ", options.ranks(), " is no number of ranks"), "give 1 or more");
  }
  const DdlOptions ddl = parse_ddl_options(options.ddl());
  UpdateArrays arrays = update_arrays(solver, sharers_of_states(ddl, options.ranks()));
  if (device.is_host()) arrays.per_parameter += arrays_of_slow_momentum(ddl);
  return arrays;
}

void tell_traffic(Net& net, const SolverDef& solver, const Options& options) {
  const GpuRates& gpu = gpu_rates(options.traffic());
  TrafficCounter counter(KernelTimes(gpu, net.options().device->math().tf32));
  PlanTraffic traffic = count_passes(net, counter);
  const bool trains = net.plan().backward_begin < net.plan().steps.end_id();
  if (trains) traffic.update = count_update(net, solver, counter);
  print_traffic(std::cout, net, gpu, traffic);
}

/// The net itself has been planned: what refuses another batch is a layer that says sizes, such as a Reshape.
void print_fixed_batch(const Error& error) {
  std::cout << "Largest batch: the net fixes its batch, for with another one this holds: " << error.what() << std::endl;
}

}  // namespace

int plan_command(const Options& options) {
  size_flag(options.memory);
  Ranks alone(DdlOptions{});
  const NetSetup setup = set_up_nets(options, alone, device_to_plan_for(options, alone));
  const ChosenNet chosen = choose_net(options, "plan");
  NetOptions net_options = setup.net_options(options, chosen.phase);
  net_options.plan_only = true;
  net_options.data.synthesize_missing = true;
  net_options.backward = chosen.phase == caffe::TRAIN && !options.forward_only();
  net_options.skip_unread = true;
  net_options.ranks = options.ranks();
  if (options.ranks() > 1) net_options.gradient_buckets = gradients_that_share_memory(parse_ddl_options(options.ddl()));
  const UpdateArrays update = update_on(options, chosen.solver, *net_options.device);
  if (net_options.budget && net_options.backward) net_options.budget->update = update;
  PlannedCuts cuts(options, chosen, net_options, std::cout);
  net_options.model_groups = cuts.groups();
  Net net(chosen.net, net_options);
  print_plan(std::cout, net, update);
  if (options.traffic.given()) tell_traffic(net, chosen.solver, options);
  cuts.describe(net, std::cout);
  if (!fits(net.plan())) std::cout << out_of_memory(net.graph(), net.plan(), net_options).what() << "\n";
  try {
    print_largest_batch(options.memory, chosen, net_options, update);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kConfig) throw;
    print_fixed_batch(error);
  }
  return 0;
}

}  // namespace robusta
