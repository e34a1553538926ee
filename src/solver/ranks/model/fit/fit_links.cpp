// Two sizes tell latency and rate apart; each time is that of the slowest rank (comm/reduce/explore.h), so that all
// ranks hold the same.
#include "solver/ranks/model/fit/fit_links.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "base/parallel.h"
#include "base/str.h"
#include "comm/all_reduce.h"
#include "comm/pairwise.h"
#include "comm/reduce/choice_cache.h"
#include "comm/reduce/explore.h"
#include "ops/gemm.h"

namespace robusta {
namespace {

constexpr size_t kSmall = size_t{16} << 10, kLarge = size_t{1} << 20;  ///< bytes
// of a processor with a few cores, where nothing is measured
constexpr double kUsualFlops = 200e9, kUsualMemory = 20e9;

/// `work` takes a number of bytes.
template <typename Work>
LinkTime two_sizes(Communicator& world, const Work& work) {
  const double small = measure(world, [&] { work(kSmall); }), large = measure(world, [&] { work(kLarge); });
  const double per_byte = std::max(0.0, large - small) / static_cast<double>(kLarge - kSmall);
  return {std::max(0.0, small - per_byte * static_cast<double>(kSmall)), per_byte};
}

std::string text_of(double a, double b) {
  char text[64];
  std::snprintf(text, sizeof text, "%a:%a", a, b);
  return text;
}

/// Two numbers that were remembered, or that `measured` gives now.
template <typename Measured>
std::pair<double, double> known_or(ChoiceCache& cache, const std::string& key, const Measured& measured) {
  double a = 0, b = 0;
  if (std::sscanf(cache.find(key).c_str(), "%la:%la", &a, &b) == 2) return {a, b};
  std::tie(a, b) = measured();
  cache.remember(key, text_of(a, b));
  return {a, b};
}

class LinkMeter {
 public:
  explicit LinkMeter(Ranks& ranks)
      : ranks_(ranks), cache_(ranks.control(), ranks.topology(), default_choice_cache()), world_(ranks.control()) {}

  MachineSpeeds speeds() {
    MachineSpeeds speeds;
    speeds.links.all = link("fit/all", [&] { return sum_of_all(); });
    for (int parts = 2; parts <= ranks_.count(); ++parts) {
      if (ranks_.count() % parts != 0) continue;
      speeds.links.all_parts[parts] = link(str("fit/parts", parts), [&] { return exchange(parts); });
      speeds.links.same_part[parts] = link(str("fit/same", parts), [&] { return sum_of_part(parts); });
    }
    std::tie(speeds.rates.flops, speeds.rates.memory) = known_or(cache_, "fit/rates", [&] { return rates(); });
    cache_.save();
    return speeds;
  }

 private:
  template <typename Measured>
  LinkTime link(const std::string& key, const Measured& measured) {
    const auto [latency, per_byte] = known_or(cache_, key, [&] {
      const LinkTime time = measured();
      return std::pair(time.latency, time.per_byte);
    });
    return {latency, per_byte};
  }

  LinkTime sum_of_all() {
    const std::unique_ptr<Communicator> group = world_.duplicate();
    const std::shared_ptr<SharedMemory> memory = group->allocate(kLarge);
    DdlOptions options;
    options.wire = ranks_.options().wire;
    const auto sum = make_all_reduce(*group, ranks_.topology(), options, memory, kLarge);
    return two_sizes(world_, [&](size_t bytes) {
      sum->sum(memory->data(), static_cast<int64_t>(bytes / sizeof(float)), DType::kF32, 0);
    });
  }

  /// All groups at once, as they are when a layer is cut.
  LinkTime exchange(int parts) {
    const std::unique_ptr<Communicator> group = world_.split(ranks_.rank() / parts, ranks_.rank());
    std::vector<std::byte> out(kLarge * static_cast<size_t>(parts)), in(out.size());
    return two_sizes(world_, [&](size_t bytes) { all_to_all(*group, out.data(), bytes, in.data()); });
  }

  LinkTime sum_of_part(int parts) {
    if (parts == ranks_.count()) return {};
    const std::unique_ptr<Communicator> group = world_.split(ranks_.rank() % parts, ranks_.rank());
    std::vector<std::byte> data(kLarge), scratch;
    return two_sizes(world_, [&](size_t bytes) {
      sum_in_order(*group, data.data(), static_cast<int64_t>(bytes / sizeof(float)), DType::kF32, scratch);
    });
  }

  /// Of a matrix product, and of a sum of two vectors that no cache holds, on all ranks at once.
  std::pair<double, double> rates() {
    constexpr int64_t kSide = 384, kLong = int64_t{4} << 20;
    std::vector<float> a(kSide * kSide, 1.0f), b(a), c(a), x(kLong, 1.0f), y(x);
    const double product = measure(
        world_, [&] { gemm<float>(Op::kPlain, Op::kPlain, kSide, kSide, kSide, 1, a.data(), b.data(), 0, c.data()); });
    const double sum = measure(world_, [&] {
      parallel_for(kLong, 1 << 14, [&](int64_t i) { y[static_cast<size_t>(i)] += x[static_cast<size_t>(i)]; });
    });
    return {2.0 * kSide * kSide * kSide / product, 3.0 * sizeof(float) * kLong / sum};
  }

  Ranks& ranks_;
  ChoiceCache cache_;
  Communicator& world_;
};

std::string text_of(const LinkTime& link) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3g ms + %.3g GB/s", 1e3 * link.latency, 1e-9 / std::max(link.per_byte, 1e-15));
  return text;
}

}  // namespace

MachineSpeeds measured_speeds(Ranks& ranks) {
  const Ranks::Waiting waiting(ranks);
  return LinkMeter(ranks).speeds();
}

MachineSpeeds assumed_speeds(const FitOptions& options, int ranks) {
  MachineRates rates;
  rates.flops = kUsualFlops;
  rates.memory = kUsualMemory;
  return {even_links(ranks, 1e9 * options.gb_per_second, 1e-6 * options.microseconds), rates};
}

std::string describe(const MachineSpeeds& speeds) {
  std::string text = "a sum over all ranks " + text_of(speeds.links.all);
  for (const auto& [parts, link] : speeds.links.all_parts) text += str("; among ", parts, " parts ", text_of(link));
  char rates[96];
  std::snprintf(rates, sizeof rates, "; a rank computes %.3g GFLOP/s and moves %.3g GB/s", 1e-9 * speeds.rates.flops,
                1e-9 * speeds.rates.memory);
  return text + rates;
}

}  // namespace robusta
