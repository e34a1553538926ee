// Convolution on a GPU that is only described: each pass is one launch of a library's kernel, which reads its operands
// and writes its result once. What cuDNN's kernels launch besides is not counted: sums of parts where it splits the
// products of a filter's gradient, and orders of their own that older kernels turn arrays into.

#include "device/gpu/calls.h"
#include "layers/types/convolution/library_convolution.h"

namespace robusta {
namespace {

class DescribedLibrary {
 public:
  DescribedLibrary(const KernelRequest& request, const LibraryPasses& passes)
      : problem_(passes.problem), fold_(passes.fold), fused_(passes.fused) {
    for (size_t d = 0; d < 3; ++d) has_[d] = wants(request, static_cast<dnn::Direction>(d));
  }

  std::string describe() const { return std::string("library") + (fold_ ? " folded" : "") + (fused_ ? " fused" : ""); }
  bool has(dnn::Direction direction) const { return has_[static_cast<size_t>(direction)]; }
  size_t workspace_bytes(dnn::Direction) const { return 0; }
  bool gate() { return true; }
  bool sum() { return problem_.geometry.group == 1 && problem_.geometry.num_output % 16 == 0; }

  void run(dnn::Direction, Stream* stream, const ConvolutionArrays& arrays) const {
    const auto list = [&](KernelArrays& to) {
      const auto size = static_cast<int64_t>(size_of(problem_.type));
      to.add({arrays.image, problem_.image_size() * size});
      to.add({arrays.filters, problem_.filter_size() * size});
      to.add({arrays.result, problem_.result_size() * size});
      if (arrays.bias) to.add({arrays.bias, problem_.geometry.num_output * size});
      if (arrays.sums) to.add({arrays.sums, 2 * problem_.geometry.num_output * int64_t{sizeof(float)}});
      if (arrays.gate) to.add({arrays.gate, problem_.image_size() * size});
      if (arrays.addend) to.add({arrays.addend, problem_.result_size() * size});
    };
    detail::runs_call(stream, flops(), list);
  }

 private:
  /// As of the plain convolution, whatever the library makes of it.
  double flops() const { return (fold_ ? fold_->plain : problem_.geometry).flops(); }

  dnn::Problem problem_;
  std::optional<SpaceToDepth> fold_;
  bool has_[3], fused_;
};

std::unique_ptr<Kernel> make_convolution_described(const KernelRequest& request, std::string& why_not) {
  if (!request.device || !request.device->only_counts()) {
    why_not = "only for a GPU that is described";
    return nullptr;
  }
  why_not = objection_to_library(request);
  if (!why_not.empty()) return nullptr;
  LibraryPasses passes = ways_to_convolve(request).front();
  passes.fused = passes.problem.follows();
  const DescribedLibrary library(request, passes);
  return std::make_unique<LibraryConvolution<DescribedLibrary>>(request, std::move(passes), library);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL(FusedConvolution::pattern(), "library", 20, make_convolution_described);

}  // namespace robusta
