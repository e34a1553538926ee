// What oneDNN says of the memory that a primitive needs is looked at before it is believed.

#include <gtest/gtest.h>

#include "layers/backends/onednn/primitive.h"

namespace robusta::onednn::onednn_primitive_test {
namespace {

TEST(OnednnStep, TakesScratchMemoryThatIsNoneOrSomeBytes) {
  EXPECT_EQ(Step({}, {}, Desc()).scratch_bytes(), 0u);
  const Desc bytes({100}, dnnl::memory::data_type::u8, dnnl::memory::format_tag::x);
  EXPECT_EQ(Step({}, {}, bytes).scratch_bytes(), 100u);
}

TEST(OnednnStep, RefusesScratchMemoryThatIsNoBytes) {
  const Desc floats({100}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::x);
  EXPECT_THROW(Step({}, {}, floats), dnnl::error);
}

#if DNNL_VERSION_MAJOR < 3  // whose descriptions can be written to
TEST(OnednnStep, RefusesScratchMemoryThatWasNeverDescribed) {
  for (const int axes : {-40000000, -1, 2, 1605}) {
    Desc left_as_found;
    left_as_found.data.ndims = axes;
    EXPECT_THROW(Step({}, {}, left_as_found), dnnl::error) << axes << " axes";
  }
  Desc negative({100}, dnnl::memory::data_type::u8, dnnl::memory::format_tag::x);
  negative.data.dims[0] = -100;
  EXPECT_THROW(Step({}, {}, negative), dnnl::error);
}
#endif

}  // namespace
}  // namespace robusta::onednn::onednn_primitive_test
