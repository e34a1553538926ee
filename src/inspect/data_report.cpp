// What lies at the path decides which of the reports is made.

#include "inspect/data_report.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "base/counted.h"
#include "base/excerpt.h"
#include "base/hash.h"
#include "base/input_file.h"
#include "base/input_text.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/str.h"
#include "data/annotated_datum.h"
#include "data/datum.h"
#include "data/error_of.h"
#include "data/hdf5_access.h"
#include "data/image_files.h"
#include "data/reader_kinds.h"
#include "inspect/picture_folder.h"
#include "inspect/record_counts.h"
#include "inspect/text_table.h"
#include "robusta/error.h"
#include "schema/blob_proto.h"
#include "schema/weights_file.h"
#include "solver/files/model_format.h"

namespace robusta {
namespace {

/// What is advised where memory does not suffice for a record.
constexpr char kSmallerFix[] = "write the database with smaller images";

enum class RecordForm { kDatum, kAnnotated, kImageFile };

/// A record on its way: read and decoded by any thread, counted in order.
struct ReportSlot {
  DecodeBuffers buffers;
  std::string storage;
  Pixels pixels;
  RecordFacts facts;
};

/// What is the picture of a record, as it is stored: pixels, or an image file.
std::string_view picture_bytes(const DatumView& datum, const std::vector<float>& floats) {
  if (!datum.data.empty() || floats.empty()) return datum.data;
  return {reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)};
}

/// Records are read and decoded on all threads, a block at a time, and counted in their order: the report does not
/// depend on the number of threads, and no more pictures than a block's are in memory.
class RecordReport {
 public:
  RecordReport(std::shared_ptr<const RecordReader> reader, RecordForm form, const DataReportOptions& options)
      : reader_(std::move(reader)), form_(form), options_(options) {
    if (!options.png.empty()) pictures_.emplace(options.png);
  }

  bool print(std::ostream& out) {
    constexpr int64_t kBlock = 64, kEvery = 100'000;
    std::vector<ReportSlot> block(kBlock);
    shown_.add({"record", "key", "size", form_ == RecordForm::kAnnotated ? "boxes" : "label", "stored as"});
    for (int64_t start = 0; start < reader_->size(); start += kBlock) {
      const int64_t count = std::min(kBlock, reader_->size() - start);
      parallel_for(count, 1, [&](int64_t i) { read(start + i, block[static_cast<size_t>(i)]); });
      for (int64_t i = 0; i < count; ++i) take(start + i, block[static_cast<size_t>(i)]);
      // Once for each kEvery records, though no block need end there.
      if (start / kEvery != (start + count) / kEvery) LOG_INFO << "Read " << start + count << " records.";
    }
    counts_.count_duplicates([&](int64_t index) { return payload(index); });
    if (options_.show > 0) shown_.print(out);
    counts_.print(out, form_ == RecordForm::kAnnotated);
    if (pictures_) out << "pictures written: " << pictures_->written() << " into " << options_.png << '\n';
    return counts_.broken() == 0;
  }

 private:
  void read(int64_t index, ReportSlot& slot) const {
    slot.facts = {};
    const auto error = error_of(
        [&] {
          const std::string_view record = reader_->record(index, slot.storage);
          form_ == RecordForm::kImageFile ? read_file(index, record, slot) : read_datum(record, slot);
        },
        kSmallerFix);
    if (error) slot.facts.failure = error->cause();
    if (error || index < options_.show) error_of([&] { slot.facts.key = reader_->key(index); }, kSmallerFix);
  }

  void read_file(int64_t index, std::string_view file, ReportSlot& slot) const {
    decode_image(file, ColorMode::kAsStored, slot.buffers.image);
    slot.pixels = slot.buffers.image.pixels();
    slot.facts.extent = slot.pixels.extent;
    slot.facts.encoded = true;
    slot.facts.label = static_cast<const ImageFilesReader&>(*reader_).label(index);
    slot.facts.hash = hash_bytes(file);
  }

  void read_datum(std::string_view record, ReportSlot& slot) const {
    if (form_ == RecordForm::kAnnotated) {
      const AnnotatedView view = parse_annotated_datum(record);
      slot.facts.boxes = static_cast<int64_t>(view.boxes.size());
      record = view.datum;
    }
    const DatumView datum = parse_datum(record, slot.buffers.floats);
    slot.pixels = decode_datum(datum, ColorMode::kAsStored, slot.buffers);
    slot.facts.extent = slot.pixels.extent;
    slot.facts.encoded = datum.encoded;
    slot.facts.floats = slot.pixels.floats != nullptr;
    slot.facts.label = datum.label;
    slot.facts.hash = hash_bytes(picture_bytes(datum, slot.buffers.floats));
  }

  /// The picture of a record that has been read before; its number, which is nobody's picture, where it cannot be read
  /// any more.
  std::string payload(int64_t index) const {
    std::string storage, bytes;
    const auto error = error_of(
        [&] {
          std::string_view record = reader_->record(index, storage);
          std::vector<float> floats;
          if (form_ == RecordForm::kAnnotated) record = parse_annotated_datum(record).datum;
          bytes = form_ == RecordForm::kImageFile ? record : picture_bytes(parse_datum(record, floats), floats);
        },
        kSmallerFix);
    return error ? std::to_string(index) : bytes;
  }

  void take(int64_t index, const ReportSlot& slot) {
    counts_.add(index, slot.facts);
    if (index >= options_.show) return;
    const RecordFacts& facts = slot.facts;
    const bool whole = facts.failure.empty();
    shown_.add({str(index), facts.key, whole ? facts.extent.str() : "broken",
                str(form_ == RecordForm::kAnnotated ? facts.boxes : facts.label),
                !whole          ? ""
                : facts.encoded ? "image file"
                : facts.floats  ? "floats"
                                : "bytes"});
    if (!whole || !pictures_) return;
    // Eight digits, so that the files of a folder sort as the records do.
    std::string number = std::to_string(index);
    number.insert(0, number.size() < 8 ? 8 - number.size() : 0, '0');
    pictures_->write(form_ == RecordForm::kAnnotated ? number : str(number, "_label", facts.label), slot.pixels);
  }

  std::shared_ptr<const RecordReader> reader_;
  RecordForm form_;
  const DataReportOptions& options_;
  std::optional<PictureFolder> pictures_;
  RecordCounts counts_;
  TextTable shown_;
};

/// A Datum begins with its channels, an AnnotatedDatum with a message: what one is to the other has no pixels.
RecordForm form_of(const RecordReader& reader) {
  std::string storage;
  const auto pixels_of = [](std::string_view record) {
    std::vector<float> floats;
    const DatumView datum = parse_datum(record, floats);
    return !datum.data.empty() || !floats.empty();
  };
  bool datum = false, annotated = false;
  error_of([&] { datum = pixels_of(reader.record(0, storage)); }, kSmallerFix);
  error_of([&] { annotated = pixels_of(parse_annotated_datum(reader.record(0, storage)).datum); }, kSmallerFix);
  return annotated && !datum ? RecordForm::kAnnotated : RecordForm::kDatum;
}

bool print_database(std::ostream& out, const std::string& path, const DataReportOptions& options) {
  for (const ReaderKind& kind : reader_kinds()) {
    if (!kind.recognises(path)) continue;
    const auto reader = kind.open(path);
    const RecordForm form = form_of(*reader);
    out << path << ": " << kind.called << " of " << (form == RecordForm::kAnnotated ? "AnnotatedDatum" : "Datum")
        << " records\n";
    return RecordReport(reader, form, options).print(out);
  }
  throw Error(ErrorKind::kData, "this folder holds neither an LMDB nor a LevelDB",
              "name the folder that convert_imageset has made")
      .at(path);
}

/// What there is to say of many numbers.
struct NumberRange {
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
  int64_t count = 0, not_finite = 0;

  void add(const float* values, int64_t many) {
    for (int64_t i = 0; i < many; ++i) {
      const double value = values[i];
      if (!std::isfinite(value)) {
        ++not_finite;
        continue;
      }
      least = std::min(least, value);
      most = std::max(most, value);
      sum += value;
      ++count;
    }
  }
  std::vector<std::string> words() const {
    if (count == 0) return {"-", "-", "-", str(not_finite)};
    return {str(least), str(most), str(sum / static_cast<double>(count)), str(not_finite)};
  }
};

std::vector<std::string> with_words(std::vector<std::string> words, const NumberRange& range) {
  const std::vector<std::string> more = range.words();
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Each dataset by itself: they need not have equally many rows for that.
bool print_hdf5_file(std::ostream& out, const std::string& path) {
  const std::vector<std::string> datasets = hdf5_access().datasets(path);
  out << path << ": an HDF5 file with " << counted(static_cast<int64_t>(datasets.size()), "dataset") << '\n';
  bool whole = true;
  TextTable table;
  table.add({"dataset", "rows", "shape of a row", "least", "most", "mean", "not finite"});
  for (const std::string& name : datasets) {
    const auto error = error_of(
        [&] {
          const auto rows = hdf5_access().open(path, {name});
          std::vector<float> row(static_cast<size_t>(rows->items()[0].count()));
          NumberRange range;
          for (int64_t i = 0; i < rows->rows(); ++i) {
            rows->read(i, row.data());
            range.add(row.data(), static_cast<int64_t>(row.size()));
          }
          table.add(with_words({name, str(rows->rows()), rows->items()[0].str()}, range));
        },
        kSmallerFix);
    if (!error) continue;
    whole = false;
    table.add({name, "broken: " + error->cause()});
  }
  table.print(out, "    ");
  return whole;
}

bool print_array(std::ostream& out, const std::string& path, const DataReportOptions& options) {
  const BlobData blob = read_array_file(path, "array or mean image");
  out << path << ": an array of shape " << Shape(blob.shape).str() << '\n';
  // A mean image is 1 x channels x height x width (mean.binaryproto), or lacks the 1; whatever else it is, is one row.
  std::vector<int64_t> shape = blob.shape;
  while (shape.size() > 3 && shape[0] == 1) shape.erase(shape.begin());
  if (shape.size() != 3 || blob.data.empty()) shape = {1, 1, static_cast<int64_t>(blob.data.size())};
  const int64_t plane = shape[1] * shape[2];
  TextTable table;
  table.add({"channel", "least", "most", "mean", "not finite"});
  // Rows that nobody would read are left out.
  for (int64_t c = 0; c < std::min<int64_t>(shape[0], 100); ++c) {
    NumberRange range;
    range.add(blob.data.data() + c * plane, plane);
    table.add(with_words({str(c)}, range));
  }
  table.print(out, "    ");
  if (options.png.empty() || blob.data.empty()) return true;
  PictureFolder pictures(options.png);
  pictures.write("mean", {{shape[0], shape[1], shape[2]}, nullptr, blob.data.data()});
  out << "pictures written: " << pictures.written() << " into " << options.png << '\n';
  return true;
}

/// The layers of a model with arrays; none where the file is no model.
std::vector<LayerWeights> layers_of_model(const std::string& path) {
  std::vector<LayerWeights> found;
  try {
    for (LayerWeights& layer : format_of_file(path).read_model(path).layers) {
      if (!layer.blobs.empty()) found.push_back(std::move(layer));
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kModel) throw;
  }
  return found;
}

void print_model(std::ostream& out, const std::string& path, const std::vector<LayerWeights>& layers) {
  out << path << ": weights of " << counted(static_cast<int64_t>(layers.size()), "layer") << '\n';
  TextTable table;
  table.add({"layer", "type", "array", "shape", "least", "most", "mean", "not finite"});
  for (const LayerWeights& layer : layers) {
    for (size_t index = 0; index < layer.blobs.size(); ++index) {
      const BlobData& blob = layer.blobs[index];
      NumberRange range;
      range.add(blob.data.data(), static_cast<int64_t>(blob.data.size()));
      const std::string type = layer.type.empty() ? "-" : layer.type;
      table.add(with_words({excerpt(layer.name), type, str(index), Shape(blob.shape).str()}, range));
    }
  }
  table.print(out, "    ");
}

std::string beginning_of(const std::string& path) {
  const InputFile file = open_input_file(path, ErrorKind::kData);
  std::string bytes(4096, '\0');
  const ssize_t count = ::pread(file.descriptor.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return bytes;
}

/// The signature of the HDF5 File Format Specification, section II.A.
bool is_hdf5(const std::string& beginning) { return beginning.starts_with("\x89HDF\r\n\x1a\n"); }

/// Text has no control characters but white space. A BlobProto has some among its tags and lengths.
bool is_binary(const std::string& beginning) {
  return std::ranges::any_of(beginning, [](char c) { return (c >= 0 && c < '\t') || (c > '\r' && c < ' '); });
}

bool print_list(std::ostream& out, const std::string& path, const std::string& beginning,
                const DataReportOptions& options) {
  // Lists of both kinds begin with a path: what lies there tells them apart.
  std::istringstream words(beginning);
  std::string first;
  words >> first;
  bool of_hdf5 = false;
  error_of([&] { of_hdf5 = is_hdf5(beginning_of(first)); }, "");
  if (!of_hdf5) {
    out << path << ": a list of images\n";
    return RecordReport(std::make_shared<ImageFilesReader>(path, options.root), RecordForm::kImageFile, options)
        .print(out);
  }
  std::istringstream files(read_input_text(path, ErrorKind::kData));
  bool whole = true;
  for (std::string file; files >> file;) whole = print_hdf5_file(out, file) && whole;
  return whole;
}

}  // namespace

bool print_data_report(std::ostream& out, const std::string& path, const DataReportOptions& options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return print_database(out, path, options);
  const std::string beginning = beginning_of(path);
  if (is_binary(beginning) || is_hdf5(beginning)) {
    // Messages do not say what they are: a model is one whose layers have arrays.
    if (const std::vector<LayerWeights> layers = layers_of_model(path); !layers.empty()) {
      print_model(out, path, layers);
      return true;
    }
  }
  if (is_hdf5(beginning)) return print_hdf5_file(out, path);
  if (is_binary(beginning)) return print_array(out, path, options);
  return print_list(out, path, beginning, options);
}

}  // namespace robusta
