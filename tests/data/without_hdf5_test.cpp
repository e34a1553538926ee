// A build without HDF5 says so.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "layers/kit/source_layer.h"
#include "support/errors.h"

namespace robusta::test::without_hdf5_test {
namespace {

TEST(WithoutHdf5Test, LayersSayWhatWasLeftOut) {
  for (const char* text : {"name: 'd' type: 'HDF5Data' top: 'x' hdf5_data_param { source: 'l' batch_size: 1 }",
                           "name: 'd' type: 'HDF5Output' hdf5_output_param { file_name: 'o.h5' }"}) {
    caffe::LayerParameter param;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param));
    const Error error = error_of([&] {
      const std::unique_ptr<Layer> layer = make_layer(param);
      dynamic_cast<SourceLayer&>(*layer).open({});
    });
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_TRUE(contains(error.what(), "built without HDF5"));
  }
}

}  // namespace
}  // namespace robusta::test::without_hdf5_test
