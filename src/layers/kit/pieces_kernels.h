/// The kernels of layers that put tensors side by side along one axis, or cut one into such pieces: Concat, Slice.
///
/// Any element type, and any layout of which each row of a piece is stored as it is in the whole (pieces.h).
#pragma once

#include <string>

#include "layers/kit/booking.h"
#include "layers/kit/pieces.h"

namespace robusta {

/// How the whole and its pieces are stored; empty: plain.
struct PiecesLayouts {
  Layout whole;
  std::vector<Layout> pieces;
};

/// Top 0 is the bottoms side by side.
class JoinKernel : public Kernel {
 public:
  JoinKernel(const KernelRequest& request, Pieces pieces, std::string name, PiecesLayouts layouts = {});
  std::string describe() const override { return name_; }
  void forward(const KernelRun& run) override { pieces_.join(run.bottoms, run.tops[0]); }
  void backward(const KernelRun& run) override { pieces_.cut(run.top_diffs[0], run.bottom_diffs); }

 private:
  Pieces pieces_;
  std::string name_;
};

/// The tops side by side are bottom 0.
class CutKernel : public Kernel {
 public:
  CutKernel(const KernelRequest& request, Pieces pieces, std::string name, PiecesLayouts layouts = {});
  std::string describe() const override { return name_; }
  void forward(const KernelRun& run) override { pieces_.cut(run.bottoms[0], run.tops); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) pieces_.join(run.top_diffs, run.bottom_diffs[0]);
  }

 private:
  Pieces pieces_;
  std::string name_;
};

}  // namespace robusta
