/// Layers that bring data into the net.
#pragma once

#include <optional>
#include <span>

#include "data/batch.h"
#include "data/settings.h"
#include "layers/kit/kernel.h"
#include "layers/kit/layer.h"

namespace robusta {

/// What a source is told before it opens what it reads.
struct SourceOptions {
  DataSettings data;
  int rank = 0, ranks = 1;         ///< this one of those that train together: `%#` and `%*` in names of files
  Device* device = &cpu_device();  ///< of the net; outlives the source
};

/// The class labels of a source's records, for looking at them before training. For one thread.
class LabelledRecords {
 public:
  virtual ~LabelledRecords() = default;
  /// The source's top that holds the labels.
  virtual int top() const = 0;
  /// The name of what is read, as the user gave it.
  virtual const std::string& source() const = 0;
  /// Number of records, at least 1.
  virtual int64_t size() const = 0;
  /// The label of record 0 <= `index` < size(). Throws Error{kData}.
  virtual int label(int64_t index) const = 0;
  /// "00000012_cat.jpg in train_lmdb", for messages.
  virtual std::string name(int64_t index) const = 0;
};

/// A layer without bottoms that fills its tops on the host. The net calls, from one thread: open(options) once, before
/// anything else; then for each pass prepare(pass) - infer_tops again if the shapes may have changed -
/// fill(tops, pass). The constructor checks the prototxt and touches no file.
class SourceLayer : public Layer {
 public:
  using Layer::Layer;
  bool is_source() const override { return true; }
  bool has_backward() const override { return true; }  // nothing to do: no bottoms

  /// Opens what is read. Throws Error{kConfig, kData, kUnsupported} in its field.
  virtual void open(const SourceOptions& options) {}
  /// Makes the batch at pass.first_sample ready (waits for the reader). Returns true if a top changes its shape.
  /// Throws Error{kData} for a bad record.
  virtual bool prepare(const Pass& pass) { return false; }
  /// Writes the tops (plain, host memory, f32 or f64).
  virtual void fill(std::span<const Tensor> tops, const Pass& pass) = 0;
  /// Whether `ready` gives batches, once the source is open.
  virtual bool lends_batches() const { return false; }
  /// The batch of the last `prepare` where workers have written it. It is the net's, who may write over it, until the
  /// next `prepare`. Null where the source lends none: then `fill` writes the tops.
  virtual Batch* ready() { return nullptr; }
  /// Says before the first pass whether top 0 of such batches is to be pixels. Returns what becomes of them; nothing:
  /// top 0 is numbers.
  virtual std::optional<PixelForm> use_pixels(bool use) { return std::nullopt; }
  /// True when the tops keep what was written into them (Input, constant DummyData): fill is then called only after
  /// planning, and the memory is kept between passes.
  virtual bool constant() const { return false; }
  /// Seconds that prepare has waited for the reader so far.
  virtual double seconds_waited() const { return 0; }
  /// Replaces the number of samples per batch (`-batch`).
  virtual void set_batch(int64_t batch) = 0;
  /// True when whoever runs the net writes the tops: they are its inputs (Input).
  virtual bool is_input() const { return false; }
  /// Gives a top another shape. False: this source decides by itself, as all but inputs do.
  virtual bool reshape_top(int top, const Shape& shape) { return false; }
  /// Gives the source the numbers of all its samples, one behind the other, and a label for each; they are copied, and
  /// count from the next `prepare` on. False: this source reads elsewhere, as all but MemoryData do. Throws
  /// Error{kUsage} for numbers that make no samples.
  virtual bool set_samples(std::span<const float> data, std::span<const float> labels) { return false; }
  /// Records of the source, over all ranks; 0: it has no end.
  virtual int64_t records() const { return 0; }
  /// Of what is read, for comparing over ranks; 0: nothing is, or each rank has its own.
  virtual uint64_t fingerprint() const { return 0; }
  /// Names what a sample was read from ("00000012_cat.jpg in train_lmdb"), for reports of a bad batch. "" if unknown.
  virtual std::string sample_key(uint64_t position) const { return ""; }
  /// Null where records have no class label, or none are read.
  virtual const LabelledRecords* labelled() const { return nullptr; }
};

}  // namespace robusta
