/// The options of -ddl and of DDL_OPTIONS: IBM's grammar and our own beside it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace robusta {

enum class Compression { kNone, kFp16, kBf16 };

struct DdlOptions {
  /// b, n, r, m, c or p (docs/multinode.md); 0: no -mode was given, the topology decides.
  char mode = 0;
  std::vector<int>
      dims;  ///< outermost last, as IBM writes them: ranks per host, hosts per rack, racks; empty: not given
  bool automatic = false;  ///< `-ddl auto`: measure, then choose dims and mode
  int dump_iter = 0;       ///< > 0: report times and bandwidth per dimension every so many iterations
  int dev_sync = 0;        ///< 0, 1 or 2; means something on GPUs alone
  int rebind_iter = 0;     ///< > 0: look for slow ranks every so many iterations
  int dbg_level = 0;       ///< 0, 1 or 2
  double bucket_mb = 0;    ///< size of a bucket; 0: chosen
  Compression compress = Compression::kNone;
  double timeout_s = 60;  ///< after which a silent rank ends the job; 0: nobody watches
  int check_iter = 0;     ///< > 0: compare weights over ranks every so many iterations
};

/// Throws Error{kUsage} naming the word at fault, with the nearest known one.
DdlOptions parse_ddl_options(const std::string& text);

/// Throws Error{kUsage} when the product of the dims is not the number of ranks, in IBM's words and with the two
/// nearest fixes. REQUIRES: dims are given.
void check_dims(const DdlOptions& options, int ranks);

}  // namespace robusta
