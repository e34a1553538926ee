/// Top 0 of a source as a device makes it from pixels: how they lie in the memory that is uploaded, and who makes them.
#pragma once

#include <optional>
#include <string>

#include "data/pixel_form.h"
#include "device/device.h"
#include "tensor/shape.h"

namespace robusta {

/// What there is to do, on a device: every pointer is to its memory.
struct PixelJob {
  const uint8_t* bytes;        ///< batch x C x H x W
  const PixelWindow* windows;  ///< one per sample
  const float* means;          ///< PixelForm::means
  int64_t mean_count;
  Extent mean_item;
  float scale;
  int64_t batch;
  Extent item;  ///< C x H x W
  float* out;   ///< like bytes
};

/// Writes job.out in the order of `stream`.
using PixelExpander = void (*)(Stream* stream, const PixelJob& job);

/// True, for initialising a static. `kernel_kind`: Device::kernel_kind.
bool register_pixel_expander(const std::string& kernel_kind, PixelExpander expander);
/// Null where the device has none.
PixelExpander find_pixel_expander(const std::string& kernel_kind);

/// The parts of the memory: windows, bytes, then what belongs to other tops, then the means, which stay.
class PixelUpload {
 public:
  /// `top`: batch x C x H x W. `others`: bytes of the other tops.
  PixelUpload(PixelForm form, const Shape& top, size_t others, PixelExpander expander);

  size_t bytes_at() const { return bytes_at_; }
  size_t others_at() const { return others_at_; }
  size_t means_at() const { return means_at_; }
  /// Of all parts; what is sent for each batch ends where the means begin.
  size_t total() const { return total_; }
  const PixelForm& form() const { return form_; }

  /// Has `stream` make the top at `out` from the parts at `memory`.
  void expand(Stream& stream, const char* memory, float* out) const;

 private:
  PixelForm form_;
  int64_t batch_;
  Extent item_;
  size_t bytes_at_, others_at_, means_at_, total_;
  PixelExpander expander_;
};

}  // namespace robusta
