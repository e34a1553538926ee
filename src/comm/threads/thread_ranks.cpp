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
  const auto run = [&](int rank) {
    try {
      ThreadCommunicator world(group, rank);
      body(world);
    } catch (...) {
      job->fail(rank, std::current_exception());
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    try {
      threads.emplace_back(run, rank);
    } catch (const std::exception&) {
      const Error error(ErrorKind::kCommunication, str("only ", rank, " of ", ranks, " threads could be started"),
                        "ask for fewer ranks, or raise the limit of threads (ulimit -u)");
      job->fail(rank, std::make_exception_ptr(error));
      break;
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (job->error()) std::rethrow_exception(job->error());
}

}  // namespace robusta
