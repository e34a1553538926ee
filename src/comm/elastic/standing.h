/// What a process knows of its elastic job, from its start and from those that it has met.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/elastic/bounds.h"
#include "comm/elastic/ledger.h"
#include "comm/liveness/rank_id.h"
#include "comm/sockets/meeting.h"

namespace robusta::elastic {

struct Standing {
  // From its start:
  ElasticBounds bounds;
  std::string secret;
  std::string meeting_host;  ///< where new ones look first (MASTER_ADDR)
  uint16_t meeting_port = 0;
  std::vector<std::string> peers;  ///< where they look, too (ROBUSTA_PEERS)
  int launch_rank = 0, launch_ranks = 1;
  double meeting_seconds = 300;  ///< for ranks to come

  // From each generation that it was in:
  std::string job;         ///< random letters; "": it was in none yet
  int64_t generation = 0;  ///< counts from 1 on
  int64_t batch = 0;       ///< the number of ranks has to divide it; 0: any number may train
  Ledger ledger;

  /// Where this process listens for calls, and for messages of its generation; port 0: nowhere yet. They are two, as
  /// messages may come before it knows that it is admitted.
  sockets::Member self, office;
};

/// Why a generation has ended, as far as a member knows.
struct Blame {
  int rank = -1;          ///< of that generation; -1: nobody is blamed
  bool silent = false;    ///< nothing was heard of it: the rest of its host may be as silent
  bool given_up = false;  ///< it may live, and is not to come back as if nothing had been
  std::string line = {};  ///< for the log
};

}  // namespace robusta::elastic
