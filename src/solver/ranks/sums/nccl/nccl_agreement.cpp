// Every rank sends what it brings, and all apply the same function to what all sent: no rank can come to another
// answer.
#include "solver/ranks/sums/nccl/nccl_agreement.h"

#include <algorithm>

#include "base/hash.h"
#include "base/str.h"
#include "device/gpus.h"
#include "solver/ranks/sums/nccl/nccl_error.h"

namespace robusta {
namespace {

/// What a rank brings.
struct Offer {
  int version = 0;     ///< of its NCCL; 0: it has none
  uint64_t place = 0;  ///< of its GPU, hashed with the host; 0: not known
};

Offer offer_of(const Ranks& ranks, const Device& device, const NcclApi* api) {
  const std::string host = ranks.topology().host_of(ranks.rank()), place = device.place();
  return {api ? api->version : 0, place.empty() ? 0 : hash_bytes(host + " " + place)};
}

/// A function of what all ranks know.
std::string refusal_of(const Ranks& ranks, const std::vector<Offer>& offers) {
  const auto named = [&](size_t rank) { return str("rank ", rank, " (", ranks.topology().hosts[rank], ")"); };
  const auto release = [](const Offer& offer) { return offer.version / 100; };
  for (size_t rank = 0; rank < offers.size(); ++rank) {
    if (offers[rank].version == 0) return str("NCCL was not found by ", named(rank));
    if (offers[rank].place == 0) return str("which GPU ", named(rank), " has is not known to NCCL");
    if (release(offers[rank]) != release(offers[0]))
      return str(named(0), " and ", named(rank), " have different NCCLs");
    for (size_t other = 0; other < rank; ++other) {
      if (offers[other].place == offers[rank].place) return str("ranks ", other, " and ", rank, " share a GPU");
    }
  }
  return "";
}

/// Ranks of one group, with a communicator for the words that NCCL does not carry itself.
std::unique_ptr<Communicator> split_by(Ranks& ranks, const Dimension& dimension) {
  return ranks.gradients().split(*std::min_element(dimension.ranks.begin(), dimension.ranks.end()), dimension.position);
}

NcclId agree_on_id(Ranks& ranks, const NcclApi& api, Communicator& group) {
  NcclId id;
  ranks.together([&] {
    if (group.rank() > 0) return;
    const NcclResult result = api.get_unique_id(&id);
    if (result != kNcclSuccess) throw nccl_error(api, nullptr, result, "starting");
  });
  group.broadcast(&id, sizeof id, 0);
  return id;
}

struct Attempt {
  NcclDimension connected;
  std::optional<Error> error;
  bool timed_out = false;
};

Attempt try_to_connect(Ranks& ranks, const NcclApi& api, Device& device, const Dimension& dimension) {
  const std::unique_ptr<Communicator> group = split_by(ranks, dimension);
  const NcclId id = agree_on_id(ranks, api, *group);
  NcclPatience patience = nccl_patience(ranks);
  patience.limit_s = ranks.options().timeout_s;
  Attempt attempt;
  try {
    attempt.connected = {title_of(dimension), std::make_shared<NcclComm>(api, device, id, group->size(), group->rank(),
                                                                         std::move(patience))};
  } catch (const NcclTimeout& error) {
    attempt.error = error;
    attempt.timed_out = true;
  } catch (const Error& error) {
    attempt.error = error;
  }
  return attempt;
}

}  // namespace

std::string title_of(const Dimension& dimension) {
  return str(dimension.name, " (", dimension.ranks.size(), " ranks, ",
             dimension.one_host ? "within a host" : "between hosts", ")");
}

NcclAgreement agree_on_nccl(Ranks& ranks, const Device& device) {
  const std::vector<std::string> files = nccl_files();
  std::string why;
  const NcclApi* const api = find_nccl(files, why);
  const std::vector<Offer> offers = ranks.gather(offer_of(ranks, device, api));
  const std::string refusal = refusal_of(ranks, offers);
  if (refusal.empty()) return {api, ""};
  if (files.empty() && offers[0].version == 0) return {nullptr, ""};
  return {nullptr, why.empty() ? refusal : str(refusal, " (", why, ")")};
}

NcclPatience nccl_patience(Ranks& ranks) {
  return {2 * ranks.options().timeout_s, [&peers = ranks.gradients()] { peers.check_peers(); }};
}

NcclDimension connect_nccl(Ranks& ranks, const NcclApi& api, Device& device, const Dimension& dimension) {
  Attempt attempt = try_to_connect(ranks, api, device, dimension);
  double causes = attempt.error && !attempt.timed_out ? 1 : 0;
  ranks.sum({&causes, 1});
  // Who waited in vain for a rank that has an error of its own leaves the word to that one.
  if (causes > 0 && attempt.timed_out) attempt.error.reset();
  ranks.together([&] {
    if (attempt.error) throw *attempt.error;
  });
  return attempt.connected;
}

std::optional<NcclDimension> try_nccl(Ranks& ranks, const NcclApi& api, Device& device, const Dimension& dimension,
                                      std::string& why) {
  Attempt attempt = try_to_connect(ranks, api, device, dimension);
  if (attempt.error) why = attempt.error->cause();
  double failures = attempt.error ? 1 : 0;
  ranks.sum({&failures, 1});
  if (failures > 0) return std::nullopt;
  return attempt.connected;
}

}  // namespace robusta
