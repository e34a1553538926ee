// Positions to records, records to samples; each thread keeps memory of its own for the record in its hands.

#include "data/record_batches.h"

#include "robusta/error.h"

namespace robusta {

RecordBatches::RecordBatches(std::shared_ptr<const RecordReader> reader, std::unique_ptr<const RecordFiller> filler,
                             std::unique_ptr<const RecordOrder> order)
    : reader_(std::move(reader)), filler_(std::move(filler)), order_(std::move(order)) {}

template <typename Body>
auto RecordBatches::with_record(int64_t index, const Body& body) const {
  thread_local std::string storage;
  const std::string_view bytes = reader_->record(index, storage);
  try {
    return body(bytes);
  } catch (const Error& error) {
    throw Error(error.kind(), "record " + record_name(*reader_, index) + ": " + error.cause(), error.fix())
        .in_field(error.field());
  }
}

std::vector<Shape> RecordBatches::item_shapes(const BatchPlan& plan) const {
  const int64_t index = order_->index(plan, 0);
  return with_record(index, [&](std::string_view record) { return filler_->item_shapes(record, index); });
}

std::string RecordBatches::name(const BatchPlan& plan, int64_t place) const {
  return record_name(*reader_, order_->index(plan, place));
}

int RecordBatches::label(int64_t index) const {
  return with_record(index, [&](std::string_view record) { return filler_->label(record, index); });
}

std::optional<PixelForm> RecordBatches::pixel_form() const {
  return with_record(0, [&](std::string_view record) { return filler_->pixel_form(record); });
}

BatchLayout RecordBatches::layout(const BatchPlan& plan) const {
  std::vector<Shape> tops;
  for (const Shape& item : item_shapes(plan)) tops.push_back(batch_of(plan.size, item));
  return BatchLayout(std::move(tops), pixels_);
}

void RecordBatches::fill(Batch& batch, int64_t begin, int64_t end) const {
  for (int64_t place = begin; place < end; ++place) {
    const uint64_t position = batch.plan.first + static_cast<uint64_t>(place);
    const Sample sample{order_->index(batch.plan, place), position, batch.plan.seed, place};
    with_record(sample.record, [&](std::string_view record) { filler_->fill(record, sample, batch); });
  }
}

}  // namespace robusta
