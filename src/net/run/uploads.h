/// The way of batches, and of a pass's position, into the memory of a device that is not the host.
///
/// Batches that a source lends lie in page-locked memory already; others are written into one of two pieces of it in
/// turn. A stream of its own copies the batch beside the work of the pass before, into device memory from where the
/// pass takes it; images go as pixels, which the device makes numbers of (layers/kit/pixel_upload.h). The host waits
/// for nothing but a piece whose copy is still under way. One thread drives it, the executor's.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "layers/kit/source_layer.h"
#include "net/plan/plan.h"
#include "net/run/pinned_ring.h"

namespace robusta {

class Uploads {
 public:
  /// `persistent`: the memory of the plan's persistent values. All are kept by reference. Throws Error{kMemory}.
  Uploads(const Plan& plan, void* persistent, Device& device, Stream& compute);
  /// Waits for copies under way.
  ~Uploads();

  /// Starts the copy of the batch that `source` has ready, or writes for `pass`.
  void send(StepId step, std::span<const Tensor> tops, SourceLayer& source, const Pass& pass);
  /// Has the compute stream take what was sent last into the tops, or make them from it.
  void deliver(StepId step, std::span<const Tensor> tops);

  /// Has the compute stream write Plan::position, if the plan has it.
  void send_position(uint64_t first_sample);
  /// Where kernels find it in the device's memory; null: none looks.
  const uint64_t* position() const { return position_; }

 private:
  /// Where one source's batches go.
  struct Upload {
    StepId step;
    bool lent;
    std::shared_ptr<const PixelUpload> pixels;
    char* device;
    size_t bytes;     ///< that are sent each time
    PinnedRing host;  ///< of batches that are not lent
    std::shared_ptr<Event> arrived, taken;
  };
  Upload& upload_of(StepId step);
  void send_lent(Upload& upload, Batch& batch);
  void send_filled(Upload& upload, std::span<const Tensor> tops, SourceLayer& source, const Pass& pass);
  void copy(Upload& upload, const char* host);
  void send_means(const PixelUpload& pixels, char* device);
  template <typename Each>
  static void for_plain_tops(const Upload& upload, std::span<const Tensor> tops, const Each& each);

  Stream& compute_;
  std::unique_ptr<Stream> stream_;
  std::vector<Upload> uploads_;
  uint64_t* position_ = nullptr;  ///< in device memory; null: no kernel reads it
  PinnedRing positions_;          ///< from where it is copied
};

}  // namespace robusta
