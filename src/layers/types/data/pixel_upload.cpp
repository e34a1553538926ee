#include "layers/types/data/pixel_upload.h"

#include <map>
#include <utility>

#include "memory/placement.h"

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

PixelUpload::PixelUpload(PixelForm form, const Shape& top, size_t others, PixelExpander expander)
    : form_(std::move(form)), batch_(top[0]), item_{top[1], top[2], top[3]}, expander_(expander) {
  bytes_at_ = align_up(static_cast<size_t>(batch_) * sizeof(PixelWindow));
  others_at_ = bytes_at_ + align_up(static_cast<size_t>(top.count()));
  means_at_ = others_at_ + align_up(others);
  total_ = means_at_ + align_up(form_.means.size() * sizeof(float));
}

void PixelUpload::expand(Stream& stream, const char* memory, float* out) const {
  const PixelJob job{reinterpret_cast<const uint8_t*>(memory + bytes_at_),
                     reinterpret_cast<const PixelWindow*>(memory),
                     reinterpret_cast<const float*>(memory + means_at_),
                     static_cast<int64_t>(form_.means.size()),
                     form_.mean_item,
                     form_.scale,
                     batch_,
                     item_,
                     out};
  stream.run([expander = expander_, &stream, job] { expander(&stream, job); });
}

}  // namespace robusta
