// What is cut into buckets, and which of them are compressed, follows from net and options: the same on every rank.
#include "solver/ranks/sums/gradient_sum.h"

#include "solver/ranks/agreement.h"
#include "solver/ranks/sums/choose_sum.h"
#include "solver/ranks/sums/compressed_params.h"

namespace robusta {
namespace {

constexpr double kDefaultBucketMb = 4;

std::optional<ElementRange> part_of(const ModelRanks* model, const Param& param) {
  const ModelGroup* const group = model ? model->group_of(param) : nullptr;
  if (!group) return std::nullopt;
  return group->own(param.desc.count());
}

Buckets buckets_of(const Ranks& ranks, const Net& net, const CompressedParams& compressed, int64_t tail,
                   const ModelRanks* model) {
  const double mb = ranks.options().bucket_mb > 0 ? ranks.options().bucket_mb : kDefaultBucketMb;
  return plan_buckets(net.param_memory().completion(), static_cast<size_t>(mb * (1 << 20)),
                      net.param_memory().gradient_tail(), tail,
                      {.is_compressed = [&](const Param& param) { return compressed.has(param); },
                       .part = [=](const Param& param) { return part_of(model, param); }});
}

}  // namespace

GradientSum make_gradient_sum(Ranks& ranks, Net& net, int64_t tail, const ModelRanks* model) {
  const CompressedParams compressed = compressed_params(ranks.options(), net);
  Buckets buckets = buckets_of(ranks, net, compressed, tail, model);
  GradientSum made{.sums = make_bucket_sum(ranks, net, std::move(buckets), compressed.options, model),
                   .ranks = ranks.summed_gradients(),
                   .keeps_left = compressed.options.wire.keeps_left()};
  if (!ranks.alone()) {
    require_equal(ranks, "the table of buckets", hash_of(made.sums->buckets()), "give all ranks the same -ddl options");
  }
  return made;
}

}  // namespace robusta
