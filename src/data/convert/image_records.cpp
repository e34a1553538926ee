// The caller writes while other threads read and convert.

#include "data/convert/image_records.h"

#include <omp.h>

#include "base/log.h"
#include "base/str.h"
#include "data/convert/files.h"
#include "data/convert/in_order.h"
#include "data/convert/progress.h"
#include "data/writer_kinds.h"

namespace robusta {
namespace {

constexpr size_t kMostWaiting = size_t{64} << 20;  // bytes of records

void require_size_of_first(const Extent& extent, const std::string& path, Extent& first) {
  if (first.count() == 0) first = extent;
  if (extent == first) return;
  throw Error(ErrorKind::kData, str(path, " is ", extent.str(), ", the first image is ", first.str()),
              "give --resize_height and --resize_width, or leave --check_size out");
}

size_t bytes_of(const ConvertedItem& item) { return sizeof item + item.record.capacity(); }

}  // namespace

ConvertedSet write_image_records(const std::vector<std::string>& paths, const RecordPlace& place,
                                 const std::function<ConvertedItem(size_t index)>& convert) {
  const auto writer = make_writer(place.backend, place.folder);
  const auto count = static_cast<int64_t>(paths.size());
  ConversionProgress progress(count);
  const auto make = [&](int64_t i) { return convert(static_cast<size_t>(i)); };
  InOrder<ConvertedItem> items({count, make, bytes_of}, omp_get_max_threads(), kMostWaiting);
  ConvertedSet result;
  Extent first;
  for (int64_t i = 0; i < count; ++i) {
    const ConvertedItem item = items.next();
    const std::string& path = paths[static_cast<size_t>(i)];
    if (item.fatal) throw *item.fatal;
    if (item.record.empty()) {
      LOG_ERROR << "skipped " << place.root << path << ": " << item.failure;
      ++result.skipped;
    } else {
      if (place.check_size) require_size_of_first(item.extent, path, first);
      writer->put(padded(i, 8) + "_" + path, item.record);
      ++result.written;
    }
    progress.show(i + 1, result.written);
  }
  if (result.written > 0) writer->finish();
  return result;
}

void refuse_unreadable(size_t count, const std::string& list, const std::string& root) {
  throw Error(ErrorKind::kData, str("none of the ", count, " images of ", list, " could be read"),
              "the root folder " + root + " is put before each path as it is: does it need a / at its end?");
}

}  // namespace robusta
