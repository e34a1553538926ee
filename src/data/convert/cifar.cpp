// CIFAR-10's binary batches: records of a label and 3072 bytes.

#include "data/convert/cifar.h"

#include <vector>

#include "base/input_file.h"
#include "base/str.h"
#include "caffe.pb.h"
#include "data/convert/files.h"
#include "data/writer_kinds.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr int32_t kSide = 32, kColours = 3, kClasses = 10;
constexpr size_t kPixels = kSide * kSide * kColours, kRecord = 1 + kPixels;

/// Records of one file: a byte of label, then the planes.
void convert_file(const std::string& path, int64_t records, RecordWriter& writer) {
  const std::string file = read_input_file(path, ErrorKind::kData);
  const size_t wanted = static_cast<size_t>(records) * kRecord;
  if (file.size() != wanted) {
    throw Error(ErrorKind::kData, str(path, " has ", file.size(), " bytes instead of ", wanted),
                "fetch the binary version of CIFAR-10 again");
  }
  caffe::Datum datum;
  datum.set_channels(kColours);
  datum.set_height(kSide);
  datum.set_width(kSide);
  for (size_t at = 0; at < file.size(); at += kRecord) {
    const int label = static_cast<unsigned char>(file[at]);
    if (label >= kClasses)
      throw Error(ErrorKind::kData, str(path, " has label ", label, " at byte ", at), "fetch it again");
    datum.set_label(label);
    datum.set_data(file.data() + at + 1, kPixels);
    writer.put(padded(writer.size(), 5), datum.SerializeAsString());
  }
}

}  // namespace

void convert_cifar(const std::string& in_folder, const std::string& out_folder, const std::string& backend,
                   int64_t records_per_file) {
  const auto train = make_writer(backend, out_folder + "/cifar10_train_" + backend);
  const auto test = make_writer(backend, out_folder + "/cifar10_test_" + backend);
  for (int i = 1; i <= 5; ++i) convert_file(str(in_folder, "/data_batch_", i, ".bin"), records_per_file, *train);
  convert_file(in_folder + "/test_batch.bin", records_per_file, *test);
  train->finish();
  test->finish();
}

}  // namespace robusta
