/// Batches of images and labels from a reader of Datum records.
///
/// Sample p of the run is record Sampler(p) of the source, transformed with the draws of p. Immutable; fills batches
/// from many threads.
#pragma once

#include <memory>
#include <string>

#include "data/batch.h"
#include "data/datum.h"
#include "data/reader.h"
#include "data/sampler.h"
#include "data/transformer.h"

namespace robusta {

struct DatumSourceOptions {
  std::string layer;     ///< key of the random numbers
  bool shuffle = false;  ///< each epoch in an order of its own
  bool labels = true;    ///< whether array 1, of shape [batch], holds the labels
  bool pixels = false;   ///< batches hold PixelBatch in place of array 0's values
};

class DatumSource : public BatchFiller {
 public:
  DatumSource(std::shared_ptr<const RecordReader> reader, Transformer transformer, DatumSourceOptions options);

  /// Array 0: batch x C x H x W, from the first item of the batch, which all others must agree with.
  void open(Batch& batch) const override;
  void fill(Batch& batch, int64_t begin, int64_t end) const override;

  /// The size that the item at `position` has after the transformation. Throws Error{kData} naming the record.
  Extent extent(uint64_t seed, uint64_t position) const;
  /// Key and source of the record at `position`.
  std::string name(uint64_t seed, uint64_t position) const;
  const RecordReader& reader() const { return *reader_; }
  /// Whether record 0 is an image file. Throws Error{kData} naming the record.
  bool encoded() const;
  /// Whether record 0 holds bytes, be they a file's, so that batches can be pixels. Throws Error{kData}.
  bool has_pixels() const;
  /// Has batches be pixels from now on, or floats. REQUIRES: nobody fills any.
  void set_pixels(bool pixels) { options_.pixels = pixels; }
  PixelForm form() const { return transformer_.form(); }

 private:
  Sampler sampler(uint64_t seed) const;
  DatumView first() const;
  void write(Batch& batch, int64_t i, const Pixels& item, const Extent& wanted, uint64_t key) const;
  template <typename Body>
  auto naming(int64_t index, const Body& body) const;

  std::shared_ptr<const RecordReader> reader_;
  Transformer transformer_;
  DatumSourceOptions options_;
};

}  // namespace robusta
