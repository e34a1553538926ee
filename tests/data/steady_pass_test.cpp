// A pass over data like the one before it allocates nothing on the thread that drives the net.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "layers/kit/source_layer.h"
#include "sample_db.h"
#include "support/files.h"

// The sanitizers have an operator new of their own, which finds more than this test does.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

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

namespace robusta {
namespace {

TEST(SteadyPassTest, PreparingABatchAllocatesNothing) {
  constexpr uint64_t kBatch = 4, kPasses = 40;
  const test::TempDir dir;
  test::write_database(dir / "db", kBatch * kPasses + 1, [](int i) { return test::raw_datum({1, 6, 5}, i % 10, 1); });
  caffe::LayerParameter param;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'd' type: 'Data' top: 'x' top: 'l' data_param { backend: LMDB batch_size: 4 prefetch: 3 }", &param));
  param.mutable_data_param()->set_source(dir / "db");
  const std::unique_ptr<Layer> layer = make_layer(param);
  auto& source = dynamic_cast<SourceLayer&>(*layer);
  source.open({});

  int64_t first = 0, later = 0;
  for (uint64_t k = 0; k < kPasses; ++k) {
    const Pass pass{.seed = 1, .first_sample = k * kBatch, .next_sample = (k + 1) * kBatch, .batch = kBatch};
    const int64_t before = allocations;
    source.prepare(pass);
    (k < 2 ? first : later) += allocations - before;
  }
  EXPECT_GT(first, 0);  // starts threads and makes batches
  EXPECT_EQ(later, 0);
}

}  // namespace
}  // namespace robusta

#endif
