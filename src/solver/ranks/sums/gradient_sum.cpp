// What is cut into buckets, and which of them are compressed, follows from net and options: the same on every rank.
#include "solver/ranks/sums/gradient_sum.h"

#include "solver/ranks/agreement.h"
#include "solver/ranks/sums/choose_sum.h"
#include "solver/ranks/sums/compressed_params.h"

namespace robusta {
namespace {

constexpr double kDefaultBucketMb = 4;

Buckets buckets_of(const Ranks& ranks, const Net& net, const CompressedParams& compressed, int64_t tail) {
  const double mb = ranks.options().bucket_mb > 0 ? ranks.options().bucket_mb : kDefaultBucketMb;
  return plan_buckets(net.param_memory().completion(), static_cast<size_t>(mb * (1 << 20)),
                      net.param_memory().gradient_tail(), tail,
                      [&](const Param& param) { return compressed.has(param); });
}

}  // namespace

GradientSum make_gradient_sum(Ranks& ranks, Net& net, int64_t tail) {
  const CompressedParams compressed = compressed_params(ranks.options(), net);
  GradientSum made{.sums = make_bucket_sum(ranks, net, buckets_of(ranks, net, compressed, tail), compressed.options),
                   .ranks = ranks.summed_gradients(),
                   .keeps_left = compressed.options.wire.keeps_left()};
  if (!ranks.alone()) {
    require_equal(ranks, "the table of buckets", hash_of(made.sums->buckets()), "give all ranks the same -ddl options");
  }
  return made;
}

}  // namespace robusta
