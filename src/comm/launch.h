/// What the program that started this process left in the environment about its peers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace robusta {

struct Launch {
  std::string variable{};       ///< that gave it away; empty: started by hand
  std::string launcher{};       ///< "Open MPI's mpirun", for messages
  std::string value{};          ///< of the variable
  int ranks = 0;                ///< announced; 0: not told
  int rank = 0;                 ///< this one; 0 too where it is not told
  bool has_rendezvous = false;  ///< the launcher offers what MPI needs to find the other ranks
  std::string meeting_host{};   ///< of rank 0, where ranks without MPI meet; empty: the launcher does not tell
  uint16_t meeting_port = 0;
  int servers = 0;         ///< the last ranks, which are TensorFlow's parameter servers
  bool evaluates = false;  ///< TensorFlow's evaluator: no rank, it scores the snapshots of the others
  std::string defect{};    ///< "WORLD_SIZE=abc": a variable that should hold a number and does not; empty: none
};

/// `get` returns the value of a variable, or null, as std::getenv does.
Launch find_launch(const std::function<const char*(const char*)>& get);

/// That of this process's environment.
Launch own_launch();

/// What the batch system granted to the job that this process runs in.
struct Grant {
  std::string words;  ///< "Slurm granted 8 tasks (SLURM_NTASKS=8)"; empty: no batch system, or it does not tell
  int ranks = 0;      ///< tasks or slots; 0: not told
};

/// Slurm's number of tasks, or the lines of PBS's file of nodes. A job of fewer ranks is legal, but often an oversight:
/// the program was started by its bare name.
Grant find_grant(const std::function<const char*(const char*)>& get);

/// Throws Error{kCommunication} where the launch has a defect: what it announces is not known, and this process might
/// train alone beside others that do.
void check_told(const Launch& launch);

/// Throws Error{kCommunication} with the fix unless `world` ranks are what was announced. `world` is 0 when there is no
/// MPI in this build.
void check_launch(const Launch& launch, int world);

}  // namespace robusta
