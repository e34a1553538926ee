#include "comm/launch.h"

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
  bool can_meet;
};

/// In this order: a launcher that runs inside a Slurm or PBS job inherits what those set. srun's variables are also in
/// the environment of a batch script, which is one process; a step has SLURM_STEP_NUM_TASKS beside them.
constexpr Sign kSigns[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpirun", true},
    {"PMI_RANK", "PMI_SIZE", "PMI_RANK", "an mpirun or srun of the PMI family (MPICH, Intel MPI)", true},
    {"PMI_SIZE", "PMI_SIZE", "PMI_RANK", "an mpirun or srun of the PMI family (MPICH, Intel MPI)", true},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "PMIX_RANK", "srun --mpi=pmix", true},
};

int number(const char* text) { return text ? std::atoi(text) : 0; }

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

}  // namespace

Launch find_launch(const std::function<const char*(const char*)>& get) {
  for (const Sign& sign : kSigns) {
    if (const char* value = get(sign.variable)) {
      return {sign.variable, sign.launcher, value, number(get(sign.ranks)), number(get(sign.rank)), sign.can_meet};
    }
  }
  if (is_step_task(get)) {
    const char* tasks = get("SLURM_STEP_NUM_TASKS");
    return {"SLURM_STEP_NUM_TASKS", "srun without --mpi=pmix",   tasks,
            number(tasks),          number(get("SLURM_PROCID")), false};
  }
  // pbsdsh numbers its tasks from 2 on; the job's script is task 1.
  if (const char* task = get("PBS_TASKNUM"); number(task) > 1) {
    return {"PBS_TASKNUM", "pbsdsh", task, number(task), number(task) - 1, false};
  }
  return {};
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
  if (launch.ranks <= 1 && world <= 1) return;
  if (launch.ranks == world || (launch.ranks == 0 && launch.can_meet)) return;
  const std::string announced =
      str(launch.launcher, " started ", launch.ranks, launch.ranks == 1 ? " process (" : " processes (",
          launch.variable, "=", launch.value, ")");
  if (world == 0) {
    throw Error(ErrorKind::kCommunication, announced + ", and this build has no MPI: each would train alone",
                "build with -DROBUSTA_MPI=ON, or start one process");
  }
  if (world == 1) {
    throw Error(ErrorKind::kCommunication, announced + ", and they do not find each other: each would train alone",
                how_to_start(launch.ranks));
  }
  throw Error(ErrorKind::kCommunication, str(announced, ", but MPI has ", world, " ranks"), how_to_start(launch.ranks));
}

}  // namespace robusta
