// A thread for each rank; the first error of a rank ends the waits of the others, and is thrown when all have returned.

#include "comm/thread_ranks.h"

#include <cassert>
#include <thread>
#include <vector>

#include "comm/threads/thread_communicator.h"

namespace robusta {

void run_thread_ranks(int ranks, const std::function<void(Communicator&)>& body, int hosts) {
  assert(ranks >= 1 && hosts >= 1);
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks; ++rank) names.push_back(str("host", rank * hosts / ranks));
  const auto job = std::make_shared<Job>();
  const auto group = std::make_shared<ThreadGroup>(job, std::move(names));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        ThreadCommunicator world(group, rank);
        body(world);
      } catch (...) {
        job->fail(rank, std::current_exception());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (job->error()) std::rethrow_exception(job->error());
}

}  // namespace robusta
