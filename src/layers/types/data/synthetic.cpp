#include "layers/types/data/synthetic.h"

#include <algorithm>
#include <cctype>

#include "base/parallel.h"
#include "base/philox.h"

namespace robusta {
namespace {

AssumedExtent guess_from(std::string source) {
  std::transform(source.begin(), source.end(), source.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* word : {"mnist", "digits", "lenet"}) {
    if (source.find(word) != std::string::npos)
      return {{1, 28, 28}, std::string("the size of MNIST, as the source says ") + word};
  }
  if (source.find("cifar") != std::string::npos) return {{3, 32, 32}, "the size of CIFAR, as the source says cifar"};
  return {{3, 224, 224}, "the usual size for ImageNet, as nothing says otherwise"};
}

}  // namespace

AssumedExtent assume_item_extent(const caffe::LayerParameter& param) {
  const caffe::TransformationParameter& transform = param.transform_param();
  AssumedExtent assumed = guess_from(param.data_param().source());
  auto size_by = [&](int64_t height, int64_t width, const std::string& reason) {
    assumed.extent.height = height;
    assumed.extent.width = width;
    assumed.reason = reason;
  };
  if (transform.crop_size() > 0)
    size_by(transform.crop_size(), transform.crop_size(), "the size of the crop");
  else if (transform.crop_h() > 0)
    size_by(transform.crop_h(), transform.crop_w(), "the size of the crop");
  else if (transform.resize_param().height() > 0)
    size_by(transform.resize_param().height(), transform.resize_param().width(), "the size of the resize");
  if (transform.mean_value_size() > 1) assumed.extent.channels = transform.mean_value_size();
  if (transform.force_color()) assumed.extent.channels = 3;
  if (transform.force_gray()) assumed.extent.channels = 1;
  return assumed;
}

void fill_synthetic(std::span<const Tensor> tops, uint64_t key) {
  dispatch(tops[0].desc.dtype, [&](auto t) {
    using T = decltype(t);
    T* out = tops[0].as<T>();
    constexpr int64_t kGrain = 1 << 14;
    parallel_for(tops[0].count(), kGrain, [=](int64_t i) {
      const auto at = static_cast<uint64_t>(i);
      out[i] = static_cast<T>(2 * uniform01(philox(key, 0, at / 4)[at % 4]) - 1);
    });
  });
  for (const Tensor& label : tops.subspan(1)) {
    dispatch(label.desc.dtype, [&](auto t) { std::fill_n(label.as<decltype(t)>(), label.count(), decltype(t){0}); });
  }
}

}  // namespace robusta
