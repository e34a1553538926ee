/// What the kernels of SPP have in common: the kernels of its poolings, which the registry has, and the memory between
/// them and the layer. Everything is plain.
///
/// Forward pools each level into scratch and puts these side by side; backward cuts the gradient up again and adds what
/// the levels make of it, in their order. How arrays are put side by side, cut and added is the business of a device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layers/kit/kernel.h"
#include "layers/types/spp/spp.h"

namespace robusta {

/// A level's kernel, with the layer that it refers to.
struct SppPooling {
  std::shared_ptr<const Layer> layer;
  std::unique_ptr<Kernel> kernel;
  TensorDesc top;
};

/// The best kernels of device kind `kind`, of backend `only` unless that is empty. Empty, with the reasons, where a
/// level has none.
std::vector<SppPooling> choose_spp_poolings(const KernelRequest& request, const std::string& kind,
                                            const std::string& only, std::string& why_not);

class SppKernel : public Kernel {
 public:
  SppKernel(const KernelRequest& request, std::vector<SppPooling> levels);
  std::string describe() const override { return levels_[0].kernel->describe(); }
  void forward(const KernelRun& run) override;
  void backward(const KernelRun& run) override;
  void check(const Pass& pass) override;

 protected:
  /// What each level gives, as [batch, numbers of a sample].
  const std::vector<TensorDesc>& rows() const { return rows_; }

  virtual void join(Stream* stream, std::span<const Tensor> rows, const Tensor& top) const = 0;
  virtual void cut(Stream* stream, const Tensor& top, std::span<const Tensor> rows) const = 0;
  /// to += from
  virtual void add(Stream* stream, const Tensor& from, const Tensor& to) const = 0;

 private:
  /// Points `placed_` to the levels' tops or their gradients: from the beginning of scratch on; with one level, to the
  /// layer's own.
  void place_rows(const KernelRun& run, const Tensor& top);
  KernelRun run_of(size_t level, const KernelRun& run, size_t scratch) const;
  Tensor as_pooled(size_t level, const Tensor& row) const { return {levels_[level].top, row.data}; }

  std::vector<SppPooling> levels_;
  std::vector<TensorDesc> rows_;
  std::vector<Tensor> placed_;  // rows_ in the memory of a run; here because a run allocates nothing
  std::vector<size_t> saved_at_;
  size_t rows_bytes_ = 0;  // of scratch: all rows
};

}  // namespace robusta
