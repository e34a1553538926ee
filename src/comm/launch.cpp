// A table of the variables that launchers set, and what follows from them.

#include "comm/launch.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/counted.h"
#include "base/str.h"
#include "robusta/error.h"

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

int number(const char* text) { return text ? std::atoi(text) : 0; }

/// The end of the JSON value that begins at `at` with a bracket; strings may hold brackets.
size_t end_of_value(const std::string& json, size_t at) {
  int depth = 0;
  bool in_string = false;
  for (; at < json.size(); ++at) {
    const char c = json[at];
    if (in_string && c == '\\') {
      ++at;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      ++depth;
    } else if (!in_string && (c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return json.size();
}

/// Strings inside the arrays of {"worker": ["host:port", ...], ...}.
int addresses_in(const std::string& cluster) {
  int count = 0, arrays = 0;
  for (size_t at = 0; at < cluster.size(); ++at) {
    if (cluster[at] == '[') ++arrays;
    if (cluster[at] == ']') --arrays;
    if (cluster[at] != '"') continue;
    if (arrays > 0) ++count;
    at = std::min(cluster.find('"', at + 1), cluster.size());
  }
  return count;
}

/// TensorFlow's {"cluster": {"chief": [...], "worker": [...], "ps": [...]}, "task": {"type": ..., "index": ...}}.
Launch launch_of_tf_config(const std::string& json) {
  const size_t key = json.find("\"cluster\""), open = key == std::string::npos ? key : json.find('{', key);
  if (open == std::string::npos) return {};
  const int ranks = addresses_in(json.substr(open, end_of_value(json, open) - open));
  const size_t index = json.find("\"index\""), colon = index == std::string::npos ? index : json.find(':', index);
  const int rank = colon == std::string::npos ? 0 : std::atoi(json.c_str() + colon + 1);
  return {.variable = "TF_CONFIG",
          .launcher = "what sets TensorFlow's TF_CONFIG",
          .value = json,
          .ranks = ranks,
          .rank = rank,
          .has_rendezvous = false};
}

bool is_step_task(const std::function<const char*(const char*)>& get) {
  return get("SLURM_PROCID") && (get("SLURM_STEP_ID") || get("SLURM_STEPID")) && get("SLURM_STEP_NUM_TASKS");
}

std::string how_to_start(int ranks) {
  return str("use the mpirun of the MPI that this program was built with (mpirun -n ", ranks,
             " caffe train ...), or srun --mpi=pmix -n ", ranks, " where Slurm and that MPI have PMIx");
}

/// 0: it cannot be read, as on other hosts than the first.
int filled_lines(const char* path) {
  std::ifstream file(path);
  int count = 0;
  for (std::string line; std::getline(file, line);) count += line.empty() ? 0 : 1;
  return count;
}

template <size_t kCount>
Launch find_sign(const Sign (&signs)[kCount], const std::function<const char*(const char*)>& get, bool has_rendezvous) {
  for (const Sign& sign : signs) {
    const char* value = get(sign.variable);
    if (!value) continue;
    return {.variable = sign.variable,
            .launcher = sign.launcher,
            .value = value,
            .ranks = number(get(sign.ranks)),
            .rank = number(get(sign.rank)),
            .has_rendezvous = has_rendezvous};
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
    const char* tasks = get("SLURM_STEP_NUM_TASKS");
    return {.variable = "SLURM_STEP_NUM_TASKS",
            .launcher = "srun without --mpi=pmix",
            .value = tasks,
            .ranks = number(tasks),
            .rank = number(get("SLURM_PROCID")),
            .has_rendezvous = false};
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
  if (const char* json = get("TF_CONFIG")) {
    if (const Launch launch = launch_of_tf_config(json); launch.ranks > 1) return launch;
  }
  const Launch foreign = find_sign(kForeignSigns, get, false);
  return foreign.ranks > 1 ? foreign : Launch{};
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

void check_launch(const Launch& launch, int world) {
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
