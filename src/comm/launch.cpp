// A table of the variables that launchers set, and what follows from them.

#include "comm/launch.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include "base/counted.h"
#include "base/input_file.h"
#include "base/str.h"
#include "robusta/error.h"
#include "tf_config.pb.h"

namespace robusta {
namespace {

struct Sign {
  const char* variable;
  const char* ranks;  ///< the variable that tells their number
  const char* rank;   ///< the one that tells which of them this is
  const char* launcher;
};

/// In this order: a launcher that runs inside a Slurm or PBS job inherits what those set. srun's variables are also in
/// the environment of a batch script, which is one process; a step has SLURM_STEP_NUM_TASKS beside them.
constexpr Sign kSigns[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpirun"},
    {"PMI_RANK", "PMI_SIZE", "PMI_RANK", "an mpirun or srun of the PMI family (MPICH, Intel MPI)"},
    {"PMI_SIZE", "PMI_SIZE", "PMI_RANK", "an mpirun or srun of the PMI family (MPICH, Intel MPI)"},
    {"JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", "jsrun"},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "PMIX_RANK", "srun --mpi=pmix"},
};

/// Launchers of other frameworks, whose processes find each other without MPI. They count where no launcher of MPI is
/// found: mpirun may run inside what they started.
constexpr Sign kForeignSigns[] = {
    {"HOROVOD_SIZE", "HOROVOD_SIZE", "HOROVOD_RANK", "horovodrun"},
    {"WORLD_SIZE", "WORLD_SIZE", "RANK", "torchrun, or what sets the variables of torch.distributed,"},
    {"DMLC_NUM_WORKER", "DMLC_NUM_WORKER", "DMLC_WORKER_ID", "MXNet's launcher"},
};

constexpr int kMost = 1 << 24;  // ranks of any cluster, and above the numbers of ports

/// From 0 on; -1: this is no such number. 0 for null and for a variable that is set to nothing.
int number(const char* text) {
  if (!text || !*text) return 0;
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  return error == std::errc{} && stop == end && value >= 0 && value <= kMost ? value : -1;
}

/// The variable's number, 0 where it is not told. One that is none becomes the launch's defect.
int told(const std::function<const char*(const char*)>& get, const char* variable, Launch& launch) {
  const int value = number(get(variable));
  if (value < 0) launch.defect = str(variable, "=", get(variable));
  return std::max(value, 0);
}

/// Where rank 0 listens, as "host:port".
void set_meeting(Launch& launch, const std::string& place) {
  const size_t colon = place.rfind(':');
  if (colon == std::string::npos || colon == 0) return;
  const int port = number(place.c_str() + colon + 1);
  if (port < 1 || port > 65535) return;
  launch.meeting_host = place.substr(0, colon);
  launch.meeting_port = static_cast<uint16_t>(port);
}

/// The ranks of TF_CONFIG (tf_config.proto) are its processes in the order of MultiWorkerMirroredStrategy, the chief
/// first. An evaluator is none of them, and parameter servers are the last.
Launch launch_of_tf_config(const std::string& json) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  tf_config::TfConfig config;
  if (!google::protobuf::util::JsonStringToMessage(json, &config, options).ok()) {
    return {.variable = "TF_CONFIG", .defect = json.empty() ? "" : str("TF_CONFIG=", json)};
  }
  const tf_config::Cluster& cluster = config.cluster();
  const tf_config::Task& task = config.task();
  Launch launch{.variable = "TF_CONFIG", .launcher = "what sets TensorFlow's TF_CONFIG", .value = json};
  std::vector<std::string> ranks;
  bool is_rank = false;
  const auto add = [&](const char* job, const auto& addresses) {
    const bool is_one = task.type() == job && task.index() >= 0 && task.index() < addresses.size();
    if (is_one) launch.rank = static_cast<int>(ranks.size()) + task.index(), is_rank = true;
    ranks.insert(ranks.end(), addresses.begin(), addresses.end());
  };
  add("chief", cluster.chief());
  add("master", cluster.master());
  add("worker", cluster.worker());
  add("ps", cluster.ps());
  if (task.type() == "evaluator") {
    launch.evaluates = true;
    return launch;
  }
  launch.ranks = static_cast<int>(ranks.size());
  launch.servers = cluster.ps_size();
  if (is_rank && launch.servers < launch.ranks) set_meeting(launch, ranks.front());
  return launch;
}

/// What torchrun and others set for torch.distributed. torchrun's own process listens at MASTER_PORT, and its ranks
/// meet behind that port.
void set_torch_meeting(Launch& launch, const std::function<const char*(const char*)>& get) {
  const char *host = get("MASTER_ADDR"), *port = get("MASTER_PORT"), *agent = get("TORCHELASTIC_USE_AGENT_STORE");
  if (!host || !port || !get("RANK")) return;
  const bool taken = agent && std::string(agent) == "True";
  set_meeting(launch, str(host, ":", number(port) + (taken ? 1 : 0)));
}

bool is_step_task(const std::function<const char*(const char*)>& get) {
  return get("SLURM_PROCID") && (get("SLURM_STEP_ID") || get("SLURM_STEPID")) && get("SLURM_STEP_NUM_TASKS");
}

std::string how_to_start(int ranks) {
  return str("use the mpirun of the MPI that this program was built with (mpirun -n ", ranks,
             " caffe train ...), or srun --mpi=pmix -n ", ranks, " where Slurm and that MPI have PMIx");
}

/// 0: it cannot be read, as on other hosts than the first, or is no file.
int filled_lines(const char* path) {
  try {
    std::istringstream file(read_input_file(path, ErrorKind::kUsage));
    int count = 0;
    for (std::string line; std::getline(file, line);) count += line.empty() ? 0 : 1;
    return count;
  } catch (const Error&) {
    return 0;
  }
}

template <size_t kCount>
Launch find_sign(const Sign (&signs)[kCount], const std::function<const char*(const char*)>& get, bool has_rendezvous) {
  for (const Sign& sign : signs) {
    const char* value = get(sign.variable);
    if (!value) continue;
    Launch launch{
        .variable = sign.variable, .launcher = sign.launcher, .value = value, .has_rendezvous = has_rendezvous};
    launch.ranks = told(get, sign.ranks, launch);
    launch.rank = told(get, sign.rank, launch);
    return launch;
  }
  return {};
}

/// To train alone on purpose.
std::string without(const Launch& launch) {
  return str("; to train alone, take the variable away: env -u ", launch.variable, " caffe train ...");
}

}  // namespace

Launch find_launch(const std::function<const char*(const char*)>& get) {
  if (const Launch launch = find_sign(kSigns, get, true); !launch.variable.empty()) return launch;
  if (is_step_task(get)) {
    Launch launch{.variable = "SLURM_STEP_NUM_TASKS",
                  .launcher = "srun without --mpi=pmix",
                  .value = get("SLURM_STEP_NUM_TASKS")};
    launch.ranks = told(get, "SLURM_STEP_NUM_TASKS", launch);
    launch.rank = told(get, "SLURM_PROCID", launch);
    return launch;
  }
  // pbsdsh numbers its tasks from 2 on; the job's script is task 1.
  if (const char* task = get("PBS_TASKNUM"); number(task) > 1) {
    return {.variable = "PBS_TASKNUM",
            .launcher = "pbsdsh",
            .value = task,
            .ranks = number(task),
            .rank = number(task) - 1,
            .has_rendezvous = false};
  }
  Launch foreign;
  if (const char* json = get("TF_CONFIG")) foreign = launch_of_tf_config(json);
  if (foreign.evaluates) return foreign;
  if (foreign.ranks <= 1 && foreign.defect.empty()) {
    foreign = find_sign(kForeignSigns, get, false);
    if (foreign.variable == "WORLD_SIZE") set_torch_meeting(foreign, get);
  }
  if (foreign.ranks <= 1 && foreign.defect.empty()) return {};
  if (const char* port = get("ROBUSTA_PORT"); port && !foreign.meeting_host.empty()) {
    set_meeting(foreign, str(foreign.meeting_host, ":", port));
  }
  return foreign;
}

Launch own_launch() {
  return find_launch([](const char* name) -> const char* { return std::getenv(name); });
}

Grant find_grant(const std::function<const char*(const char*)>& get) {
  if (const int tasks = number(get("SLURM_NTASKS")); tasks > 0) {
    return {str("Slurm granted ", counted(tasks, "task"), " (SLURM_NTASKS=", tasks, ")"), tasks};
  }
  const char* path = get("PBS_NODEFILE");
  const int slots = path ? filled_lines(path) : 0;
  if (slots == 0) return {};
  return {str("PBS granted ", counted(slots, "slot"), " (the lines of PBS_NODEFILE=", path, ")"), slots};
}

void check_told(const Launch& launch) {
  if (launch.defect.empty()) return;
  throw Error(ErrorKind::kCommunication,
              launch.defect + " does not say how many processes were started, or which this is",
              "correct it, or take it away to train alone: env -u " + launch.defect.substr(0, launch.defect.find('=')) +
                  " caffe train ...");
}

void check_launch(const Launch& launch, int world) {
  check_told(launch);
  const int least = std::max(launch.ranks, launch.rank + 1);  // where the number is not told, the rank tells some
  if (least <= 1 && world <= 1) return;
  if (launch.ranks == world || (launch.ranks == 0 && launch.has_rendezvous && least <= world)) return;
  const std::string announced = str(launch.launcher, " started ", least, least == 1 ? " process (" : " processes (",
                                    launch.variable, "=", launch.value, ")");
  if (world == 0) {
    throw Error(ErrorKind::kCommunication, announced + ", and this build has no MPI: each would train alone",
                "build with -DROBUSTA_MPI=ON, or start one process" + without(launch));
  }
  if (world == 1) {
    throw Error(ErrorKind::kCommunication, announced + ", and they do not find each other: each would train alone",
                how_to_start(least) + without(launch));
  }
  throw Error(ErrorKind::kCommunication, str(announced, ", but MPI has ", world, " ranks"), how_to_start(least));
}

}  // namespace robusta
