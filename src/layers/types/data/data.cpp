// Data: images and labels from a database of Datum records. Tops: data [batch, channels, height, width], and label
// [batch] if named. A reader by the database's kind, a filler for Datums; the rest is PrefetchedSource's.

#include "base/log.h"
#include "data/datum_filler.h"
#include "data/open_source.h"
#include "layers/kit/assumed_extent.h"
#include "layers/kit/prefetched_source.h"

namespace robusta {
namespace {

[[noreturn]] void wrong(const std::string& field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field("data_param." + field);
}

ReadingSettings read_settings(const caffe::LayerParameter& layer) {
  const caffe::DataParameter& param = layer.data_param();
  if (param.batch_size() == 0) wrong("batch_size", "batch_size is 0", "set it to 1 or more");
  if (param.side_size() > 0) {
    throw Error(ErrorKind::kUnsupported, "boxes for sides are those of layers of type BoxData",
                "write type: \"BoxData\"")
        .in_field("data_param.side");
  }
  return {.source = param.source(),
          .field = "data_param.source",
          .source_fix = "name the LMDB folder",
          .batch = param.batch_size(),
          .prefetch = prefetched_batches(layer),
          .shuffle = param.shuffle()};
}

class DataLayer : public PrefetchedSource {
 public:
  explicit DataLayer(const caffe::LayerParameter& param) : PrefetchedSource(param, read_settings(param)) {}
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 1, .max_tops = 2}; }

 protected:
  RecordSource open_records(const std::string& source) const override {
    const caffe::TransformationParameter& transform = param().transform_param();
    RecordSource opened{
        open_source(source, param().data_param().backend()),
        std::make_unique<DatumFiller>(Transformer(transform, training()), name(), param().top_size() > 1)};
    if ((transform.force_color() || transform.force_gray()) && holds_raw_pixels(*opened.reader)) {
      LOG_WARNING << "layer " << name() << ": force_color and force_gray do nothing to raw records";
    }
    return opened;
  }
  void check_without_data() const override { Transformer::check(param().transform_param(), training()); }
  AssumedItem assumed_item(const std::string& source) const override {
    return assumed_image(source, param().transform_param());
  }

 private:
  /// False, too, where the first record is damaged: it is refused when it is read.
  static bool holds_raw_pixels(const RecordReader& reader) {
    std::string storage;
    std::vector<float> floats;
    try {
      return !parse_datum(reader.record(0, storage), floats).encoded;
    } catch (const Error&) {
      return false;
    }
  }
};

ROBUSTA_REGISTER_LAYER("Data", DataLayer);

}  // namespace
}  // namespace robusta
