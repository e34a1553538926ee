// Sizes are compared before anything is written.

#include "data/item_writer.h"

#include "base/philox.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

std::vector<Shape> ItemWriter::shapes(const Extent& item) const {
  const Extent out = transformer_.output(item);
  std::vector<Shape> shapes{{out.channels, out.height, out.width}};
  if (labels_) shapes.emplace_back();
  return shapes;
}

uint64_t ItemWriter::key(const Sample& sample) const {
  return random_key(transformer_.seed_or(sample.seed), layer_, "transform");
}

WantedPixels ItemWriter::wanted_pixels(const Sample& sample) const {
  return {wanted_size(), [this, &sample](const Extent& decoded, const Extent& image) {
            return transformer_.part_read(decoded, image, key(sample), sample.position);
          }};
}

void ItemWriter::write(const Pixels& item, int label, const Sample& sample, Batch& batch) const {
  write_image(item, sample, batch);
  if (labels_) batch.numbers(1)[sample.place] = static_cast<float>(label);
}

void ItemWriter::write_image(const Pixels& item, const Sample& sample, Batch& batch, Annotations* annotations) const {
  thread_local TransformMemory memory;
  const Extent out = transformer_.output(item.image());
  // What stands between the axis of samples and the last two are the picture's planes: channels, or those of frames.
  const Shape& shape = batch.layout.tops()[0];
  const int rows = shape.axes() - 2;
  const Extent wanted{shape.count(1, rows), shape[rows], shape[rows + 1]};
  if (out != wanted) {
    throw Error(ErrorKind::kData, str("it is ", out.str(), ", the first item of its batch is ", wanted.str()),
                "set crop_size, " + resizing_ + ", or take batch_size 1");
  }
  const int64_t at = sample.place * wanted.count();
  if (!batch.layout.pixels())
    return transformer_.run(item, key(sample), sample.position, memory, batch.numbers(0) + at, annotations);
  if (item.floats) {
    throw Error(ErrorKind::kData, "it holds floats, record 0 holds bytes",
                "write records of one kind, or train without -gpu");
  }
  batch.windows()[sample.place] =
      transformer_.cut(item, key(sample), sample.position, memory, batch.pixel_bytes() + at, annotations);
}

}  // namespace robusta
