// From the positions of passes to batches: everything about reading that no kind of source has to know.

#include "layers/kit/prefetched_source.h"

#include <algorithm>

#include "base/hash.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/str.h"
#include "data/open_source.h"
#include "schema/placeholders.h"

namespace robusta {
namespace {

/// The labels that a filler finds in records.
class RecordLabels : public LabelledRecords {
 public:
  explicit RecordLabels(const RecordBatches& batches) : batches_(batches) {}
  int top() const override { return batches_.filler().label_top(); }
  const std::string& source() const override { return batches_.reader().source(); }
  int64_t size() const override { return batches_.reader().size(); }
  int label(int64_t index) const override { return batches_.label(index); }
  std::string name(int64_t index) const override { return record_name(batches_.reader(), index); }

 private:
  const RecordBatches& batches_;
};

/// Whether the top holds items of this shape, however many.
bool is_batch_of(const Shape& top, const Shape& item) {
  return std::ranges::equal(std::span(top.dims()).subspan(1), item.dims());
}

/// "3x224x224".
std::string extents_text(const Shape& item) {
  std::string text;
  for (const int64_t extent : item.dims()) text.append(text.empty() ? "" : "x").append(std::to_string(extent));
  return text.empty() ? "one number" : text;
}

void copy_top(const float* in, const Tensor& to) {
  constexpr int64_t kGrain = 1 << 16;
  dispatch(to.desc.dtype, [&](auto t) {
    auto* out = to.as<decltype(t)>();
    parallel_ranges(to.count(), kGrain,
                    [=](int64_t begin, int64_t end) { std::copy(in + begin, in + end, out + begin); });
  });
}

}  // namespace

int prefetched_batches(const caffe::LayerParameter& layer) {
  constexpr uint32_t kMost = 1000;
  const uint32_t prefetch = layer.data_param().prefetch();
  if (prefetch <= kMost) return static_cast<int>(prefetch);
  throw Error(ErrorKind::kConfig, str("prefetch ", prefetch, " batches would fill the memory"),
              str("use at most ", kMost))
      .in_field("data_param.prefetch");
}

PrefetchedSource::PrefetchedSource(const caffe::LayerParameter& param, ReadingSettings settings)
    : SourceLayer(param), settings_(std::move(settings)) {}

PrefetchedSource::~PrefetchedSource() = default;

std::string PrefetchedSource::source(const SourceOptions& options) const {
  return with_rank(settings_.source, options.rank, options.ranks);
}

bool PrefetchedSource::is_missing(const std::string& source) const { return source_is_missing(source); }

void PrefetchedSource::open(const SourceOptions& options) {
  options_ = options;
  // The rank's number takes the place of %#: each rank then has a file of its own, and reads all of it.
  if (settings_.source.find("%#") != std::string::npos) ranks_ = static_cast<uint64_t>(options.ranks);
  if (would_stand_in(options)) return stand_in();
  if (settings_.source.empty()) {
    throw Error(ErrorKind::kConfig, "no source is given", settings_.source_fix).in_field(settings_.field);
  }
  begin_reading();
}

bool PrefetchedSource::would_stand_in(const SourceOptions& options) const {
  return options.data.synthesize_missing && (settings_.source.empty() || is_missing(source(options)));
}

void PrefetchedSource::expect(const SourceOptions& options, std::vector<Shape> items) {
  options_ = options;
  items_ = std::move(items);
}

void PrefetchedSource::begin_reading() {
  std::unique_ptr<Reading> opened;
  try {
    opened = start();
    items_ = opened->batches->item_shapes({.seed = 0, .first = 0, .size = settings_.batch});
  } catch (Error& error) {
    throw error.in_field(settings_.field);
  }
  // A pass may still read the batch that it was lent: its memory has to stay until the next pass is prepared.
  const bool lent = ready_ && !retired_;
  if (lent) retired_ = std::move(reading_);
  reading_ = std::move(opened);
  rows_top_ = reading_->batches->filler().rows_top();
}

std::unique_ptr<PrefetchedSource::Reading> PrefetchedSource::start() const {
  RecordSource opened = open_records(source(options_));
  const bool shuffle = settings_.shuffle || (options_.data.shuffle && training());
  if (!opened.order) {
    opened.order = std::make_unique<EpochOrder>(
        opened.reader->size(), EpochSettings{.layer = name(), .shuffle = shuffle, .skip_below = settings_.skip_below});
  }
  auto reading = std::make_unique<Reading>();
  reading->batches =
      std::make_unique<RecordBatches>(std::move(opened.reader), std::move(opened.filler), std::move(opened.order));
  const RecordBatches& batches = *reading->batches;
  if (batches.filler().label_top() >= 0) reading->labels = std::make_unique<RecordLabels>(batches);
  reading->prefetcher = std::make_unique<Prefetcher>(batches, std::max(1, settings_.prefetch),
                                                     data_threads(options_.data), *options_.device);
  return reading;
}

void PrefetchedSource::stand_in() {
  synthetic_ = true;
  items_.clear();
  for (int top = 0; top < param().top_size(); ++top) items_.push_back(assumed(top).shape);
  LOG_INFO << "layer " << name() << ": " << account();
  try {
    check_without_data();
  } catch (const Error& error) {
    LOG_WARNING << "layer " << name() << ": with data this would be refused: " << error.field() << ": " << error.what();
  }
}

AssumedItem PrefetchedSource::assumed(int top) const {
  const auto told = assumed_.find(top);
  if (told != assumed_.end()) return told->second;
  if (top == 0) return assumed_item(source(options_));
  return {Shape{}, "a number for each sample", others_are_numbers(), others_are_numbers()};
}

std::string PrefetchedSource::account() const {
  const std::string missing = source(options_);
  std::string text = missing.empty() ? "no source is given" : missing + " does not exist";
  for (int top = 0; top < param().top_size(); ++top) {
    const AssumedItem item = assumed(top);
    if (top == 0) {
      text += str(", and synthetic input of ", extents_text(item.shape), " takes its place (", item.reason, ")");
    } else if (assumed_.contains(top)) {
      text += str(", zeros of ", extents_text(item.shape), " as ", param().top(top), " (", item.reason, ")");
    }
  }
  return text;
}

Shape PrefetchedSource::assumed_top(int top, int64_t batch) const {
  return batch_of(batch, items_[static_cast<size_t>(top)]);
}

std::vector<Shape> PrefetchedSource::infer_tops(const std::vector<Shape>&) {
  std::vector<Shape> tops;
  for (size_t top = 0; top < items_.size(); ++top) {
    const bool assumed = synthetic() && top > 0;
    tops.push_back(assumed           ? assumed_top(static_cast<int>(top), settings_.batch)
                   : holds_rows(top) ? items_[top]
                                     : batch_of(settings_.batch, items_[top]));
    check_extents(tops.back());
  }
  return tops;
}

void PrefetchedSource::set_batch(int64_t batch) {
  if (batch <= 0) throw Error(ErrorKind::kConfig, str("a batch of ", batch, " samples is impossible"), "use 1 or more");
  settings_.batch = batch;
}

/// Passes count in samples of the net's first source; a source with another batch size is at the same batch.
uint64_t PrefetchedSource::own_position(uint64_t position, const Pass& pass) const {
  if ((pass.batch == settings_.batch && ranks_ == 1) || pass.batch <= 0) return position;
  // Positions count the samples of all ranks; of a file of its own a rank has the batches in a row.
  return position / static_cast<uint64_t>(pass.batch) / ranks_ * static_cast<uint64_t>(settings_.batch);
}

BatchPlan PrefetchedSource::plan_of(const Pass& pass) const {
  return {pass.seed, own_position(pass.first_sample, pass), settings_.batch};
}

int64_t PrefetchedSource::records() const {
  if (!reading_ || !reading_->batches->order().has_epochs()) return 0;
  return reading_->batches->reader().size() * static_cast<int64_t>(ranks_);
}

uint64_t PrefetchedSource::fingerprint() const {
  if (!reading_ || ranks_ > 1) return 0;
  // Keys of the first records are soon read, and other data hardly has the same keys and as many records.
  constexpr int64_t kFirst = 16;
  const RecordReader& reader = reading_->batches->reader();
  std::string text = std::to_string(reader.size());
  for (int64_t i = 0; i < std::min(kFirst, reader.size()); ++i) text += '\n' + reader.key(i);
  return hash_bytes(text);
}

double PrefetchedSource::seconds_waited() const {
  return seconds_waited_ + (reading_ ? reading_->prefetcher->seconds_waited() : 0);
}

bool PrefetchedSource::prepare(const Pass& pass) {
  last_pass_ = pass;
  if (synthetic()) return false;
  report_wraps(pass);
  end_retired();
  ready_ = nullptr;
  ready_ = &reading_->prefetcher->take(plan_of(pass), own_position(pass.next_sample, pass));
  return take_over_items(ready_->layout.tops());
}

/// What was read before a source was opened again has no reader any more.
void PrefetchedSource::end_retired() {
  if (!retired_) return;
  if (ready_ && ready_->reader) ready_->reader->wait();
  ready_ = nullptr;
  seconds_waited_ += retired_->prefetcher->seconds_waited();
  retired_.reset();
}

/// Returns whether an item changes its shape. Where none does, as in most passes, nothing is allocated.
bool PrefetchedSource::take_over_items(const std::vector<Shape>& tops) {
  bool same = tops.size() == items_.size();
  for (size_t top = 0; same && top < tops.size(); ++top)
    same = holds_rows(top) ? tops[top] == items_[top] : is_batch_of(tops[top], items_[top]);
  if (same) return false;
  items_.clear();
  for (size_t top = 0; top < tops.size(); ++top)
    items_.push_back(holds_rows(top) ? tops[top] : tops[top].slice(1, tops[top].axes()));
  return true;
}

/// Caffe's own line, when the last record is used up.
void PrefetchedSource::report_wraps(const Pass& pass) const {
  if (!reading_->batches->order().has_epochs()) return;
  const uint64_t first = own_position(pass.first_sample, pass), next = own_position(pass.next_sample, pass);
  const uint64_t end = next > first ? next : first + static_cast<uint64_t>(settings_.batch);
  const uint64_t count = static_cast<uint64_t>(reading_->batches->reader().size());
  if (end / count > first / count) LOG_INFO << "Restarting data prefetching from start.";
}

void PrefetchedSource::fill_synthetic(std::span<const Tensor> tops, uint64_t key) const {
  dispatch(tops[0].desc.dtype, [&](auto t) {
    using T = decltype(t);
    T* out = tops[0].as<T>();
    constexpr int64_t kGrain = 1 << 14;
    parallel_for(tops[0].count(), kGrain, [=](int64_t i) {
      const auto at = static_cast<uint64_t>(i);
      out[i] = static_cast<T>(2 * uniform01(philox(key, 0, at / 4)[at % 4]) - 1);
    });
  });
  for (size_t top = 1; top < tops.size(); ++top) {
    dispatch(tops[top].desc.dtype, [&](auto t) {
      using T = decltype(t);
      T* out = tops[top].as<T>();
      for (int64_t i = 0; i < tops[top].count(); ++i) out[i] = static_cast<T>(assumed_value(static_cast<int>(top), i));
    });
  }
}

void PrefetchedSource::fill(std::span<const Tensor> tops, const Pass& pass) {
  if (synthetic()) return fill_synthetic(tops, random_key(pass.seed, name(), "synthetic"));
  for (size_t top = 0; top < tops.size(); ++top) copy_top(ready_->numbers(top), tops[top]);
}

std::optional<PixelForm> PrefetchedSource::use_pixels(bool use) {
  std::optional<PixelForm> form;
  if (use && reading_) form = reading_->batches->pixel_form();
  if (form.has_value() != as_pixels_) reading_->batches->set_pixels(form.has_value());
  as_pixels_ = form.has_value();
  return form;
}

std::string PrefetchedSource::sample_key(uint64_t position) const {
  if (!reading_) return "";
  BatchPlan plan = plan_of(last_pass_);
  const uint64_t own = own_position(position, last_pass_);
  if (own < plan.first || own - plan.first >= static_cast<uint64_t>(plan.size)) plan.first = own;
  return reading_->batches->name(plan, static_cast<int64_t>(own - plan.first));
}

}  // namespace robusta
