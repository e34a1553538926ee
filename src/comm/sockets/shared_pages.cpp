// A file of memory (memfd_create(2)); others of this user open it by the descriptor's place in /proc.

#include "comm/sockets/shared_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "comm/page_block.h"

namespace robusta::sockets {
namespace {

PagesKey new_key() {
  uint64_t number = 0;
  [[maybe_unused]] const ssize_t got = getrandom(&number, sizeof number, 0);
  PagesKey key;
  key.pid = getpid();
  std::snprintf(key.name.data(), key.name.size(), "robusta.%016llx", static_cast<unsigned long long>(number));
  return key;
}

std::string place_of(const PagesKey& key) {
  return "/proc/" + std::to_string(key.pid) + "/fd/" + std::to_string(key.descriptor);
}

/// Whether that is what lies there: processes of other containers may have the same numbers.
bool is_there(const PagesKey& key) {
  std::array<char, 128> target{};
  const ssize_t length = readlink(place_of(key).c_str(), target.data(), target.size() - 1);
  return length > 0 && std::string(target.data()).starts_with("/memfd:" + std::string(key.name.data()));
}

}  // namespace

std::unique_ptr<SharedPages> SharedPages::make(size_t bytes) {
  std::unique_ptr<SharedPages> pages(new SharedPages);
  pages->key_ = new_key();
  pages->file_ = Descriptor(memfd_create(pages->key_.name.data(), MFD_CLOEXEC));
  pages->key_.descriptor = pages->file_.get();
  const auto size = static_cast<off_t>(std::max(whole_pages(bytes), kPage));
  // Taken now: a page that is not there when it is written ends the process without a word.
  if (!pages->file_.is_open() || posix_fallocate(pages->file_.get(), 0, size) != 0) return nullptr;
  return pages->map(bytes) ? std::move(pages) : nullptr;
}

std::unique_ptr<SharedPages> SharedPages::of(const PagesKey& key, size_t bytes) {
  if (key.descriptor < 0 || !is_there(key)) return nullptr;
  std::unique_ptr<SharedPages> pages(new SharedPages);
  pages->key_ = key;
  pages->file_ = Descriptor(open(place_of(key).c_str(), O_RDWR | O_CLOEXEC));
  if (!pages->file_.is_open() || !pages->map(bytes)) return nullptr;
  pages->close_door();
  return pages;
}

bool SharedPages::map(size_t bytes) {
  bytes_ = std::max(whole_pages(bytes), kPage);
  void* const mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (mapped == MAP_FAILED) return false;
  data_ = mapped;
  return true;
}

SharedPages::~SharedPages() {
  if (data_) munmap(data_, bytes_);
}

}  // namespace robusta::sockets
