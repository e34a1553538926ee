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
  while (cases.size() < 400) cases.push_back({DType::kBF16, 1 + static_cast<int64_t>(cases.size()) % 3, 2, 3});
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
  find_param_packer("emulated")->pack(stream.get(), jobs);
  stream->synchronize();
  EXPECT_EQ(gpu.kernels(), 2u) << "more than fit into the arguments of one";
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

/// What is unpacked is what was packed, rounded; or that is added to what there is, wherever that lies.
TEST(PackedParams, GradientsComeBack) {
  const std::vector<Case> cases = {{DType::kBF16, 1, 1, 1},  {DType::kF16, 3, 5, 9},  {DType::kF32, 4, 3, 7},
                                   {DType::kBF16, 8, 6, 1},  {DType::kF32, 5, 7, 1},  {DType::kF16, 2, 1, 25},
                                   {DType::kBF16, 3, 16, 9}, {DType::kF32, 1, 64, 2}, {DType::kF16, 1, 3, 1}};
  SimDevice gpu(size_t{1} << 20, 0, "emulated");
  const ParamPacker& packer = *find_param_packer("emulated");
  const auto stream = gpu.make_stream();
  for (const bool add : {false, true}) {
    for (const size_t shift : {0, 1}) {  // of the gradient, from where packs can be read
      for (const Case& c : cases) {
        const auto size = static_cast<size_t>(c.count());
        std::vector<float> plain(size), back(shift + size + 1, 77);
        for (size_t i = 0; i < size; ++i) plain[i] = static_cast<float>(i) / 3;
        std::vector<char> packed(size * size_of(c.type) + 64);
        void* const at = packed.data() + (16 - reinterpret_cast<uintptr_t>(packed.data()) % 16);
        const PackJob there{plain.data(), at, c.type, c.outputs, c.rows, c.cols};
        packer.pack(stream.get(), {&there, 1});
        const UnpackJob home{at, c.type, c.outputs, c.rows, c.cols, back.data() + shift, add};
        packer.unpack(stream.get(), {&home, 1});
        stream->synchronize();
        std::vector<char> rounded(size * size_of(c.type));
        from_floats(c.type, plain.data(), rounded.data(), size);
        to_floats(c.type, rounded.data(), plain.data(), size);
        for (size_t i = 0; i < size; ++i) {
          ASSERT_EQ(back[shift + i], plain[i] + (add ? 77 : 0))
              << i << " of " << c.outputs << "x" << c.rows << "x" << c.cols;
        }
        EXPECT_EQ(back.back(), 77) << "written behind the end";
        EXPECT_EQ(shift == 0 ? 77 : back[0], 77) << "written before the beginning";
      }
    }
  }
}

}  // namespace
}  // namespace robusta::test::packed_params_test
