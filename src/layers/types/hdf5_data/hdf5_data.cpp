// HDF5Data: rows of the datasets that are called like the tops, from HDF5 files that a list names. Tops: [batch, item],
// of any shape and number. A reader for the list, a filler for rows of floats; the rest is PrefetchedSource's.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/str.h"
#include "data/hdf5_reader.h"
#include "layers/kit/assumed_extent.h"
#include "layers/kit/prefetched_source.h"

namespace robusta {
namespace {

[[noreturn]] void wrong_hdf5_data(const std::string& field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field(field);
}

ReadingSettings hdf5_reading(const caffe::LayerParameter& layer) {
  const caffe::HDF5DataParameter& param = layer.hdf5_data_param();
  if (layer.has_transform_param()) wrong_hdf5_data("transform_param", "HDF5 data are not transformed", "leave it out");
  if (param.source().empty()) {
    wrong_hdf5_data("hdf5_data_param.source", "no source is given", "name a text file that lists HDF5 files");
  }
  if (param.batch_size() == 0) wrong_hdf5_data("hdf5_data_param.batch_size", "batch_size is 0", "set it to 1 or more");
  return {.source = param.source(),
          .field = "hdf5_data_param.source",
          .batch = param.batch_size(),
          .prefetch = prefetched_batches(layer),
          .shuffle = param.shuffle()};
}

/// The last top with one number per sample is taken for the label, if a loss or an accuracy takes it for one.
int find_label(const std::vector<Shape>& items) {
  for (size_t top = items.size(); top-- > 0;) {
    if (items[top].count() == 1) return static_cast<int>(top);
  }
  return -1;
}

class RowFiller : public RecordFiller {
 public:
  explicit RowFiller(std::vector<Shape> items) : items_(std::move(items)), label_(find_label(items_)) {}

  std::vector<Shape> item_shapes(std::string_view, int64_t) const override { return items_; }

  void fill(std::string_view record, const Sample& sample, Batch& batch) const override {
    const char* from = record.data();
    for (size_t top = 0; top < items_.size(); ++top) {
      const int64_t count = items_[top].count();
      std::memcpy(batch.numbers(top) + sample.place * count, from, static_cast<size_t>(count) * sizeof(float));
      from += static_cast<size_t>(count) * sizeof(float);
    }
  }

  int label_top() const override { return label_; }

  int label(std::string_view record, int64_t) const override {
    int64_t before = 0;
    for (int top = 0; top < label_; ++top) before += items_[static_cast<size_t>(top)].count();
    float value;
    std::memcpy(&value, record.data() + static_cast<size_t>(before) * sizeof(float), sizeof value);
    constexpr float kMost = 1 << 30;
    if (!(std::fabs(value) <= kMost)) throw Error(ErrorKind::kData, str("its label is ", value), "correct the data");
    return static_cast<int>(value);
  }

 private:
  std::vector<Shape> items_;
  int label_;
};

class Hdf5DataLayer : public PrefetchedSource {
 public:
  explicit Hdf5DataLayer(const caffe::LayerParameter& param) : PrefetchedSource(param, hdf5_reading(param)) {}
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 1, .max_tops = -1}; }

 protected:
  RecordSource open_records(const std::string& source) const override {
    auto reader =
        std::make_shared<Hdf5Reader>(source, std::vector<std::string>(param().top().begin(), param().top().end()));
    auto filler = std::make_unique<RowFiller>(reader->items());
    return {std::move(reader), std::move(filler)};
  }
  bool others_are_numbers() const override { return false; }
  AssumedItem assumed_item(const std::string& source) const override { return assumed_image(source, {}); }
};

ROBUSTA_REGISTER_LAYER("HDF5Data", Hdf5DataLayer);

}  // namespace
}  // namespace robusta
