// A pass over data like the one before it allocates nothing on the thread that drives the net.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "layers/kit/source_layer.h"
#include "sample_db.h"
#include "support/files.h"
#include "support/sanitizers.h"

// The sanitizers have an operator new of their own, which finds more than this test does.
#if !ROBUSTA_ADDRESS_SANITIZER && !ROBUSTA_THREAD_SANITIZER

namespace {
thread_local int64_t allocations = 0;  // of this thread, by operator new
}

// Inlined, gcc would see free() given what `new` returned, and warn.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace robusta::steady_pass_test {
namespace {

constexpr uint64_t kBatch = 4, kPasses = 40;

/// Allocations of the first passes over a source, which starts threads and makes batches, and of all later ones.
void expect_steady(SourceLayer& source) {
  int64_t first = 0, later = 0;
  for (uint64_t k = 0; k < kPasses; ++k) {
    const Pass pass{.seed = 1, .first_sample = k * kBatch, .next_sample = (k + 1) * kBatch, .batch = kBatch};
    const int64_t before = allocations;
    source.prepare(pass);
    (k < 2 ? first : later) += allocations - before;
  }
  EXPECT_GT(first, 0);
  EXPECT_EQ(later, 0);
}

std::unique_ptr<Layer> layer_of(const std::string& text) {
  caffe::LayerParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("name: 'd' top: 'x' top: 'l' " + text, &param)) << text;
  return make_layer(param);
}

SourceLayer& opened(Layer& layer) {
  auto& source = dynamic_cast<SourceLayer&>(layer);
  source.open({});
  return source;
}

TEST(SteadyPassTest, PreparingABatchAllocatesNothing) {
  const test::TempDir dir;
  test::write_database(dir / "db", kBatch * kPasses + 1, [](int i) { return test::raw_datum({1, 6, 5}, i % 10, 1); });
  const auto layer =
      layer_of("type: 'Data' data_param { backend: LMDB batch_size: 4 prefetch: 3 source: '" + (dir / "db") + "' }");
  expect_steady(opened(*layer));
}

TEST(SteadyPassTest, NorDoOtherSources) {
  const test::TempDir dir;
  test::write_file(dir / "a.png", encode_image(test::random_image({3, 6, 5}, 1), ImageFormat::kPng));
  std::string list;
  for (uint64_t i = 0; i <= kBatch * kPasses; ++i) list += (dir / "a.png") + " 1\n";
  test::write_file(dir / "list.txt", list);
  const auto images =
      layer_of("type: 'ImageData' image_data_param { batch_size: 4 shuffle: true rand_skip: 3 source: '" +
               (dir / "list.txt") + "' }");
  expect_steady(opened(*images));
  const auto memory = layer_of("type: 'MemoryData' memory_data_param { batch_size: 4 channels: 1 height: 1 width: 2 }");
  SourceLayer& source = opened(*memory);
  source.set_samples(std::vector<float>(2 * (kBatch * kPasses + 1)), std::vector<float>(kBatch * kPasses + 1));
  expect_steady(source);
}

}  // namespace
}  // namespace robusta::steady_pass_test

#endif
