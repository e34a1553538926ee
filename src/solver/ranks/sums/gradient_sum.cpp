// What is cut into buckets, and which of them are compressed, follows from net and options: the same on every rank.
#include "solver/ranks/sums/gradient_sum.h"

#include "base/str.h"
#include "robusta/error.h"
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

size_t bucket_bytes(const DdlOptions& options) {
  const double mb = options.bucket_mb > 0 ? options.bucket_mb : kDefaultBucketMb;
  return static_cast<size_t>(mb * (1 << 20));
}

/// What eight bits leave out is kept by the place where a gradient lies.
void check_shared_memory(const CompressedParams& compressed, const Net& net) {
  if (compressed.options.shard != Shard::kGradients || !compressed.options.wire.keeps_left()) return;
  throw Error(ErrorKind::kUnsupported,
              str("the net asks for gradients in 8 bits (mn_grad_compress_param or compress_layer_type_list), which "
                  "keeps what is left out of them, and with -shard gradients no rank has all"),
              "take -shard states, or remove the fields")
      .at(net.graph().def.file);
}

Buckets buckets_of(const Ranks& ranks, const Net& net, const CompressedParams& compressed, int64_t tail,
                   const ModelRanks* model) {
  return plan_buckets(net.param_memory().completion(), bucket_bytes(ranks.options()),
                      net.param_memory().gradient_tail(), tail,
                      {.is_compressed = [&](const Param& param) { return compressed.has(param); },
                       .part = [=](const Param& param) { return part_of(model, param); }});
}

}  // namespace

std::function<std::vector<size_t>(const std::vector<Param*>&)> gradients_that_share_memory(const DdlOptions& options) {
  if (options.shard != Shard::kGradients) return nullptr;
  return [bytes = bucket_bytes(options)](const std::vector<Param*>& params) { return bucket_ends(params, bytes); };
}

GradientSum make_gradient_sum(Ranks& ranks, Net& net, int64_t tail, const ModelRanks* model) {
  const CompressedParams compressed = compressed_params(ranks.options(), net);
  ranks.together([&] { check_shared_memory(compressed, net); });
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
