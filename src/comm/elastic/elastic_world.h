/// The ranks of an elastic job (-elastic), as a series of generations: within one, ranks are fixed, and everything is
/// as without it; between two, some go and others come.
///
/// A process has one. The driver meets, trains, and when a wait throws EndOfGeneration parts and meets again. Other
/// threads may call break_off(), somebody_waits().
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/elastic/bounds.h"
#include "comm/elastic/door.h"
#include "comm/elastic/standing.h"

namespace robusta {

namespace sockets {
class PostOffice;
}

class ElasticWorld {
 public:
  /// Throws Error{kUsage} where ranks cannot come and go: MPI's, and a process that was not told where to meet.
  explicit ElasticWorld(const ElasticBounds& bounds);
  ~ElasticWorld();

  /// The ranks of the next generation; null: the job is over, and code() is what it ended with. `progress`: how far the
  /// state is that this process holds, the farther the larger, or -1: rank 0 has the newest of all. Throws
  /// Error{kCommunication} where there is no next generation. REQUIRES: the communicators of the last one are gone.
  std::unique_ptr<Communicator> meet(int64_t progress);
  int code() const { return code_; }
  /// The job ends as too few ranks are left, of which this one speaks for all.
  bool led() const { return led_; }

  /// Who the ranks of this generation are is settled, and somebody watches them: until then they have 20 seconds.
  void established();
  /// From now on every wait of this generation throws EndOfGeneration: the rank is gone. Any thread.
  void break_off(const elastic::Blame& blame);
  /// The generation is over; nobody waits for messages any more.
  void part();
  /// The job ends with this code, and who waits to come in is told.
  void end(int code, const std::string& how);

  int64_t generation() const { return standing_.generation; }
  /// A random name of the job.
  const std::string& job() const { return standing_.job; }
  /// Ranks from this one on were not in the generation before.
  int first_new_rank() const { return first_new_; }
  bool is_new() const { return is_new_; }
  /// One line for each thing that has happened between the last generation and this one, as far as this process knows.
  const std::vector<std::string>& story() const { return story_; }
  /// Seconds since the last generation ended that this process was in; 0 where it was in none.
  double seconds_since_end() const;

  /// From now on the number of ranks has to divide it. 0: any will do.
  void set_batch(int64_t batch) { standing_.batch = batch; }
  /// Whether ranks wait that could train with the others. Any thread; true on the first rank alone.
  bool somebody_waits() const;

 private:
  std::optional<elastic::Admission> return_or_arrive(int64_t progress);
  std::optional<elastic::Admission> arrive(const std::optional<elastic::Member>& place);
  void take_over(const elastic::Admission& admission);
  void tell(const elastic::Admission& next);
  void keep_door();

  elastic::Standing standing_;
  elastic::Door door_;
  Descriptor calls_;            ///< this process's listener for calls
  Descriptor office_listener_;  ///< and for messages, while no office has it
  std::optional<elastic::Admission> last_;
  std::shared_ptr<sockets::PostOffice> office_;
  std::mutex blaming_;  ///< of blame_
  elastic::Blame blame_;
  std::vector<elastic::Address> known_;
  std::vector<std::string> story_;
  std::optional<sockets::Clock::time_point> ended_;
  int first_new_ = 0, code_ = 0;
  bool is_new_ = true, led_ = false;
};

}  // namespace robusta
