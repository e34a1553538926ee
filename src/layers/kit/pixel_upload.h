/// Top 0 of a source as a device makes it from pixels: how they lie in the memory that is uploaded, and who makes them.
#pragma once

#include <optional>
#include <string>

#include "data/batch.h"

namespace robusta {

/// What there is to do, on a device: every pointer is to its memory.
struct PixelJob {
  const uint8_t* bytes;        ///< batch x C x H x W
  const PixelWindow* windows;  ///< one per sample
  const float* means;          ///< PixelForm::means
  int64_t mean_count;          ///< 1, one per channel, or mean_item.count()
  Extent mean_item;
  float scale;
  int64_t batch;  ///< samples
  Extent item;    ///< C x H x W
  float* out;     ///< like bytes
};

/// Writes job.out in the order of `stream`.
using PixelExpander = void (*)(Stream* stream, const PixelJob& job);

/// True, for initialising a static. `kernel_kind`: Device::kernel_kind.
bool register_pixel_expander(const std::string& kernel_kind, PixelExpander expander);
/// Null where the device has none.
PixelExpander find_pixel_expander(const std::string& kernel_kind);

/// The parts of the device's memory: a batch as the host has it, then the means, which stay.
class PixelUpload {
 public:
  /// REQUIRES: layout.pixels().
  PixelUpload(PixelForm form, BatchLayout layout, PixelExpander expander);

  const BatchLayout& layout() const { return layout_; }
  /// What is sent for each batch ends here.
  size_t means_at() const { return layout_.bytes(); }
  size_t total() const { return means_at() + align_up(form_.means.size() * sizeof(float)); }
  const PixelForm& form() const { return form_; }

  /// Has `stream` make the top at `out` from the parts at `memory`.
  void expand(Stream& stream, const char* memory, float* out) const;

 private:
  PixelForm form_;
  BatchLayout layout_;
  PixelExpander expander_;
};

}  // namespace robusta
