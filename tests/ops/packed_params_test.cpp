// Copies of parameters in the order and type that products want, made together on an emulated GPU.
#include <gtest/gtest.h>

#include "device/sim/sim_device.h"
#include "ops/packed_params.h"

namespace robusta::test::packed_params_test {
namespace {

struct Case {
  DType type;
  int64_t outputs, rows, cols;
  int64_t count() const { return outputs * rows * cols; }
};

/// What stands at (output, col, row) of the copy.
float number(const Case& c, int64_t output, int64_t row, int64_t col) {
  return static_cast<float>((output * c.rows + row) * c.cols + col) / 4;
}

template <typename T>
void expect_packed(const Case& c, const void* copy) {
  const T* at = static_cast<const T*>(copy);
  for (int64_t output = 0; output < c.outputs; ++output) {
    for (int64_t col = 0; col < c.cols; ++col) {
      for (int64_t row = 0; row < c.rows; ++row, ++at) {
        ASSERT_EQ(static_cast<float>(*at), static_cast<float>(static_cast<T>(number(c, output, row, col))))
            << c.outputs << "x" << c.rows << "x" << c.cols << " at " << output << " " << row << " " << col;
      }
    }
  }
  EXPECT_EQ(static_cast<float>(*at), 77) << "written behind the end";
}

TEST(PackedParams, AreTransposedAndRounded) {
  std::vector<Case> cases = {{DType::kBF16, 1, 1, 1}, {DType::kF16, 3, 5, 9},  {DType::kF32, 4, 3, 7},
                             {DType::kBF16, 8, 6, 1}, {DType::kF16, 2, 1, 25}, {DType::kF32, 1, 64, 2}};
  while (cases.size() < 100) cases.push_back({DType::kBF16, 1 + static_cast<int64_t>(cases.size()) % 3, 2, 3});
  SimDevice gpu(size_t{1} << 20, 0, "emulated");
  std::vector<std::vector<float>> params;
  std::vector<std::vector<char>> copies;
  std::vector<PackJob> jobs;
  for (const Case& c : cases) {
    auto& param = params.emplace_back(static_cast<size_t>(c.count()));
    for (size_t i = 0; i < param.size(); ++i) param[i] = static_cast<float>(i) / 4;
    const auto size = static_cast<size_t>(c.count());
    auto& copy = copies.emplace_back((size + 1) * size_of(c.type));
    const std::vector<float> mark(size + 1, 77);
    from_floats(c.type, mark.data(), copy.data(), mark.size());
    jobs.push_back({param.data(), copy.data(), c.type, c.outputs, c.rows, c.cols});
  }
  const auto stream = gpu.make_stream();
  find_param_packer("emulated")(stream.get(), jobs);
  stream->synchronize();
  EXPECT_LE(gpu.kernels(), 4u);
  EXPECT_GE(gpu.kernels(), 2u) << "more than fit into the arguments of one";
  for (size_t i = 0; i < cases.size(); ++i) {
    switch (cases[i].type) {
      case DType::kF32:
        expect_packed<float>(cases[i], copies[i].data());
        break;
      case DType::kBF16:
        expect_packed<BFloat16>(cases[i], copies[i].data());
        break;
      default:
        expect_packed<Half>(cases[i], copies[i].data());
    }
  }
  EXPECT_EQ(find_param_packer("cpu"), nullptr);
}

}  // namespace
}  // namespace robusta::test::packed_params_test
