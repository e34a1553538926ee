// PREFIX.lock: what was read of it is written as it was, and judged.

#include "fuzz.h"
#include "solver/files/prefix_lease.h"

namespace robusta::fuzz {
namespace {

void read_prefix_lease(std::string_view input) {
  PrefixLease lease;
  if (!parse_lease(std::string(input), lease)) return;
  look_for_holder(lease);
  PrefixLease again;
  if (!parse_lease(lease_text(lease), again) || again.token != lease.token || again.beat != lease.beat ||
      describe(again) != describe(lease)) {
    throw std::logic_error("a lease is not written as it was read");
  }
}

[[maybe_unused]] const bool registered_lease = register_target("lease", read_prefix_lease);

}  // namespace
}  // namespace robusta::fuzz
