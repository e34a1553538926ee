/// Layers that bring data into the net.
#pragma once

#include <optional>
#include <span>

#include "data/pixel_form.h"
#include "layers/kit/kernel.h"
#include "layers/kit/layer.h"

namespace robusta {

/// A layer without bottoms that fills its tops on the host. The net calls, in this order and from one thread:
/// prepare(pass) - infer_tops again if the shapes may have changed - fill(tops, pass).
class SourceLayer : public Layer {
 public:
  using Layer::Layer;
  bool is_source() const override { return true; }
  bool has_backward() const override { return true; }  // nothing to do: no bottoms

  /// Makes the batch at pass.first_sample ready (waits for the reader). Returns true if a top changes its shape.
  /// Throws Error{kData} for a bad record.
  virtual bool prepare(const Pass& pass) { return false; }
  /// Writes the tops (plain, host memory, f32 or f64).
  virtual void fill(std::span<const Tensor> tops, const Pass& pass) = 0;
  /// The same where a device makes top 0 from pixels: writes `windows` and `bytes` (data/pixel_form.h), and the other
  /// tops. REQUIRES: use_pixels(true) was the last call of that.
  virtual void fill_pixels(PixelWindow* windows, uint8_t* bytes, std::span<const Tensor> others, const Pass& pass) {}
  /// Says before the first pass whether top 0 is to be pixels. Returns what becomes of them; nothing: it has none, and
  /// `fill` is called as ever.
  virtual std::optional<PixelForm> use_pixels(bool use) { return std::nullopt; }
  /// True when the tops keep what was written into them (Input, constant DummyData): fill is then called only after
  /// planning, and the memory is kept between passes.
  virtual bool constant() const { return false; }
  /// Seconds that prepare has waited for the reader so far.
  virtual double seconds_waited() const { return 0; }
  /// Replaces the number of samples per batch (`-batch`).
  virtual void set_batch(int64_t batch) = 0;
  /// Gives a top another shape (Input only). False: this source decides by itself.
  virtual bool reshape_top(int top, const Shape& shape) { return false; }
  /// Each of so many ranks has a source of its own (%# in the prototxt), and reads all of it: positions, which count
  /// over all ranks, are divided among them.
  virtual void read_apart(int ranks) {}
  /// Records of the source, over all ranks; 0: it has no end.
  virtual int64_t records() const { return 0; }
  /// Of what is read, for comparing over ranks; 0: nothing is, or each rank has its own.
  virtual uint64_t fingerprint() const { return 0; }
  /// Names what a sample was read from ("00000012_cat.jpg in train_lmdb"), for reports of a bad batch. "" if unknown.
  virtual std::string sample_key(uint64_t position) const { return ""; }
};

}  // namespace robusta
