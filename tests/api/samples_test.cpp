// MemoryData through the public headers, C++ and C.

#include <gtest/gtest.h>

#include "robusta.h"
#include "robusta/net.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

using Numbers = std::vector<float>;

constexpr char kNet[] =
    "layer { name: 'd' type: 'MemoryData' top: 'x' top: 'l'"
    "  memory_data_param { batch_size: 2 channels: 1 height: 1 width: 2 } }";

TEST(ApiSamplesTest, PassesGoOverThemAndSeekFindsThem) {
  Net net = Net::from_text(kNet);
  EXPECT_EQ(error_of([&] { net.forward(); }).kind(), ErrorKind::kConfig);
  net.set_samples("d", Numbers{1, 2, 3, 4, 5, 6}, Numbers{7, 8, 9});
  net.seek(0);
  net.forward();
  EXPECT_EQ(net.read("x"), (Numbers{1, 2, 3, 4}));
  net.forward();
  EXPECT_EQ(net.read("l"), (Numbers{9, 7}));
  net.seek(1);
  net.forward();
  EXPECT_EQ(net.read("l"), (Numbers{8, 9}));
  EXPECT_EQ(error_of([&] { net.set_samples("d", Numbers{1}, Numbers{1}); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { net.set_samples("e", Numbers{1}, Numbers{1}); }).kind(), ErrorKind::kUsage);
}

TEST(ApiSamplesTest, FromC) {
  robusta_net* net = nullptr;
  ASSERT_EQ(robusta_net_from_text(kNet, nullptr, &net), 0) << robusta_last_error();
  const float data[] = {1, 2, 3, 4}, labels[] = {5, 6};
  EXPECT_EQ(robusta_net_set_samples(net, "d", data, 4, labels, 2), 0) << robusta_last_error();
  EXPECT_EQ(robusta_net_forward(net, nullptr), 0);
  float read[4] = {};
  EXPECT_EQ(robusta_net_read(net, "x", read, 4), 0);
  EXPECT_EQ(read[3], 4);
  EXPECT_EQ(robusta_net_set_samples(net, "d", data, 3, labels, 2), 1);
  EXPECT_EQ(robusta_net_set_samples(net, "d", nullptr, 4, labels, 2), 1);
  EXPECT_EQ(robusta_net_set_samples(net, nullptr, data, 4, labels, 2), 1);
  robusta_net_free(net);
}

}  // namespace
}  // namespace robusta::test
