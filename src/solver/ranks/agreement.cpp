// Every start of a job compares hashes, which costs one small sum; only a job that ends asks every rank for its own.
#include "solver/ranks/agreement.h"

#include "base/str.h"
#include "robusta/error.h"
#include "solver/ranks/minority.h"

namespace robusta {

void require_equal(Ranks& ranks, const std::string& what, uint64_t hash, const std::string& fix) {
  if (ranks.agree(hash)) return;
  const std::vector<uint64_t> all = ranks.gather(hash);
  ranks.together([&] {
    throw Error(ErrorKind::kCommunication, str(what, " of ", minority(all), " is not that of the other ranks"), fix);
  });
}

}  // namespace robusta
