/// Image files that lines of a window file name, read when they are asked for; kept in memory from then on, if wanted.
///
/// Filled by one thread, then asked by many.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace robusta {

class NamedImages {
 public:
  /// `root` is put before each path as it is.
  NamedImages(std::string file, std::string root, bool keep)
      : file_(std::move(file)), root_(std::move(root)), keep_(keep) {}

  void add(std::string path, int64_t line) {
    images_.push_back({std::move(path), line});
    if (keep_) kept_.emplace_back();
  }
  size_t size() const { return images_.size(); }
  /// As the file has it.
  const std::string& path(size_t image) const { return images_[image].path; }
  /// Its bytes, in `storage` unless they are kept. Throws Error{kData} at the line that names it.
  std::string_view bytes(size_t image, std::string& storage) const;

 private:
  struct NamedImage {
    std::string path;
    int64_t line = 0;
  };

  void read(const NamedImage& image, std::string& bytes) const;

  std::string file_, root_;
  bool keep_;  ///< read files stay in memory
  std::vector<NamedImage> images_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const std::string>> kept_;  // by image; never dropped
};

}  // namespace robusta
