/// Sources of records: positions, order, prefetching, shares of ranks and synthetic replacement, whatever is read.
///
/// A concrete source derives from this with two functions: how to open its reader (records by index, data/reader.h) and
/// its filler (a record to one sample of each top, data/record_filler.h), and what its items look like when there is
/// nothing to open. What is read and drawn depends only on the positions that the passes ask for. Reads ahead on
/// threads of its own from the first pass on, into memory that the net reads in place (SourceLayer::ready).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "data/prefetcher.h"
#include "data/record_batches.h"
#include "layers/kit/source_layer.h"
#include "layers/kit/stand_in.h"

namespace robusta {

/// What a prototxt says about reading.
struct ReadingSettings {
  std::string source;                            ///< a path, with the placeholders of ranks
  std::string field;                             ///< where the prototxt has it: "data_param.source"
  std::string source_fix = "name what is read";  ///< where none is given
  int64_t batch = 1;                             ///< samples of this rank
  int prefetch = 1;                              ///< batches ahead
  bool shuffle = false;                          ///< each epoch in an order of its own
  uint32_t skip_below = 0;  ///< `rand_skip`: the run begins with one of so many records; 0: with the first
};

/// data_param.prefetch, which sources of all kinds read there, as in Caffe. Throws Error{kConfig} for too many.
int prefetched_batches(const caffe::LayerParameter& layer);

/// An open source.
struct RecordSource {
  std::shared_ptr<const RecordReader> reader;
  std::unique_ptr<const RecordFiller> filler;
  std::unique_ptr<const RecordOrder> order = nullptr;  ///< null: epochs, as the settings say
};

class PrefetchedSource : public SourceLayer, public StandIn {
 public:
  PrefetchedSource(const caffe::LayerParameter& param, ReadingSettings settings);
  ~PrefetchedSource() override;

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  /// Opens the source and looks at its first record. A source that is absent is replaced by synthetic input where
  /// DataSettings say so: top 0 uniform in [-1, 1), the others as assumed_top() and assumed_value() have them. Throws
  /// Error{kConfig, kData, kUnsupported}.
  void open(const SourceOptions& options) override;
  bool would_stand_in(const SourceOptions& options) const override;
  void assume(int top, const AssumedItem& item) override { assumed_[top] = item; }
  bool stands_in() const override { return synthetic_; }
  AssumedItem assumed(int top) const override;
  std::string account() const override;
  bool prepare(const Pass& pass) override;
  void fill(std::span<const Tensor> tops, const Pass& pass) override;
  bool lends_batches() const override { return !synthetic(); }
  Batch* ready() override { return ready_; }
  std::optional<PixelForm> use_pixels(bool use) override;
  bool constant() const override { return synthetic(); }
  double seconds_waited() const override;
  void set_batch(int64_t batch) override;
  int64_t records() const override;
  uint64_t fingerprint() const override;
  std::string sample_key(uint64_t position) const override;
  const LabelledRecords* labelled() const override { return reading_ ? reading_->labels.get() : nullptr; }

 protected:
  /// Opens what is at `source`, whose placeholders are filled in. Throws Error{kConfig, kData, kUnsupported}.
  virtual RecordSource open_records(const std::string& source) const = 0;
  /// What stands for the items of top 0. `source` may be empty.
  virtual AssumedItem assumed_item(const std::string& source) const = 0;
  /// A top other than 0 of such a batch: an item for each sample, as assumed() has it.
  virtual Shape assumed_top(int top, int64_t batch) const;
  /// Its numbers: 0, a label that every net knows.
  virtual float assumed_value(int top, int64_t index) const { return 0; }
  /// Whether all other tops hold a number for each sample, whatever the net would want of them.
  virtual bool others_are_numbers() const { return true; }
  /// Throws what open_records would of the prototxt alone: where nothing is opened the log says it.
  virtual void check_without_data() const {}
  /// Whether there is nothing to open.
  virtual bool is_missing(const std::string& source) const;
  /// Gives the tops these items until there is something to open: begin_reading() follows, once or again and again.
  void expect(const SourceOptions& options, std::vector<Shape> items);
  /// Opens the source of open() or expect(). The batch that the net was lent before stays until the next prepare().
  void begin_reading();
  /// Null while the source is synthetic, or not open.
  const RecordBatches* batches() const { return reading_ ? reading_->batches.get() : nullptr; }

 private:
  /// What is read: batches of records, and who makes them ahead.
  struct Reading {
    std::unique_ptr<RecordBatches> batches;
    std::unique_ptr<LabelledRecords> labels;
    std::unique_ptr<Prefetcher> prefetcher;  // ends first
  };

  bool synthetic() const { return synthetic_; }
  std::string source(const SourceOptions& options) const;
  std::unique_ptr<Reading> start() const;
  void stand_in();
  uint64_t own_position(uint64_t position, const Pass& pass) const;
  BatchPlan plan_of(const Pass& pass) const;
  void report_wraps(const Pass& pass) const;
  bool take_over_items(const std::vector<Shape>& tops);
  bool holds_rows(size_t top) const { return static_cast<int>(top) == rows_top_; }
  void fill_synthetic(std::span<const Tensor> tops, uint64_t key) const;
  void end_retired();

  ReadingSettings settings_;
  SourceOptions options_;
  uint64_t ranks_ = 1;                  // that have a source of their own each
  std::vector<Shape> items_;            // of the tops as they stand; of that with rows, the whole of it
  int rows_top_ = -1;                   // RecordFiller::rows_top
  std::map<int, AssumedItem> assumed_;  // by top: what stands for its items, where that was said
  bool synthetic_ = false;              ///< something stands for data that is missing
  bool as_pixels_ = false;              // top 0
  std::unique_ptr<Reading> reading_;    // null where the source is synthetic, or not open
  std::unique_ptr<Reading> retired_;    // what was read before, whose batch the net may still look at
  Batch* ready_ = nullptr;              // of retired_ where that is there, else of reading_
  double seconds_waited_ = 0;           // for what was retired
  Pass last_pass_;                      ///< by which positions are turned into places of a batch
};

}  // namespace robusta
