/// The convolution that one of the ranks computes which share out the outputs of a layer: its own outputs, of the
/// samples of all of them, by the kernel that this convolution would have as a layer of its own.
///
/// Outside all arrays are plain; where the kernel wants others they are reordered here, on their way in and out.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "layers/kit/kernel.h"
#include "layers/kit/scratch_plan.h"
#include "layers/types/convolution/convolution.h"

namespace robusta {

class PartConvolution {
 public:
  /// Of a cut layer's request, by a kernel of `backend`. Null where that declines.
  static std::unique_ptr<PartConvolution> make(const KernelRequest& request, const std::string& backend,
                                               std::string& why_not);

  std::string describe() const { return kernel_->describe(); }
  /// [ranks of the group, batch] samples of the channels that the part reads, and of those that it writes.
  int64_t inputs() const { return x_.desc.count(); }
  int64_t outputs() const { return y_.desc.count(); }
  /// Kept from forward to backward.
  size_t saved_bytes() const { return saved_.bytes(); }
  size_t forward_scratch() const { return forward_.bytes(); }
  size_t backward_scratch() const { return backward_.bytes(); }

  /// Where the caller puts the inputs before forward.
  void* input(void* saved, void* scratch) const {
    if (x_.enter) return at_offset(scratch, plain_at_);
    return keeps_inputs_ ? saved : at_offset(scratch, x_at_);
  }
  /// `run`: that of the whole layer, for its parameters and pass.
  void forward(const KernelRun& run, void* y, void* saved, void* scratch);
  /// Writes the gradients of the part's rows of the parameters, and `dx` unless that is null.
  void backward(const KernelRun& run, void* dy, void* dx, void* saved, void* scratch);

 private:
  /// An array that the kernel has in a layout of its own, perhaps.
  struct Side {
    TensorDesc desc;                                  ///< as the kernel has it
    std::unique_ptr<Reorder> enter = {}, leave = {};  ///< null: it is plain there, too
    void from_plain(const TensorDesc& plain);
    size_t scratch_bytes() const {
      return enter ? std::max(enter->scratch_bytes(), leave->scratch_bytes()) : size_t{0};
    }
  };

  PartConvolution(const KernelRequest& request, const ModelGroup& group);
  bool choose(const std::string& backend, std::string& why_not);
  void book();
  void point_at_part(const KernelRun& run);
  KernelRun run_of(const KernelRun& run, void* saved, void* scratch) const;

  const int part_, parts_;
  std::unique_ptr<Layer> layer_;
  KernelRequest request_;
  std::unique_ptr<Kernel> kernel_;
  Side x_, y_;
  bool keeps_inputs_ = false;  ///< backward reads them
  std::array<Param, 2> params_;
  std::array<Param*, 2> pointers_;
  ScratchPlan saved_, forward_, backward_;
  size_t kernel_saved_at_ = 0;                                  ///< in saved memory, behind the inputs if they are kept
  size_t plain_at_ = 0, x_at_ = 0, y_at_ = 0, forward_at_ = 0;  ///< in forward's scratch memory
  size_t dy_at_ = 0, dx_at_ = 0, backward_at_ = 0;              ///< in backward's
};

}  // namespace robusta
