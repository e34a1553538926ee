/// What stands behind a public Communicator.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "robusta/communicator.h"

namespace robusta::v1 {

struct Communicator::Impl {
  std::unique_ptr<robusta::Communicator> owned = nullptr;  ///< null: a thread's, which run_threads owns
  robusta::Communicator* ranks = nullptr;
  bool is_world = false;  ///< MPI ends with it
  int local_rank = 0, local_size = 1;
};

}  // namespace robusta::v1
