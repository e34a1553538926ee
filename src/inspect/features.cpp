// Batch after batch; every output is written as it comes, and none appears under its name before the end (databases).

#include "inspect/features.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/log.h"
#include "base/nearest.h"
#include "base/str.h"
#include "data/convert/files.h"
#include "data/hdf5_access.h"
#include "data/writer_kinds.h"
#include "robusta/error.h"

namespace robusta {
namespace {

class FeatureWriter {
 public:
  virtual ~FeatureWriter() = default;
  virtual void add(const Shape& shape, const std::vector<float>& values) = 0;
  virtual void finish() {}
};

class DatabaseFeatures : public FeatureWriter {
 public:
  DatabaseFeatures(const std::string& backend, const std::string& folder) : writer_(make_writer(backend, folder)) {}

  void add(const Shape& shape, const std::vector<float>& values) override {
    const int64_t row = shape.count(1);
    caffe::Datum datum;
    const auto extent = [&](int axis) { return static_cast<int32_t>(axis < shape.axes() ? shape[axis] : 1); };
    const bool image_like = shape.axes() <= 4;
    datum.set_channels(image_like ? extent(1) : static_cast<int32_t>(row));
    datum.set_height(image_like ? extent(2) : 1);
    datum.set_width(image_like ? extent(3) : 1);
    for (int64_t sample = 0; sample < shape[0]; ++sample) {
      const float* begin = values.data() + sample * row;
      datum.mutable_float_data()->Assign(begin, begin + row);
      writer_->put(padded(writer_->size(), 10), datum.SerializeAsString());
    }
  }
  void finish() override { writer_->finish(); }

 private:
  std::unique_ptr<RecordWriter> writer_;
};

class Hdf5Features : public FeatureWriter {
 public:
  explicit Hdf5Features(const std::string& file) {
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(file, error)))
      throw Error(ErrorKind::kOutput, file + " exists already", "remove it first, or write under another name");
    appender_ = hdf5_access().create(file);
  }
  void add(const Shape& shape, const std::vector<float>& values) override {
    const TensorDesc desc{.shape = shape, .dtype = DType::kF32, .layout = {}};
    appender_->append("data", {desc, const_cast<float*>(values.data())});  // append only reads
  }

 private:
  std::unique_ptr<Hdf5Appender> appender_;
};

constexpr char kHdf5[] = "hdf5";

std::unique_ptr<FeatureWriter> make_feature_writer(const std::string& place, const std::string& format) {
  if (format == kHdf5) return std::make_unique<Hdf5Features>(place);
  return std::make_unique<DatabaseFeatures>(format, place);
}

void require_blob(const Net& net, const std::string& blob) {
  if (!net.blobs().has(blob)) {
    std::vector<std::string> names;
    for (const BlobVersion& version : net.graph().versions) names.push_back(version.name);
    throw Error(ErrorKind::kUsage, "the net has no blob \"" + blob + "\"" + did_you_mean(blob, names),
                "caffe summary shows the blobs of a net");
  }
  const Shape shape = net.blobs().shape(blob);
  if (shape.axes() == 0)
    throw Error(ErrorKind::kUsage, "blob \"" + blob + "\" is one number, not one for each sample", "name another one");
}

}  // namespace

void require_feature_format(const std::string& format) {
  if (format == kHdf5) return;
  try {
    require_writer(format);
  } catch (const Error& error) {
    throw Error(error.kind(), error.cause(), error.fix() + " or " + kHdf5);
  }
}

int64_t extract_features(Net& net, const std::vector<FeatureOutput>& outputs, int64_t batches,
                         const std::string& format) {
  for (const FeatureOutput& output : outputs) require_blob(net, output.blob);
  std::vector<std::unique_ptr<FeatureWriter>> writers;
  for (const FeatureOutput& output : outputs) writers.push_back(make_feature_writer(output.place, format));
  const auto batch = static_cast<uint64_t>(net.batch());
  int64_t samples = 0;
  for (int64_t i = 0; i < batches; ++i) {
    const uint64_t first = static_cast<uint64_t>(i) * batch;
    net.forward(
        {.seed = net.options().seed, .first_sample = first, .next_sample = first + batch, .batch = net.batch()});
    for (size_t k = 0; k < outputs.size(); ++k)
      writers[k]->add(net.blobs().shape(outputs[k].blob), net.blobs().read(outputs[k].blob));
    samples += net.batch();
    if (samples / 1000 != (samples - net.batch()) / 1000)
      LOG_INFO << "Extracted features of " << samples << " samples.";
  }
  for (const auto& writer : writers) writer->finish();
  return samples;
}

}  // namespace robusta
