// The gradient of a convolution's filters by matrix units: how it is cut, anywhere, and what it gives against the
// reference, where there are any.

#include <gtest/gtest.h>

#include <omp.h>

#include <set>
#include <tuple>
#include <vector>

#include "base/half.h"
#include "layers/backends/amx/weight_blocks.h"
#include "layers/backends/amx/weights_pass.h"
#include "layers/backends/amx/window_rows.h"
#include "layers/backends/amx/window_weights.h"
#include "layers/backends/onednn/layout.h"
#include "ops/amx/panels.h"
#include "support/amx_cases.h"
#include "support/convolution_cases.h"
#include "support/kernel_checks.h"
#include "support/prefer.h"

namespace robusta::test::amx_weights_test {
namespace {

using amx::WeightBlocks;

const auto kSizes = {std::tuple<int64_t, int64_t, int64_t, int64_t>(64, 64, 1, 50176),
                     {256, 64, 1, 50176},
                     {2048, 512, 1, 784},
                     {512, 2048, 1, 784},
                     {512, 512, 9, 784},
                     {64, 3, 49, 12544 * 16},
                     {20, 1, 25, 64 * 576},
                     {1000, 513, 4, 5},
                     {1, 1, 1, 1}};

/// Each pixel of each block of sums belongs to one piece.
TEST(WeightBlocks, PiecesCoverAll) {
  for (const auto& [outputs, inputs, taps, pixels] : kSizes) {
    for (const int64_t threads : {1, 2, 3, 56}) {
      const WeightBlocks blocks(outputs, inputs, taps, pixels, threads, amx::kChunk, amx::kMostPanelsIn);
      std::set<int64_t> seen;
      int64_t work = 0;
      for (int64_t i = 0; i < blocks.pieces(); ++i) {
        const WeightBlocks::Piece piece = blocks.piece(i);
        EXPECT_LE(piece.panels_out.size(), std::min(blocks.most_panels_out(), amx::kMostPanelsOut));
        EXPECT_LE(piece.panels_in.size(), blocks.most_panels_in());
        for (int64_t tap = piece.products.begin; tap < piece.products.end; ++tap) {
          for (int64_t out = piece.panels_out.begin; out < piece.panels_out.end; ++out) {
            for (int64_t in = piece.panels_in.begin; in < piece.panels_in.end; ++in) {
              const int64_t block = blocks.sum_block(piece.share, tap, out, in);
              EXPECT_TRUE(seen.insert(block).second);
              EXPECT_LT(block, blocks.sum_blocks());
              work += piece.terms.size();
            }
          }
        }
      }
      EXPECT_EQ(work, blocks.panels_out * blocks.panels_in * taps * pixels) << outputs << " x " << inputs;
    }
  }
}

/// What threads add up aside stays a few times the filters, or a megabyte for each thread.
TEST(WeightBlocks, SumsStaySmall) {
  for (const auto& [outputs, inputs, taps, pixels] : kSizes) {
    for (const int64_t threads : {1, 2, 8, 56, 128}) {
      const WeightBlocks blocks(outputs, inputs, taps, pixels, threads, amx::kChunk, amx::kMostPanelsIn);
      const int64_t once = blocks.sum_blocks() / blocks.shares;
      EXPECT_LE(blocks.sum_blocks(), std::max(4 * once, 2 * threads * 128)) << outputs << ", " << threads << " threads";
    }
  }
}

/// Where there is work for all, none waits for more than half of the time.
TEST(WeightBlocks, ThreadsAreBusy) {
  for (const auto& [outputs, inputs, taps, pixels] : kSizes) {
    for (const int64_t threads : {2, 3, 8}) {
      const WeightBlocks blocks(outputs, inputs, taps, pixels, threads, amx::kChunk, amx::kMostPanelsIn);
      if (blocks.blocks() * pixels < 4 * threads * amx::kChunk) continue;
      const int64_t rounds = (blocks.pieces() + threads - 1) / threads;
      EXPECT_LE(rounds * threads, 2 * blocks.pieces()) << outputs << " x " << inputs << ", " << threads << " threads";
    }
  }
}

/// What the filters of a group see: the image, and zeros around it.
uint16_t seen(const ConvolutionGeometry& g, const std::vector<uint16_t>& images, int64_t weight, int64_t pixel,
              int64_t group = 0) {
  const WindowAxis &y = g.axes[0], &x = g.axes[1];
  const int64_t column = pixel % x.out * x.stride - x.pad + weight % x.kernel * x.dilation;
  const int64_t row = pixel / x.out % y.out * y.stride - y.pad + weight / x.kernel % y.kernel * y.dilation;
  if (row < 0 || row >= y.in || column < 0 || column >= x.in) return 0;
  const int64_t image = pixel / x.out / y.out, channel = group * g.channels / g.group + weight / x.kernel / y.kernel;
  return images[static_cast<size_t>(((image * y.in + row) * x.in + column) * g.channels + channel)];
}

TEST(WindowRows, FindWhatFiltersSee) {
  for (const int64_t channels : {1, 3, 16, 20}) {
    for (const WindowAxis& x :
         {WindowAxis{.in = 9, .kernel = 1}, WindowAxis{.in = 9, .kernel = 1, .stride = 2},
          WindowAxis{.in = 8, .kernel = 3, .pad = 1}, WindowAxis{.in = 11, .kernel = 5, .stride = 2},
          WindowAxis{.in = 11, .kernel = 7, .stride = 2, .pad = 3, .more_pad_behind = -1},
          WindowAxis{.in = 9, .kernel = 3, .pad = 2, .dilation = 2}}) {
      const ConvolutionGeometry geometry = image_geometry(channels, {.in = 7, .kernel = 3, .stride = 2, .pad = 1}, x);
      const amx::WindowRows window(geometry);
      std::vector<uint16_t> images(static_cast<size_t>(geometry.batch * 7 * x.in * channels));
      for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<uint16_t>(i + 1);
      std::vector<uint16_t> padded(window.padded_bytes() / sizeof(uint16_t) + 1, 77);
      const uint16_t* from = window.pad(images.data(), padded.data());
      const int64_t pixels = geometry.batch * elements_out(geometry.axes);
      for (const int64_t begin : {int64_t{0}, pixels / 3}) {
        std::vector<const uint16_t*> places(static_cast<size_t>(pixels - begin));
        for (int64_t product = 0; product < window.products(); ++product) {
          window.find(from, product, {begin, pixels}, places.data());
          for (int64_t p = begin; p < pixels; ++p) {
            for (int64_t line = 0; line < window.lines(); ++line) {
              ASSERT_EQ(places[static_cast<size_t>(p - begin)][line],
                        seen(geometry, images, window.at(line) + window.at_product(product), p))
                  << channels << " channels, kernel " << x.kernel << ", pixel " << p << ", line " << line;
            }
          }
        }
      }
    }
  }
}

/// A tile of 16 lines has more than three channels.
TEST(WindowRows, FewChannelsAreTakenWithTheirNeighbours) {
  const WindowAxis seven{.in = 20, .kernel = 7, .stride = 2, .pad = 3};
  EXPECT_EQ(amx::WindowRows(image_geometry(3, seven, seven)).products(), 7);
  EXPECT_EQ(amx::WindowRows(image_geometry(3, seven, seven)).lines(), 21);
  EXPECT_EQ(amx::WindowRows(image_geometry(16, seven, seven)).products(), 49);
}

class AmxWeights : public testing::Test {
 protected:
  void SetUp() override {
    if (!amx::has_units()) GTEST_SKIP() << "this processor has no matrix units (AMX)";
  }

  /// Every choice for which the pass is offered takes it.
  static void compare(const std::string& fields, const Shape& bottom) {
    SCOPED_TRACE(fields + " of " + bottom.str());
    Prefer tuner("amx:native");  // oneDNN has AMX, too
    const KernelOptions how{.dtype = DType::kBF16,
                            .bottom_layouts = {onednn::layout_of(onednn::channels_last_desc(onednn::dims_of(bottom)))},
                            .tuner = &tuner};
    compare_with_reference("onednn", {{convolution_text(fields)}, {bottom}}, 4 * 0x1p-8, how);
    EXPECT_GT(tuner.taken, 0);
  }
};

using AddPasses = void(onednn::Direction, const onednn::ConvolutionProblem&, onednn::ConvolutionPasses&);

/// The pass of a problem, cut for so many threads, against sums in double.
void compare_exactly(AddPasses add_passes, const ConvolutionGeometry& geometry, int threads) {
  SCOPED_TRACE(half_problem(geometry).key(onednn::Direction::kBackwardWeights));
  const onednn::ConvolutionProblem problem = half_problem(geometry);
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  onednn::ConvolutionPasses passes;
  add_passes(onednn::Direction::kBackwardWeights, problem, passes);
  omp_set_num_threads(before);
  ASSERT_EQ(passes.size(), 1u);

  const int64_t pixels = geometry.batch * elements_out(geometry.axes), outputs = geometry.num_output;
  const auto x = half_numbers(geometry.batch * geometry.channels * elements_in(geometry.axes), 0.2f);
  const auto dy = half_numbers(pixels * outputs, 0.8f);
  std::vector<float> weights(static_cast<size_t>(geometry.weight_shape().count()), 1),
      bias(static_cast<size_t>(outputs), 2);
  std::vector<char> scratch(passes[0]->scratch_bytes(), 77);
  onednn::ConvolutionData data{x.data(), weights.data(), bias.data(), dy.data()};
  data.add_weights = data.add_bias = true;
  passes[0]->run(data, scratch.data());

  const int64_t filter = geometry.weight_shape().count(1);
  for (int64_t o = 0; o < outputs; ++o) {
    const auto gradient = [&](int64_t p) {
      return static_cast<double>(from_bf16(dy[static_cast<size_t>(p * outputs + o)]));
    };
    double sum = 2;
    for (int64_t p = 0; p < pixels; ++p) sum += gradient(p);
    EXPECT_NEAR(bias[static_cast<size_t>(o)], sum, 1e-4);
    for (int64_t i = 0; i < filter; ++i) {
      sum = 1;
      const int64_t group = o / (outputs / geometry.group);
      for (int64_t p = 0; p < pixels; ++p) {
        sum += gradient(p) * static_cast<double>(from_bf16(seen(geometry, x, i, p, group)));
      }
      ASSERT_NEAR(weights[static_cast<size_t>(o * filter + i)], sum, 1e-3) << threads << " threads, " << o << ", " << i;
    }
  }
}

TEST(AmxPass, ManyThreads) {
  const amx::PretendThereAreUnits pretend;
  const WindowAxis one{.in = 23, .kernel = 1}, three{.in = 20, .kernel = 3, .pad = 1};
  for (const int threads : {1, 3, 5}) {
    ConvolutionGeometry pointwise = image_geometry(40, one, one), window = image_geometry(3, three, three);
    pointwise.num_output = 36;
    window.num_output = 20;
    compare_exactly(amx::add_weights_passes, pointwise, threads);
    compare_exactly(amx::add_weights_passes, window, threads);
  }
}

/// Several rows and several images in a chunk, several chunks, pieces of the inputs, of the outputs, of the taps.
TEST(AmxPass, Windows) {
  const amx::PretendThereAreUnits pretend;
  const WindowAxis three{.in = 20, .kernel = 3, .pad = 1}, small{.in = 5, .kernel = 3, .pad = 1};
  const WindowAxis valid{.in = 11, .kernel = 5}, wide{.in = 9, .kernel = 3, .pad = 4, .dilation = 2};
  const WindowAxis one{.in = 9, .kernel = 1}, behind{.in = 9, .kernel = 3, .more_pad_behind = 2};
  const WindowAxis cut{.in = 9, .kernel = 3, .pad = 1, .more_pad_behind = -2};
  for (const int threads : {1, 2, 5}) {
    for (const ConvolutionGeometry& geometry :
         {image_geometry(40, three, three, 36), image_geometry(16, small, small, 20),
          image_geometry(24, valid, small, 16), image_geometry(16, wide, wide, 16), image_geometry(16, one, three, 16),
          image_geometry(16, three, one, 16), image_geometry(16, behind, cut, 16),
          image_geometry(160, small, small, 32), image_geometry(32, small, small, 290),
          image_geometry(32, {.in = 8, .kernel = 8}, {.in = 9, .kernel = 8}, 260),
          in_groups(image_geometry(60, three, small, 48), 3)}) {
      compare_exactly(amx::add_window_weights_passes, geometry, threads);
    }
  }
}

TEST(AmxPass, WindowsDecline) {
  const amx::PretendThereAreUnits pretend;
  const auto count = [](const ConvolutionGeometry& geometry) {
    onednn::ConvolutionPasses passes;
    amx::add_window_weights_passes(onednn::Direction::kBackwardWeights, half_problem(geometry), passes);
    return passes.size();
  };
  const WindowAxis one{.in = 9, .kernel = 1}, three{.in = 9, .kernel = 3}, strided{.in = 9, .kernel = 3, .stride = 2};
  EXPECT_EQ(count(image_geometry(16, one, one, 16)), 0u);
  EXPECT_EQ(count(image_geometry(16, three, strided, 16)), 0u);
  EXPECT_EQ(count(image_geometry(15, three, three, 16)), 0u);
  EXPECT_EQ(count(in_groups(image_geometry(32, three, three, 32), 4)), 0u);
  EXPECT_EQ(count(image_geometry(16, three, three, 16)), 1u);
}

TEST_F(AmxWeights, KernelsOfAllKinds) {
  compare("num_output: 64 kernel_size: 1 bias_term: false", {2, 32, 9, 7});
  compare("num_output: 48 kernel_size: 1 stride: 2", {2, 40, 9, 7});
  compare("num_output: 32 kernel_size: 3 pad: 1", {2, 16, 9, 7});
  compare("num_output: 20 kernel_size: 3 stride: 2", {3, 33, 8, 11});
  compare("num_output: 32 kernel_size: 3 dilation: 2 pad: 2", {1, 32, 9, 7});
  compare("num_output: 16 kernel_h: 5 kernel_w: 1 pad_h: 2", {2, 32, 9, 7});
  compare("num_output: 24 kernel_size: 7 stride: 2 pad: 3", {2, 3, 20, 18});
}

TEST_F(AmxWeights, FirstConvolutions) {
  compare("num_output: 96 kernel_size: 11 stride: 4", {1, 3, 31, 35});
  compare("num_output: 20 kernel_size: 5", {2, 1, 12, 12});
  compare("num_output: 32 kernel_size: 3 dilation: 2 pad: 2", {1, 3, 9, 7});
  compare("num_output: 32 kernel_h: 3 kernel_w: 1", {1, 3, 9, 7});
}

/// More than a chunk of pixels, than a block of outputs, and than one of inputs.
TEST_F(AmxWeights, SeveralPieces) {
  compare("num_output: 16 kernel_size: 1", {3, 16, 19, 23});
  compare("num_output: 300 kernel_size: 1", {1, 32, 5, 5});
  compare("num_output: 32 kernel_size: 1 bias_term: false", {1, 560, 5, 5});
}

}  // namespace
}  // namespace robusta::test::amx_weights_test
