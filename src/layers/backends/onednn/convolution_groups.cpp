// Group by group: the channels of a group are gathered into dense tensors of their own, unless they are dense already,
// and results scattered back.

#include "layers/backends/onednn/convolution_groups.h"

#include <cstring>

#include "base/parallel.h"
#include "layers/backends/onednn/convolution_primitive.h"
#include "layers/backends/onednn/generation.h"
#include "layers/backends/onednn/layout.h"
#include "layers/backends/onednn/primitive.h"

namespace robusta::onednn {
namespace {

/// The channels of one group in a tensor whose channels, or blocks of channels, are its slowest axis but the batch.
struct GroupSlice {
  int64_t batch, sample_bytes, slice_bytes;

  GroupSlice(const Desc& whole, int64_t batch, int64_t group)
      : batch(batch), sample_bytes(static_cast<int64_t>(whole.get_size()) / batch), slice_bytes(sample_bytes / group) {}

  size_t bytes() const { return static_cast<size_t>(batch * slice_bytes); }
  /// A batch of one needs no copy.
  bool in_place() const { return batch == 1; }
  const void* in(const void* whole, int64_t group) const {
    return static_cast<const char*>(whole) + group * slice_bytes;
  }
  void gather(const void* whole, int64_t group, void* slice) const {
    const char* from = static_cast<const char*>(in(whole, group));
    char* to = static_cast<char*>(slice);
    parallel_for(batch, 1, [=, this](int64_t n) {
      std::memcpy(to + n * slice_bytes, from + n * sample_bytes, static_cast<size_t>(slice_bytes));
    });
  }
  void scatter(const void* slice, const void* whole, int64_t group) const {
    const char* from = static_cast<const char*>(slice);
    char* to = static_cast<char*>(const_cast<void*>(in(whole, group)));
    parallel_for(batch, 1, [=, this](int64_t n) {
      std::memcpy(to + n * sample_bytes, from + n * slice_bytes, static_cast<size_t>(slice_bytes));
    });
  }
};

ConvolutionProblem one_group(const ConvolutionProblem& problem) {
  ConvolutionProblem one = problem;
  const int64_t group = problem.geometry.group;
  one.geometry.channels /= group;
  one.geometry.num_output /= group;
  one.geometry.group = 1;
  auto narrow = [&](const Desc& desc, int64_t channels) {
    Dims dims = dims_of(desc);
    dims[1] = channels;
    return blocked_desc(dims, channel_block(layout_of(desc)));
  };
  one.src = narrow(problem.src, one.geometry.channels);
  one.dst = narrow(problem.dst, one.geometry.num_output);
  return one;
}

class GroupPass : public ConvolutionPass {
 public:
  /// `passes`: one for each group, or one for all.
  GroupPass(Direction direction, const ConvolutionProblem& problem, ConvolutionPasses passes)
      : direction_(direction),
        group_(problem.geometry.group),
        passes_(std::move(passes)),
        src_(problem.src, problem.geometry.batch, group_),
        dst_(problem.dst, problem.geometry.batch, group_),
        weight_count_(problem.geometry.weight_shape().count() / group_),
        bias_count_(problem.geometry.num_output / group_) {
    if (!src_.in_place()) src_at_ = plan_.add(src_.bytes());
    if (!dst_.in_place()) dst_at_ = plan_.add(dst_.bytes());
    scratch_at_ = plan_.add(passes_[0]->scratch_bytes());
  }
  std::string name() const override { return "by_group:" + passes_[0]->name(); }
  size_t scratch_bytes() const override { return plan_.bytes(); }
  size_t kept_bytes() const override {
    size_t bytes = 0;
    for (const auto& pass : passes_) bytes += pass->kept_bytes();
    return bytes;
  }

  void run(const ConvolutionData& data, void* scratch) override {
    for (int64_t g = 0; g < group_; ++g) run_group(data, g, scratch);
  }

 private:
  void run_group(const ConvolutionData& data, int64_t g, void* scratch) {
    ConvolutionData slice = data;
    slice.weights = part(data.weights, g * weight_count_);
    slice.bias = part(data.bias, g * bias_count_);
    const bool writes_dst = direction_ == Direction::kForward, writes_src = direction_ == Direction::kBackwardData;
    slice.src = enter(src_, data.src, g, at_offset(scratch, src_at_), !writes_src);
    slice.dst = enter(dst_, data.dst, g, at_offset(scratch, dst_at_), !writes_dst);
    passes_[static_cast<size_t>(g) % passes_.size()]->run(slice, at_offset(scratch, scratch_at_));
    if (writes_dst && !dst_.in_place()) dst_.scatter(slice.dst, data.dst, g);
    if (writes_src && !src_.in_place()) src_.scatter(slice.src, data.src, g);
  }

  static const void* enter(const GroupSlice& slice, const void* whole, int64_t g, void* copy, bool is_read) {
    if (slice.in_place()) return slice.in(whole, g);
    if (is_read) slice.gather(whole, g, copy);
    return copy;
  }
  static const void* part(const void* data, int64_t elements) {
    return data ? static_cast<const float*>(data) + elements : nullptr;
  }

  Direction direction_;
  int64_t group_;
  ConvolutionPasses passes_;
  GroupSlice src_, dst_;
  int64_t weight_count_, bias_count_;  // of one group
  ScratchPlan plan_;
  size_t src_at_ = 0, dst_at_ = 0, scratch_at_ = 0;
};

}  // namespace

void add_group_passes(Direction direction, const ConvolutionProblem& problem, ConvolutionPasses& passes) {
  const ConvolutionGeometry& geometry = problem.geometry;
  for (const Desc* desc : {&problem.src, &problem.dst}) {
    const int block = channel_block(layout_of(*desc));
    if (block < 8 || dims_of(*desc)[1] / geometry.group % block != 0) return;
  }
  // Packed weights that are kept need a pass for each group.
  ConvolutionPasses each;
  for (int64_t g = 0; g < (problem.inference ? geometry.group : 1); ++g) {
    ConvolutionPasses found;
    add_primitive_passes(direction, one_group(problem), dnnl::algorithm::convolution_winograd, found);
    if (found.empty()) return;
    each.push_back(std::move(found[0]));
  }
  passes.push_back(std::make_unique<GroupPass>(direction, problem, std::move(each)));
}

}  // namespace robusta::onednn
