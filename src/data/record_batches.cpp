// Positions to records, records to samples; each thread keeps memory of its own for the record in its hands.

#include "data/record_batches.h"

#include <algorithm>

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

Sample RecordBatches::sample_at(const BatchPlan& plan, int64_t place) const {
  return {order_->index(plan, place), plan.first + static_cast<uint64_t>(place), plan.seed, place};
}

/// The rows of all samples.
std::vector<float> RecordBatches::rows_of(const BatchPlan& plan) const {
  std::vector<float> all;
  for (int64_t place = 0; place < plan.size; ++place) {
    const Sample sample = sample_at(plan, place);
    const auto rows =
        with_record(sample.record, [&](std::string_view record) { return filler_->rows(record, sample); });
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

Shape RecordBatches::rows_shape(const BatchPlan& plan, const Shape& of_one_record) const {
  Shape shape = of_one_record;
  int64_t& rows = shape[filler_->rows_axis()];
  const int64_t width = of_one_record.count() / rows;
  rows = std::max<int64_t>(1, static_cast<int64_t>(rows_of(plan).size()) / width);
  return shape;
}

BatchLayout RecordBatches::layout(const BatchPlan& plan) const {
  std::vector<Shape> tops;
  for (const Shape& item : item_shapes(plan)) {
    const bool has_rows = static_cast<int>(tops.size()) == filler_->rows_top();
    tops.push_back(has_rows ? rows_shape(plan, item) : batch_of(plan.size, item));
  }
  return BatchLayout(std::move(tops), pixels_);
}

/// Rows go with the first sample: where those of the others begin is known when all have been asked for. That a batch's
/// records are looked at twice for it costs little beside decoding them.
void RecordBatches::fill(Batch& batch, int64_t begin, int64_t end) const {
  if (begin == 0 && filler_->rows_top() >= 0) {
    const auto top = static_cast<size_t>(filler_->rows_top());
    std::vector<float> rows = rows_of(batch.plan);
    if (rows.empty()) rows = filler_->no_row();
    rows.resize(static_cast<size_t>(batch.layout.tops()[top].count()), -1.0f);
    std::ranges::copy(rows, batch.numbers(top));
  }
  for (int64_t place = begin; place < end; ++place) {
    const Sample sample = sample_at(batch.plan, place);
    with_record(sample.record, [&](std::string_view record) { filler_->fill(record, sample, batch); });
  }
}

}  // namespace robusta
