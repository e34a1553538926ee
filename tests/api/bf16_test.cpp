// What a program sees of a net of the host that stores bf16: numbers as ever, but no views of its memory.

#include <gtest/gtest.h>

#include "layers/types/convolution/convolution_types.h"
#include "robusta/net.h"
#include "support/close.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

/// The last blob lies in C order, whatever the order of the axes.
const std::string kPooled =
    R"(layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 8 dim: 9 dim: 9 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "y"
  convolution_param { num_output: 16 kernel_size: 3 weight_filler { type: "msra" } } }
layer { name: "mean" type: "Pooling" bottom: "y" top: "mean" pooling_param { pool: AVE global_pooling: true } }
)";

Net run(const std::string& precision) {
  NetOptions options;
  options.precision = precision;
  options.keep_blobs = true;
  Net net = Net::from_text(kPooled, options);
  std::vector<float> x(2 * 8 * 9 * 9);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 2;
  net.write("x", x);
  net.forward();
  return net;
}

TEST(ApiBf16Test, BlobsAreCopiedAndNotViewed) {
  if (!computes_in_bf16()) GTEST_SKIP() << "this processor does not compute in bf16";
  Net narrow = run("bf16"), exact = run("f32");
  for (const char* blob : {"y", "mean"}) {
    const Error error = error_of([&] { narrow.view(blob); });
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << blob;
    EXPECT_TRUE(contains(error.what(), "stored as bf16")) << error.what();
    EXPECT_NE(narrow.read(blob), exact.read(blob)) << blob;
    expect_close(narrow.read(blob), exact.read(blob), 0.02);
  }
  EXPECT_EQ(exact.view("mean").shape.size(), 4u);
  narrow.write("mean", std::vector<float>(32, 0.5f));  // which bf16 has exactly
  EXPECT_EQ(narrow.read("mean"), std::vector<float>(32, 0.5f));
}

}  // namespace
}  // namespace robusta::test
