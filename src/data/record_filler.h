/// From the bytes of a record to one sample of a batch: what a kind of source adds to those of its reader.
///
/// Immutable but for decode_scaled(); called from many threads at once. Errors need not name the record: whoever calls
/// adds that.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "data/batch.h"

namespace robusta {

/// One sample of a batch.
struct Sample {
  int64_t record = 0;     ///< its index in the reader
  uint64_t position = 0;  ///< global: what is drawn for the sample depends on this and the seed alone
  uint64_t seed = 0;      ///< random_seed of the run
  int64_t place = 0;      ///< in the batch
};

class RecordFiller {
 public:
  virtual ~RecordFiller() = default;

  /// From now on JPEGs that are made smaller at once may be decoded to a part of their size (decode_image with a wanted
  /// one): faster, and not BVLC's bytes. Called before all else; sources without such images do nothing.
  virtual void decode_scaled() {}

  /// The shapes of the tops for this record alone, without the axis of the batch: C x H x W and a scalar, say. Throws
  /// Error{kData}.
  virtual std::vector<Shape> item_shapes(std::string_view record, int64_t index) const = 0;
  /// Writes sample.place of every top of `batch`, whose shapes are those of its first sample. Throws Error{kData},
  /// also where this record makes other ones.
  virtual void fill(std::string_view record, const Sample& sample, Batch& batch) const = 0;

  /// The top that holds rows of all samples of a batch, [1, 1, rows, width], in place of an item per sample; -1: none
  /// does. It has at least one row: where no sample adds any, the one that stands for none. item_shapes() gives its
  /// shape for a batch of the record alone.
  virtual int rows_top() const { return -1; }
  /// Which of its axes counts the rows.
  virtual int rows_axis() const { return 2; }
  /// What stands for none; empty: a row of -1.
  virtual std::vector<float> no_row() const { return {}; }
  /// The rows that a sample adds to it, one after the other. REQUIRES: rows_top() >= 0. Throws Error{kData}.
  virtual std::vector<float> rows(std::string_view record, const Sample& sample) const { return {}; }

  /// What becomes of top 0's pixels where batches may hold them in place of numbers (BatchLayout::pixels); nothing:
  /// they may not. `record` is the first one.
  virtual std::optional<PixelForm> pixel_form(std::string_view record) const { return std::nullopt; }
  /// The top that holds one class label per sample; -1: none does.
  virtual int label_top() const { return -1; }
  /// The label of this record. REQUIRES: label_top() >= 0. Throws Error{kData}.
  virtual int label(std::string_view record, int64_t index) const { return 0; }
};

}  // namespace robusta
