// Where expanders are found, and what they are given.

#include "layers/kit/pixel_upload.h"

#include <map>
#include <utility>

namespace robusta {
namespace {

std::map<std::string, PixelExpander>& expanders() {
  static std::map<std::string, PixelExpander> all;
  return all;
}

}  // namespace

bool register_pixel_expander(const std::string& kernel_kind, PixelExpander expander) {
  return expanders().emplace(kernel_kind, expander).second;
}

PixelExpander find_pixel_expander(const std::string& kernel_kind) {
  const auto found = expanders().find(kernel_kind);
  return found == expanders().end() ? nullptr : found->second;
}

PixelUpload::PixelUpload(PixelForm form, BatchLayout layout, PixelExpander expander)
    : form_(std::move(form)), layout_(std::move(layout)), expander_(expander) {}

void PixelUpload::expand(Stream& stream, const char* memory, float* out) const {
  const Shape& top = layout_.tops()[0];
  const PixelJob job{
      .bytes = reinterpret_cast<const uint8_t*>(memory + layout_.offset(0)),
      .windows = reinterpret_cast<const PixelWindow*>(memory),
      .means = reinterpret_cast<const float*>(memory + means_at()),
      .mean_count = static_cast<int64_t>(form_.means.size()),
      .mean_item = form_.mean_item,
      .scale = form_.scale,
      .batch = top[0],
      .item = {top[1], top[2], top[3]},
      .out = out,
  };
  stream.run([expander = expander_, &stream, job] { expander(&stream, job); });
}

}  // namespace robusta
