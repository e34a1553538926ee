// A file that two threads want at once may be read twice; the first to be done keeps it.

#include "data/named_images.h"

#include "base/str.h"
#include "data/image_files.h"
#include "robusta/error.h"

namespace robusta {

void NamedImages::read(const NamedImage& image, std::string& bytes) const {
  try {
    read_image_file(root_ + image.path, bytes);
  } catch (const Error& error) {
    throw Error(error.kind(), root_ + image.path + ": " + error.cause(),
                "check the path; root_folder is put before it as it is, with no / between")
        .at(str(file_, ":", image.line));
  }
}

std::string_view NamedImages::bytes(size_t image, std::string& storage) const {
  if (!keep_) {
    read(images_[image], storage);
    return storage;
  }
  {
    const std::lock_guard lock(mutex_);
    if (kept_[image]) return *kept_[image];
  }
  auto bytes = std::make_unique<std::string>();
  read(images_[image], *bytes);
  const std::lock_guard lock(mutex_);
  if (!kept_[image]) kept_[image] = std::move(bytes);
  return *kept_[image];
}

}  // namespace robusta
