// A build without libwebp says so.

#include <gtest/gtest.h>

#include "data/image.h"
#include "robusta/error.h"
#include "support/errors.h"

namespace robusta::test::without_webp_test {
namespace {

TEST(WithoutWebpTest, ImagesSayWhatWasLeftOut) {
  Image image;
  const std::string file = "RIFF....WEBPVP8 ";
  for (const Error& error : {error_of([&] { decode_image(file, ColorMode::kColor, image); }),
                             error_of([&] { image_extent(file, ColorMode::kColor); })}) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_TRUE(contains(error.what(), "ROBUSTA_WEBP"));
  }
}

}  // namespace
}  // namespace robusta::test::without_webp_test
