#include "data/datum_source.h"

#include "base/philox.h"
#include "base/str.h"
#include "data/datum.h"
#include "robusta/error.h"

namespace robusta {
namespace {

/// Of the thread that fills.
struct Workspace {
  DecodeBuffers buffers;
  std::string record;
};

Workspace& workspace() {
  thread_local Workspace memory;
  return memory;
}

Extent extent_of(const Shape& shape) { return {shape[1], shape[2], shape[3]}; }

}  // namespace

DatumSource::DatumSource(std::shared_ptr<const RecordReader> reader, Transformer transformer,
                         DatumSourceOptions options)
    : reader_(std::move(reader)), transformer_(std::move(transformer)), options_(std::move(options)) {}

Sampler DatumSource::sampler(uint64_t seed) const {
  return {reader_->size(), options_.shuffle, random_key(seed, options_.layer, "shuffle")};
}

/// Adds the record's name to what `body` throws.
template <typename Body>
auto DatumSource::naming(int64_t index, const Body& body) const {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(error.kind(), "record " + record_name(*reader_, index) + ": " + error.cause(), error.fix())
        .in_field(error.field());
  }
}

Extent DatumSource::extent(uint64_t seed, uint64_t position) const {
  const int64_t index = sampler(seed).index(position);
  Workspace& memory = workspace();
  const std::string_view record = reader_->record(index, memory.record);
  return naming(index, [&] {
    const DatumView datum = parse_datum(record, memory.buffers.floats);
    return transformer_.output(datum_extent(datum, transformer_.color_mode(), memory.buffers.floats.size()));
  });
}

/// Valid until this thread reads another record.
DatumView DatumSource::first() const {
  Workspace& memory = workspace();
  const std::string_view record = reader_->record(0, memory.record);
  return naming(0, [&] { return parse_datum(record, memory.buffers.floats); });
}

bool DatumSource::encoded() const { return first().encoded; }

bool DatumSource::has_pixels() const { return !first().data.empty(); }

std::string DatumSource::name(uint64_t seed, uint64_t position) const {
  return record_name(*reader_, sampler(seed).index(position));
}

void DatumSource::open(Batch& batch) const {
  const Extent item = extent(batch.plan.seed, batch.plan.first);
  batch.arrays.resize(options_.labels ? 2 : 1);
  const Shape shape{batch.plan.size, item.channels, item.height, item.width};
  if (options_.labels) batch.arrays[1].reset({batch.plan.size});
  if (!options_.pixels) return batch.arrays[0].reset(shape);
  batch.arrays[0].shape = shape;
  batch.pixels.bytes.resize(static_cast<size_t>(batch.plan.size * item.count()));
  batch.pixels.windows.resize(static_cast<size_t>(batch.plan.size));
}

/// Sample i of the batch.
void DatumSource::write(Batch& batch, int64_t i, const Pixels& item, const Extent& wanted, uint64_t key) const {
  const uint64_t position = batch.plan.first + static_cast<uint64_t>(i);
  const auto at = static_cast<size_t>(i * wanted.count());
  Image& resized = workspace().buffers.resized;
  if (!options_.pixels) return transformer_.run(item, key, position, resized, batch.arrays[0].values.data() + at);
  if (item.floats) {
    throw Error(ErrorKind::kData, "it holds floats, record 0 holds bytes",
                "write records of one kind, or train without -gpu");
  }
  PixelBatch& to = batch.pixels;
  to.windows[static_cast<size_t>(i)] = transformer_.cut(item, key, position, resized, to.bytes.data() + at);
}

void DatumSource::fill(Batch& batch, int64_t begin, int64_t end) const {
  const Sampler order = sampler(batch.plan.seed);
  const uint64_t key = random_key(transformer_.seed_or(batch.plan.seed), options_.layer, "transform");
  const Extent wanted = extent_of(batch.arrays[0].shape);
  Workspace& memory = workspace();
  for (int64_t i = begin; i < end; ++i) {
    const int64_t index = order.index(batch.plan.first + static_cast<uint64_t>(i));
    const std::string_view record = reader_->record(index, memory.record);
    naming(index, [&] {
      const DatumView datum = parse_datum(record, memory.buffers.floats);
      const Pixels item = decode_datum(datum, transformer_.color_mode(), memory.buffers);
      const Extent out = transformer_.output(item.extent);
      if (out != wanted) {
        throw Error(ErrorKind::kData, str("it is ", out.str(), ", the first item of its batch is ", wanted.str()),
                    "set crop_size, resize the images when the database is written, or take batch_size 1");
      }
      write(batch, i, item, wanted, key);
      if (options_.labels) batch.arrays[1].values[static_cast<size_t>(i)] = static_cast<float>(datum.label);
    });
  }
}

}  // namespace robusta
