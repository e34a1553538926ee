// The C interface: its options across versions, inputs of other shapes.

#include "robusta.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include "support/errors.h"

namespace robusta::test {
namespace {

/// Shapes of x and target have to agree.
constexpr char kNet[] =
    "layer { name: 'in' type: 'Input' top: 'x' top: 'target'"
    "  input_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 1 } } }"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param { num_output: 1 } }"
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 'target' top: 'loss' }";

struct Free {
  void operator()(robusta_net* net) const { robusta_net_free(net); }
};
using NetHandle = std::unique_ptr<robusta_net, Free>;

/// Null where it is refused.
NetHandle net_with(const robusta_net_options* options) {
  robusta_net* net = nullptr;
  return NetHandle(robusta_net_from_text(kNet, options, &net) == 0 ? net : nullptr);
}

TEST(CTest, OptionsOfAnOlderProgramAreNotWrittenBeyondTheirEnd) {
  constexpr size_t kOlder = offsetof(robusta_net_options, seed);
  constexpr int kUnknown = 0xab;
  robusta_net_options options;
  std::memset(static_cast<void*>(&options), kUnknown, sizeof options);
  EXPECT_EQ(robusta_net_options_init_sized(&options, kOlder), 0);
  EXPECT_EQ(options.size, kOlder);
  EXPECT_EQ(options.gpu, -1);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&options);
  EXPECT_TRUE(std::all_of(bytes + kOlder, bytes + sizeof options, [](int byte) { return byte == kUnknown; }));
  EXPECT_TRUE(net_with(&options)) << "a batch of that many samples would not fit: " << robusta_last_error();
}

TEST(CTest, OptionsOfAnUnknownSizeAreRefused) {
  robusta_net_options options;
  EXPECT_EQ(robusta_net_options_init_sized(&options, sizeof options + 8), 1);
  EXPECT_TRUE(contains(robusta_last_error(), "options of"));
  EXPECT_FALSE(net_with(&options)) << "as long as they are not set";
  EXPECT_EQ(robusta_net_options_init_sized(&options, 0), 1);
  EXPECT_EQ(robusta_net_options_init_sized(nullptr, sizeof options), 1);
  EXPECT_EQ(robusta_net_options_init(&options), 0);
  EXPECT_EQ(options.size, sizeof options);
  EXPECT_TRUE(net_with(&options));
  options.size = sizeof options + 8;
  EXPECT_FALSE(net_with(&options));
}

TEST(CTest, SeveralInputsTakeOtherShapesAtOnce) {
  const NetHandle net = net_with(nullptr);
  ASSERT_TRUE(net);
  const int64_t x[] = {4, 3}, target[] = {4, 1};
  EXPECT_EQ(robusta_net_reshape(net.get(), "x", x, 2), 2);
  const char* const inputs[] = {"x", "target"};
  const int64_t* const extents[] = {x, target};
  const int axes[] = {2, 2};
  EXPECT_EQ(robusta_net_reshape_inputs(net.get(), 2, inputs, extents, axes), 0) << robusta_last_error();
  int64_t shape[2] = {};
  int found = 0;
  EXPECT_EQ(robusta_net_shape(net.get(), "y", shape, 2, &found), 0);
  EXPECT_EQ(shape[0], 4);
  EXPECT_EQ(robusta_net_reshape_inputs(net.get(), 2, inputs, nullptr, axes), 1);
  EXPECT_EQ(robusta_net_reshape_inputs(net.get(), 2, inputs, extents, nullptr), 1);
}

}  // namespace
}  // namespace robusta::test
