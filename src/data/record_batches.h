/// Batches made of records: which record stands at which position, and who makes a sample of it.
///
/// Immutable but for set_pixels; fills batches from many threads.
#pragma once

#include <memory>
#include <string>

#include "data/batch.h"
#include "data/reader.h"
#include "data/record_filler.h"
#include "data/record_order.h"

namespace robusta {

class RecordBatches : public BatchFiller {
 public:
  RecordBatches(std::shared_ptr<const RecordReader> reader, std::unique_ptr<const RecordFiller> filler,
                std::unique_ptr<const RecordOrder> order);

  BatchLayout layout(const BatchPlan& plan) const override;
  void fill(Batch& batch, int64_t begin, int64_t end) const override;

  const RecordReader& reader() const { return *reader_; }
  const RecordFiller& filler() const { return *filler_; }
  const RecordOrder& order() const { return *order_; }
  /// RecordFiller::item_shapes of the first record of the batch. Throws Error{kData} naming the record.
  std::vector<Shape> item_shapes(const BatchPlan& plan) const;
  /// Key and source of the record at `place` of the batch.
  std::string name(const BatchPlan& plan, int64_t place) const;
  /// The label of record `index`. Throws Error{kData} naming the record.
  int label(int64_t index) const;
  /// RecordFiller::pixel_form of the first record. Throws Error{kData} naming the record.
  std::optional<PixelForm> pixel_form() const;
  /// Has batches hold pixels from now on, or numbers. REQUIRES: nobody fills any.
  void set_pixels(bool pixels) { pixels_ = pixels; }

 private:
  /// body(bytes) of record `index`; adds the record's name to what it throws.
  template <typename Body>
  auto with_record(int64_t index, const Body& body) const;
  Sample sample_at(const BatchPlan& plan, int64_t place) const;
  std::vector<float> rows_of(const BatchPlan& plan) const;
  Shape rows_shape(const BatchPlan& plan, const Shape& of_one_record) const;

  std::shared_ptr<const RecordReader> reader_;
  std::unique_ptr<const RecordFiller> filler_;
  std::unique_ptr<const RecordOrder> order_;
  bool pixels_ = false;  ///< top 0 is filled with bytes
};

}  // namespace robusta
