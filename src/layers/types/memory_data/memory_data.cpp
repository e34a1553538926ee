// MemoryData: samples and labels that the program gives (Net::set_samples), again and again in their order. Tops: data
// [batch, channels, height, width], label [batch, 1, 1, 1], as BVLC's forward leaves it; with `dim` [batch]. A reader
// of arrays, a filler; the rest is PrefetchedSource's.

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/str.h"
#include "layers/kit/prefetched_source.h"

namespace robusta {
namespace {

constexpr char kMemoryField[] = "memory_data_param";

/// dim, of naibaf7/caffe (src/caffe/layers/memory_data_layer.cpp), is the shape of a batch.
Shape read_item(const caffe::MemoryDataParameter& param) {
  const bool any = param.dim_size() > 0;
  std::vector<int64_t> dims{param.channels(), param.height(), param.width()};
  constexpr uint64_t kMost = INT64_MAX;
  if (any) dims.clear();
  for (int i = 1; i < param.dim_size(); ++i) dims.push_back(static_cast<int64_t>(std::min(param.dim(i), kMost)));
  const Shape item(dims);
  const bool empty = std::ranges::any_of(dims, [](int64_t dim) { return dim <= 0; });
  if (!empty && !(any && (param.channels() > 0 || param.height() > 0 || param.width() > 0))) return item;
  throw Error(ErrorKind::kConfig,
              empty ? "samples of " + item.str() + " hold nothing" : "dim is given, and channels, height or width, too",
              any ? "give dim alone: the batch, and each axis of a sample" : "set channels, height and width")
      .in_field(kMemoryField);
}

/// Of a label.
Shape label_item(const caffe::MemoryDataParameter& param) { return param.dim_size() > 0 ? Shape() : Shape{1, 1, 1}; }

/// The first dim, if there is any.
int64_t read_batch(const caffe::MemoryDataParameter& param) {
  constexpr uint64_t kMost = INT64_MAX;
  const bool both = param.dim_size() > 0 && param.batch_size() > 0 && param.batch_size() != param.dim(0);
  const uint64_t batch = param.dim_size() > 0 ? param.dim(0) : param.batch_size();
  if (batch > 0 && !both) return static_cast<int64_t>(std::min(batch, kMost));
  const char* field = param.dim_size() > 0 ? "dim" : "batch_size";
  throw Error(ErrorKind::kConfig,
              both ? str("batch_size is ", param.batch_size(), ", and dim begins with ", batch) : str(field, " is 0"),
              both ? "leave batch_size out" : "set it to 1 or more")
      .in_field(str(kMemoryField, ".", field));
}

ReadingSettings memory_reading(const caffe::LayerParameter& layer) {
  return {.source = "the data that a program gives",
          .field = kMemoryField,
          .batch = read_batch(layer.memory_data_param()),
          .prefetch = prefetched_batches(layer)};
}

/// What the program has given. A record is the bytes of a sample.
class GivenSamples : public RecordReader {
 public:
  GivenSamples(std::string source, std::span<const float> data, std::span<const float> labels)
      : source_(std::move(source)), data_(data.begin(), data.end()), labels_(labels.begin(), labels.end()) {}

  const std::string& source() const override { return source_; }
  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  std::string_view record(int64_t index, std::string&) const override {
    const size_t count = data_.size() / labels_.size();
    return {reinterpret_cast<const char*>(data_.data() + static_cast<size_t>(index) * count), count * sizeof(float)};
  }
  std::string key(int64_t index) const override { return str("sample ", index); }
  float label(int64_t index) const { return labels_[static_cast<size_t>(index)]; }

 private:
  std::string source_;
  std::vector<float> data_, labels_;
};

class SampleFiller : public RecordFiller {
 public:
  SampleFiller(Shape item, Shape label, std::shared_ptr<const GivenSamples> samples)
      : item_(std::move(item)), label_(std::move(label)), samples_(std::move(samples)) {}

  std::vector<Shape> item_shapes(std::string_view, int64_t) const override { return {item_, label_}; }
  void fill(std::string_view record, const Sample& sample, Batch& batch) const override {
    const auto* numbers = reinterpret_cast<const float*>(record.data());
    std::copy_n(numbers, item_.count(), batch.numbers(0) + sample.place * item_.count());
    batch.numbers(1)[sample.place] = samples_->label(sample.record);
  }
  int label_top() const override { return 1; }
  int label(std::string_view, int64_t index) const override {
    const float label = samples_->label(index);
    constexpr float kMost = 1 << 30;
    if (!(std::fabs(label) <= kMost)) throw Error(ErrorKind::kData, str("its label is ", label), "correct the data");
    return static_cast<int>(label);
  }

 private:
  Shape item_, label_;
  std::shared_ptr<const GivenSamples> samples_;
};

class MemoryDataLayer : public PrefetchedSource {
 public:
  explicit MemoryDataLayer(const caffe::LayerParameter& param)
      : PrefetchedSource(param, memory_reading(param)), item_(read_item(param.memory_data_param())) {
    check_extents(item_);
    if (param.has_transform_param())
      LOG_WARNING << "layer " << param.name() << ": transform_param does nothing to data that a program gives";
  }
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 2, .max_tops = 2}; }

  void open(const SourceOptions& options) override {
    if (options.data.synthesize_missing) return PrefetchedSource::open(options);
    expect(options, {item_, label_item(param().memory_data_param())});
  }

  bool set_samples(std::span<const float> data, std::span<const float> labels) override {
    if (!lends_batches()) throw Error(ErrorKind::kUsage, "the layer stands for data that are not there");
    if (labels.empty() || static_cast<int64_t>(data.size()) % item_.count() != 0 ||
        static_cast<int64_t>(data.size()) / item_.count() != static_cast<int64_t>(labels.size())) {
      throw Error(
          ErrorKind::kUsage,
          str(data.size(), " numbers and ", labels.size(), " labels for samples of ", item_.count(), " numbers"),
          "give so many numbers, and a label, for each of one sample or more");
    }
    samples_ = std::make_shared<GivenSamples>("layer " + name(), data, labels);
    begin_reading();
    return true;
  }

  bool prepare(const Pass& pass) override {
    if (lends_batches() && !samples_) {
      throw Error(
          ErrorKind::kConfig, "no data have been given to this MemoryData layer",
          "a program gives them before the first pass, by robusta::Net::set_samples; a source that the programs "
          "read themselves is Data, ImageData or HDF5Data")
          .in_field(kMemoryField);
    }
    return PrefetchedSource::prepare(pass);
  }

 protected:
  RecordSource open_records(const std::string&) const override {
    return {samples_, std::make_unique<SampleFiller>(item_, label_item(param().memory_data_param()), samples_)};
  }
  AssumedItem assumed_item(const std::string&) const override {
    return {item_, "the size that the prototxt gives", true, true};
  }
  bool is_missing(const std::string&) const override { return true; }

 private:
  Shape item_;
  std::shared_ptr<const GivenSamples> samples_;
};

ROBUSTA_REGISTER_LAYER("MemoryData", MemoryDataLayer);

}  // namespace
}  // namespace robusta
