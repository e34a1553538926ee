/// Data: images and labels from a database of Datum records.
///
/// Tops: data [batch, channels, height, width], and label [batch] if named. What is read and drawn depends only on the
/// positions that the passes ask for. Reads ahead on threads of its own from the first pass on.
#pragma once

#include <memory>
#include <string>

#include "data/datum_source.h"
#include "data/prefetcher.h"
#include "layers/kit/source_layer.h"

namespace robusta {

class DataLayer : public SourceLayer {
 public:
  /// Opens the source and looks at its first record. Throws Error{kConfig, kData, kUnsupported} in its field; a source
  /// that is absent is replaced by synthetic input when data_settings() say so.
  explicit DataLayer(const caffe::LayerParameter& param);

  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 1, .max_tops = 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;

  bool prepare(const Pass& pass) override;
  void fill(std::span<const Tensor> tops, const Pass& pass) override;
  void fill_pixels(PixelWindow* windows, uint8_t* bytes, std::span<const Tensor> others, const Pass& pass) override;
  std::optional<PixelForm> use_pixels(bool use) override;
  bool constant() const override { return synthetic(); }
  double seconds_waited() const override { return prefetcher_ ? prefetcher_->seconds_waited() : 0; }
  void set_batch(int64_t batch) override;
  void read_apart(int ranks) override { ranks_ = static_cast<uint64_t>(ranks); }
  int64_t records() const override;
  uint64_t fingerprint() const override;
  std::string sample_key(uint64_t position) const override;

 private:
  bool synthetic() const { return !source_; }
  void open();
  void fill_floats(std::span<const Tensor> tops, size_t first) const;
  void assume_extent();
  uint64_t own_position(uint64_t position, const Pass& pass) const;
  void report_wraps(const Pass& pass) const;

  int64_t batch_;
  uint64_t ranks_ = 1;                   // that have a source of their own each
  Extent item_;                          // of the tops as they stand
  bool as_pixels_ = false;               // top 0
  std::unique_ptr<DatumSource> source_;  // null: synthetic input
  std::unique_ptr<Prefetcher> prefetcher_;
  const Batch* ready_ = nullptr;
  Pass last_pass_;
};

}  // namespace robusta
