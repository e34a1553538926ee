#include "layers/types/data/data.h"

#include <algorithm>

#include "base/hash.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/str.h"
#include "data/open_source.h"
#include "data/settings.h"
#include "layers/types/data/synthetic.h"

namespace robusta {
namespace {

constexpr uint32_t kMostPrefetch = 1000;

[[noreturn]] void wrong(const std::string& field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field("data_param." + field);
}

void check(const caffe::DataParameter& param) {
  if (param.source().empty()) wrong("source", "no source is given", "name the LMDB folder");
  if (param.batch_size() == 0) wrong("batch_size", "batch_size is 0", "set it to 1 or more");
  if (param.prefetch() > kMostPrefetch) {
    wrong("prefetch", str("prefetch ", param.prefetch(), " batches would fill the memory"),
          str("use at most ", kMostPrefetch));
  }
  if (param.side_size() > 0) {
    throw Error(ErrorKind::kUnsupported, "labels on a grid of sides are not done by this build")
        .in_field("data_param.side");
  }
}

template <typename T>
void copy_array(const BatchArray& from, const Tensor& to) {
  constexpr int64_t kGrain = 1 << 16;
  const float* in = from.values.data();
  T* out = to.as<T>();
  parallel_ranges(to.count(), kGrain,
                  [=](int64_t begin, int64_t end) { std::copy(in + begin, in + end, out + begin); });
}

}  // namespace

DataLayer::DataLayer(const caffe::LayerParameter& param) : SourceLayer(param), batch_(param.data_param().batch_size()) {
  check(param.data_param());
  if (data_settings().synthesize_missing && source_is_missing(param.data_param().source()))
    assume_extent();
  else
    open();
}

void DataLayer::open() {
  const caffe::DataParameter& data = param().data_param();
  const DataSettings& settings = data_settings();
  try {
    source_ = std::make_unique<DatumSource>(
        open_source(data.source(), data.backend()), Transformer(param().transform_param(), training()),
        DatumSourceOptions{name(), data.shuffle() || (settings.shuffle && training()), param().top_size() > 1});
    item_ = source_->extent(0, 0);
    if ((param().transform_param().force_color() || param().transform_param().force_gray()) && !source_->encoded()) {
      LOG_WARNING << "layer " << name() << ": force_color and force_gray do nothing to raw records";
    }
  } catch (Error& error) {
    throw error.in_field("data_param.source");
  }
  const int depth = std::max(1, static_cast<int>(data.prefetch()));
  prefetcher_ = std::make_unique<Prefetcher>(*source_, depth, data_threads(settings));
}

void DataLayer::assume_extent() {
  const AssumedExtent assumed = assume_item_extent(param());
  item_ = assumed.extent;
  LOG_INFO << "layer " << name() << ": " << param().data_param().source() << " does not exist; synthetic input of "
           << item_.str() << " takes its place (" << assumed.reason << ")";
}

std::vector<Shape> DataLayer::infer_tops(const std::vector<Shape>&) {
  const Shape data{batch_, item_.channels, item_.height, item_.width};
  check_extents(data);
  if (param().top_size() < 2) return {data};
  return {data, Shape{batch_}};
}

void DataLayer::set_batch(int64_t batch) {
  if (batch <= 0) throw Error(ErrorKind::kConfig, str("a batch of ", batch, " samples is impossible"), "use 1 or more");
  batch_ = batch;
}

/// Passes count in samples of the net's first source; a source with another batch size is at the same batch.
uint64_t DataLayer::own_position(uint64_t position, const Pass& pass) const {
  if ((pass.batch == batch_ && ranks_ == 1) || pass.batch <= 0) return position;
  return position / static_cast<uint64_t>(pass.batch) / ranks_ * static_cast<uint64_t>(batch_);
}

int64_t DataLayer::records() const { return synthetic() ? 0 : source_->reader().size() * static_cast<int64_t>(ranks_); }

uint64_t DataLayer::fingerprint() const {
  if (synthetic() || ranks_ > 1) return 0;
  constexpr int64_t kFirst = 16;
  const RecordReader& reader = source_->reader();
  std::string text = std::to_string(reader.size());
  for (int64_t i = 0; i < std::min(kFirst, reader.size()); ++i) text += '\n' + reader.key(i);
  return hash_bytes(text);
}

bool DataLayer::prepare(const Pass& pass) {
  last_pass_ = pass;
  if (synthetic()) return false;
  report_wraps(pass);
  ready_ = nullptr;
  ready_ = &prefetcher_->take({pass.seed, own_position(pass.first_sample, pass), batch_},
                              own_position(pass.next_sample, pass));
  const Shape& shape = ready_->arrays[0].shape;
  const Extent item{shape[1], shape[2], shape[3]};
  const bool changed = item != item_;
  item_ = item;
  return changed;
}

/// Caffe's own line, when the last record is used up.
void DataLayer::report_wraps(const Pass& pass) const {
  const uint64_t first = own_position(pass.first_sample, pass), next = own_position(pass.next_sample, pass);
  const uint64_t end = next > first ? next : first + static_cast<uint64_t>(batch_);
  const uint64_t count = static_cast<uint64_t>(source_->reader().size());
  if (end / count > first / count) LOG_INFO << "Restarting data prefetching from start.";
}

void DataLayer::fill(std::span<const Tensor> tops, const Pass& pass) {
  if (synthetic()) return fill_synthetic(tops, random_key(pass.seed, name(), "synthetic"));
  fill_floats(tops, 0);
}

/// `tops` are those from `first` on.
void DataLayer::fill_floats(std::span<const Tensor> tops, size_t first) const {
  for (size_t i = 0; i < tops.size(); ++i) {
    dispatch(tops[i].desc.dtype, [&](auto t) { copy_array<decltype(t)>(ready_->arrays[first + i], tops[i]); });
  }
}

void DataLayer::fill_pixels(PixelWindow* windows, uint8_t* bytes, std::span<const Tensor> others, const Pass&) {
  const PixelBatch& pixels = ready_->pixels;
  std::ranges::copy(pixels.windows, windows);
  parallel_ranges(static_cast<int64_t>(pixels.bytes.size()), int64_t{1} << 18, [&](int64_t begin, int64_t end) {
    std::copy(pixels.bytes.begin() + begin, pixels.bytes.begin() + end, bytes + begin);
  });
  fill_floats(others, 1);
}

std::optional<PixelForm> DataLayer::use_pixels(bool use) {
  use = use && !synthetic() && source_->has_pixels();
  if (use != as_pixels_) source_->set_pixels(use);
  as_pixels_ = use;
  if (!use) return std::nullopt;
  return source_->form();
}

std::string DataLayer::sample_key(uint64_t position) const {
  if (synthetic()) return "";
  return source_->name(last_pass_.seed, own_position(position, last_pass_));
}

ROBUSTA_REGISTER_LAYER("Data", DataLayer);

}  // namespace robusta
