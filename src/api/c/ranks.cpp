// Ranks of the C interface. Several arrays are summed as one: a message costs its latency, however small it is.

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include "api/c/handles.h"

using robusta::Error;
using robusta::ErrorKind;
using robusta::v1::Communicator;
using robusta::v1::guarded;
using robusta::v1::required;

namespace {

Communicator& ranks_of(robusta_ranks* handle) { return required(handle, "ranks")->communicator; }

robusta_ranks* handle_of(Communicator communicator) {
  std::string host = communicator.host();
  return new robusta_ranks{.communicator = std::move(communicator), .host = std::move(host)};
}

uint16_t port_of(int port) {
  if (port >= 1 && port <= std::numeric_limits<uint16_t>::max()) return static_cast<uint16_t>(port);
  throw Error(ErrorKind::kUsage, "the ranks meet at no port", "give one from 1 to 65535");
}

std::vector<std::span<float>> spans_of(int arrays, float* const* numbers, const size_t* counts) {
  if (arrays < 1) throw Error(ErrorKind::kUsage, "there is no array to sum", "give 1 at least");
  std::vector<std::span<float>> spans;
  for (int i = 0; i < arrays; ++i) {
    const size_t count = required(counts, "counts")[i];
    float* const array = required(numbers, "numbers")[i];
    spans.emplace_back(count == 0 ? array : required(array, "numbers"), count);
  }
  return spans;
}

void sum_as_one(Communicator& ranks, const std::vector<std::span<float>>& spans) {
  std::vector<float> together;
  for (const auto& span : spans) together.insert(together.end(), span.begin(), span.end());
  ranks.all_reduce(std::span(together));
  const float* next = together.data();
  for (const auto& span : spans) {
    std::copy_n(next, span.size(), span.begin());
    next += span.size();
  }
}

}  // namespace

int robusta_ranks_world(robusta_ranks** ranks) {
  return guarded([&] {
    *required(ranks, "ranks") = nullptr;
    *ranks = handle_of(Communicator::world());
  });
}

int robusta_ranks_meet(int rank, int size, const char* host, int port, const char* secret, double seconds,
                       robusta_ranks** ranks) {
  return guarded([&] {
    *required(ranks, "ranks") = nullptr;
    *ranks = handle_of(Communicator::meet({.rank = rank,
                                           .ranks = size,
                                           .host = required(host, "host"),
                                           .port = port_of(port),
                                           .secret = required(secret, "secret"),
                                           .seconds = seconds}));
  });
}

void robusta_ranks_free(robusta_ranks* ranks) { delete ranks; }

int robusta_ranks_rank(const robusta_ranks* ranks) { return ranks ? ranks->communicator.rank() : -1; }
int robusta_ranks_size(const robusta_ranks* ranks) { return ranks ? ranks->communicator.size() : -1; }
int robusta_ranks_local_rank(const robusta_ranks* ranks) { return ranks ? ranks->communicator.local_rank() : -1; }
int robusta_ranks_local_size(const robusta_ranks* ranks) { return ranks ? ranks->communicator.local_size() : -1; }
const char* robusta_ranks_host(robusta_ranks* ranks) { return ranks ? ranks->host.c_str() : nullptr; }

int robusta_ranks_barrier(robusta_ranks* ranks) {
  return guarded([&] { ranks_of(ranks).barrier(); });
}

int robusta_ranks_broadcast(robusta_ranks* ranks, void* data, size_t bytes, int root) {
  return guarded([&] { ranks_of(ranks).broadcast(bytes == 0 ? data : required(data, "data"), bytes, root); });
}

int robusta_ranks_all_reduce(robusta_ranks* ranks, float* numbers, size_t count) {
  return robusta_ranks_all_reduce_n(ranks, 1, &numbers, &count);
}

int robusta_ranks_all_reduce_doubles(robusta_ranks* ranks, double* numbers, size_t count) {
  return guarded([&] {
    double* const array = count == 0 ? numbers : required(numbers, "numbers");
    ranks_of(ranks).all_reduce(std::span(array, count));
  });
}

int robusta_ranks_all_reduce_n(robusta_ranks* ranks, int arrays, float* const* numbers, const size_t* counts) {
  return guarded([&] {
    Communicator& communicator = ranks_of(ranks);
    const auto spans = spans_of(arrays, numbers, counts);
    if (spans.size() == 1) {
      communicator.all_reduce(spans.front());
    } else {
      sum_as_one(communicator, spans);
    }
  });
}
