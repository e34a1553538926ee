// Both images of a pair are drawn independently, as Caffe's example does; one may be drawn twice.

#include "data/convert/siamese.h"

#include "base/philox.h"
#include "caffe.pb.h"
#include "data/convert/files.h"
#include "data/convert/idx.h"
#include "data/convert/progress.h"
#include "data/writer_kinds.h"

namespace robusta {

int64_t convert_mnist_pairs(const std::string& image_file, const std::string& label_file, const std::string& folder,
                            uint64_t seed, const std::string& backend) {
  const IdxImages images = read_idx(image_file, label_file);
  const auto writer = make_writer(backend, folder);
  ConversionProgress progress(images.count);
  PhiloxStream random(random_key(seed, "convert_mnist_siamese_data", "pairs"));
  const auto item = static_cast<size_t>(images.rows * images.cols), count = static_cast<size_t>(images.count);
  caffe::Datum datum;
  datum.set_channels(2);
  datum.set_height(static_cast<int32_t>(images.rows));
  datum.set_width(static_cast<int32_t>(images.cols));
  for (int64_t i = 0; i < images.count; ++i) {
    const size_t first = random.below(count), second = random.below(count);
    datum.set_data(images.pixels.substr(first * item, item) + images.pixels.substr(second * item, item));
    datum.set_label(images.labels[first] == images.labels[second] ? 1 : 0);
    writer->put(padded(i, 8), datum.SerializeAsString());
    progress.show(i + 1);
  }
  writer->finish();
  return images.count;
}

}  // namespace robusta
