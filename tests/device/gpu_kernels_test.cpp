// The primitives' halves for a GPU, thread by thread on the host: whether every element is met once, however it is cut,
// and whether blocks join what their threads have.

#include "support/gpu_threads.h"
//
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/gpu/channel_sums.h"
#include "device/gpu/reduce.h"

namespace robusta::test::gpu_kernels_test {
namespace {

struct Count {
  static constexpr int kWidth = 4;
  int* times;
  bool packs;
  bool in_packs() const { return packs; }
  void operator()(int64_t i) const { ++times[i]; }
  template <int N>
  void run(int64_t i) const {
    for (int k = 0; k < N; ++k) ++times[i + k];
  }
};

TEST(GpuKernels, ForEachMeetsEveryElementOnce) {
  for (const int64_t count : {0, 1, 255, 256, 257, 1000}) {
    for (const int way : {0, 1, 2}) {
      std::vector<int> times(static_cast<size_t>(count) + 1);
      const Count body{times.data(), way == 2};
      way == 0 ? for_each(nullptr, count, body) : for_each_pack(nullptr, count, body);
      times.pop_back();
      EXPECT_EQ(times, std::vector<int>(static_cast<size_t>(count), 1)) << way;
    }
  }
}

struct Rows {
  using Sum = int64_t;
  int64_t* result;
  Sum zero() const { return 0; }
  Sum term(int64_t row, int64_t col) const { return 1000003 * row + col; }
  Sum join(Sum a, Sum b) const { return a + b; }
  void store(int64_t row, Sum sum) const { result[row] = sum; }
};

TEST(GpuKernels, RowsAreSummed) {
  for (const int64_t cols : {0, 1, 16, 17, 63, 256, 257, 1000}) {
    std::vector<int64_t> sums(3, -1);
    reduce_rows(nullptr, 3, cols, Rows{sums.data()});
    for (int64_t row = 0; row < 3; ++row) {
      EXPECT_EQ(sums[static_cast<size_t>(row)], 1000003 * row * cols + cols * (cols - 1) / 2) << cols;
    }
  }
}

struct All {
  using Sum = int64_t;
  int64_t* result;
  Sum zero() const { return 0; }
  Sum term(int64_t i) const { return i + 1; }
  Sum join(Sum a, Sum b) const { return a + b; }
  void store(Sum sum) const { *result = sum; }
};

TEST(GpuKernels, AllIsSummed) {
  for (const int64_t count : {0, 1, 300, 4096, 4097, 20000}) {
    int64_t sum = -1;
    std::vector<char> scratch(reduce_all_scratch<All>(count));
    reduce_all(nullptr, count, scratch.data(), All{&sum});
    EXPECT_EQ(sum, count * (count + 1) / 2) << count;
  }
}

/// Arrays by channel: x with values that sums hold exactly, in memory aligned for packs or one element off.
struct Sample {
  ChannelView view;
  std::vector<float> memory;
  float* x;
  std::vector<double> sums, weighted;

  Sample(const ChannelView& view, bool aligned) : view(view), memory(static_cast<size_t>(view.elements()) + 8) {
    x = memory.data();
    while (reinterpret_cast<uintptr_t>(x) % 16 != 0) ++x;
    if (!aligned) ++x;
    sums.resize(static_cast<size_t>(view.count));
    weighted.resize(sums.size());
    for (int64_t i = 0; i < view.elements(); ++i) {
      const auto c = static_cast<size_t>(channel(i));
      x[i] = static_cast<float>((i * 7919) % 61);
      sums[c] += x[i];
      weighted[c] += x[i] * static_cast<float>(c % 5);
    }
  }
  int64_t channel(int64_t i) const { return i / view.inner % view.count; }
};

struct SumsOfChannels {
  static constexpr int kSums = 2, kWidth = 4;
  const float *x, *weights;
  double* sums;
  bool in_packs() const { return on_packs(x); }
  template <int N, bool kAcross>
  Pack<float, N> known(Channels<N, kAcross> channels) const {
    return channels.of(weights);
  }
  template <int N>
  Pack<float, N> load(int64_t i) const {
    return stored_pack<N>(x + i);
  }
  template <int N>
  void add(int64_t, const Pack<float, N>& values, const Pack<float, N>& weight, ChannelTerms<2, N>& to) const {
    for (int k = 0; k < N; ++k) to.at[0][k] += values.at[k], to.at[1][k] += values.at[k] * weight.at[k];
  }
  void store(int64_t c, const double (&sum)[2]) const { sums[2 * c] += sum[0], sums[2 * c + 1] += sum[1]; }
};

std::vector<ChannelView> views() {
  return {{1, 1, 1},    {1, 3, 1},    {700, 3, 1},   {5, 8, 1},      {100, 12, 1}, {33, 68, 1},
          {3, 200, 1},  {9000, 4, 1}, {70000, 1, 1}, {2100, 260, 1}, {2, 5, 7},    {2, 5, 8},
          {1, 2, 3000}, {9, 3, 100},  {0, 4, 1},     {9, 30, 4},     {40, 2, 3}};
}

bool no_counter_counts() {
  return std::all_of(all_arrivals.begin(), all_arrivals.end(), [](unsigned counter) { return counter == 0; });
}

TEST(GpuKernels, ChannelsAreSummed) {
  for (const ChannelView& view : views()) {
    for (const bool aligned : {true, false}) {
      SCOPED_TRACE(std::to_string(view.outer) + " " + std::to_string(view.count) + " " + std::to_string(view.inner));
      const Sample sample(view, aligned);
      alignas(16) float weights[300];
      for (int c = 0; c < 300; ++c) weights[c] = static_cast<float>(c % 5);
      std::vector<double> sums(2 * sample.sums.size());
      std::vector<double> scratch(channel_sums_scratch<SumsOfChannels>(view) / sizeof(double));
      channel_sums(nullptr, view, scratch.data(), SumsOfChannels{sample.x, weights, sums.data()});
      for (size_t c = 0; c < sample.sums.size(); ++c) {
        EXPECT_EQ(sums[2 * c], sample.sums[c]) << c;
        EXPECT_EQ(sums[2 * c + 1], sample.weighted[c]) << c;
      }
      EXPECT_TRUE(no_counter_counts());
    }
  }
}

/// Which block comes last, and joins the sums of the others, decides no bit.
TEST(GpuKernels, BlocksMayEndInAnyOrder) {
  for (const ChannelView& view : {ChannelView{9000, 4, 1}, ChannelView{2100, 260, 1}, ChannelView{40, 2, 3}}) {
    Sample sample(view, true);
    for (int64_t i = 0; i < view.elements(); ++i) sample.x[i] = 1.0f / static_cast<float>(1 + i * 7919 % 1009);
    alignas(16) float weights[300];
    for (int c = 0; c < 300; ++c) weights[c] = 1.0f / static_cast<float>(1 + c);
    std::vector<double> sums[2];
    for (const bool backwards : {false, true}) {
      gpu_threads::last_block_first = backwards;
      sums[backwards].resize(2 * sample.sums.size());
      std::vector<double> scratch(channel_sums_scratch<SumsOfChannels>(view) / sizeof(double), NAN);
      channel_sums(nullptr, view, scratch.data(), SumsOfChannels{sample.x, weights, sums[backwards].data()});
    }
    gpu_threads::last_block_first = false;
    EXPECT_EQ(sums[0], sums[1]) << view.outer;
    EXPECT_TRUE(no_counter_counts());
  }
}

struct AddChannel {
  static constexpr int kWidth = 4;
  float* x;
  const float* shifts;
  bool in_packs() const { return on_packs(x, shifts); }
  template <int N, bool kAcross>
  Pack<float, N> known(Channels<N, kAcross> channels) const {
    return channels.of(shifts);
  }
  template <int N>
  Pack<float, N> load(int64_t i) const {
    return stored_pack<N>(x + i);
  }
  template <int N>
  void run(int64_t i, Pack<float, N> values, const Pack<float, N>& shift) const {
    for (int k = 0; k < N; ++k) values.at[k] += shift.at[k];
    store_pack(values, x + i);
  }
};

TEST(GpuKernels, ElementsKnowTheirChannel) {
  alignas(16) float shifts[300];
  std::iota(shifts, shifts + 300, 100.0f);
  for (const ChannelView& view : views()) {
    for (const bool aligned : {true, false}) {
      const Sample sample(view, aligned);
      const std::vector<float> before(sample.x, sample.x + view.elements());
      for_each_by_channel(nullptr, view, AddChannel{sample.x, shifts});
      int64_t wrong = 0;
      for (int64_t i = 0; i < view.elements(); ++i) {
        wrong += sample.x[i] != before[static_cast<size_t>(i)] + shifts[sample.channel(i)];
      }
      EXPECT_EQ(wrong, 0) << view.outer << " " << view.count << " " << view.inner;
    }
  }
}

/// Adds what is found of a channel: its shift, and a number of how often somebody was the first to look.
struct AddFound {
  static constexpr int kWidth = 4, kFound = 2;
  float* x;
  const float* shifts;
  int* firsts;
  bool in_packs() const { return on_packs(x); }
  void find(int64_t channel, bool first, float* to, int step) const {
    to[0] = shifts[channel];
    to[step] = 1000;
    if (first) ++firsts[channel];
  }
  template <int N>
  Pack<float, N> known(Channels<N, true> channels, const FoundChannels& found) const {
    Pack<float, N> sums = found.of(0, channels);
    const Pack<float, N> more = found.of(1, channels);
    for (int k = 0; k < N; ++k) sums.at[k] += more.at[k];
    return sums;
  }
  template <int N>
  Pack<float, N> load(int64_t i) const {
    return stored_pack<N>(x + i);
  }
  template <int N>
  void run(int64_t i, Pack<float, N> values, const Pack<float, N>& shift) const {
    for (int k = 0; k < N; ++k) values.at[k] += shift.at[k];
    store_pack(values, x + i);
  }
};

/// By each block for itself, in memory that its threads share; written down by one.
TEST(GpuKernels, BlocksFindOutOfTheirChannels) {
  alignas(16) float shifts[300];
  std::iota(shifts, shifts + 300, 100.0f);
  for (const ChannelView& view :
       {ChannelView{5, 8, 1}, ChannelView{100, 12, 1}, ChannelView{33, 68, 1}, ChannelView{2100, 260, 1},
        ChannelView{9000, 4, 1}, ChannelView{1, 300, 1}, ChannelView{0, 4, 1}}) {
    const Sample sample(view, true);
    const std::vector<float> before(sample.x, sample.x + view.elements());
    std::vector<int> firsts(static_cast<size_t>(view.count));
    for_each_by_found_channel(nullptr, view, AddFound{sample.x, shifts, firsts.data()});
    int64_t wrong = 0;
    for (int64_t i = 0; i < view.elements(); ++i) {
      wrong += sample.x[i] != before[static_cast<size_t>(i)] + shifts[sample.channel(i)] + 1000;
    }
    EXPECT_EQ(wrong, 0) << view.outer << " " << view.count;
    EXPECT_EQ(firsts, std::vector<int>(firsts.size(), view.outer > 0 ? 1 : 0)) << view.outer << " " << view.count;
  }
}

}  // namespace
}  // namespace robusta::test::gpu_kernels_test
