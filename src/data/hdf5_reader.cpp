// A record's number to a file and a row in it.

#include "data/hdf5_reader.h"

#include <algorithm>
#include <sstream>

#include "base/input_text.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr size_t kMostOpen = 64;  // files; a process may have about 1000

}  // namespace

Hdf5Reader::Hdf5Reader(const std::string& list, std::vector<std::string> datasets)
    : list_(list), datasets_(std::move(datasets)) {
  hdf5_access();  // without HDF5 the list is of no use
  std::istringstream names(read_input_text(list, ErrorKind::kData));
  for (std::string file; names >> file;) look_at(file);
  if (files_.empty()) throw Error(ErrorKind::kData, "the list names no HDF5 file", "write one name per line").at(list);
  if (size() == 0) throw Error(ErrorKind::kData, "the files of the list hold no samples").at(list);
}

void Hdf5Reader::look_at(const std::string& file) {
  const std::unique_ptr<const Hdf5Rows> rows = hdf5_access().open(file, datasets_);
  if (files_.empty()) {
    items_ = rows->items();
    for (const Shape& item : items_) row_floats_ += item.count();
  }
  for (size_t i = 0; i < items_.size(); ++i) {
    if (rows->items()[i] == items_[i]) continue;
    throw Error(ErrorKind::kData,
                str("samples of dataset \"", datasets_[i], "\" are ", rows->items()[i].str(), ", those of ", files_[0],
                    " are ", items_[i].str()),
                "give all files of the list the same shapes")
        .at(file);
  }
  files_.push_back(file);
  int64_t end;
  if (__builtin_add_overflow(size(), rows->rows(), &end)) {
    throw Error(ErrorKind::kData, str("it claims ", rows->rows(), " samples"), "write the file anew").at(file);
  }
  starts_.push_back(end);
}

size_t Hdf5Reader::file_of(int64_t index) const {
  return static_cast<size_t>(std::ranges::upper_bound(starts_, index) - starts_.begin()) - 1;
}

std::string Hdf5Reader::key(int64_t index) const {
  const size_t file = file_of(index);
  return str("row ", index - starts_[file], " of ", files_[file]);
}

std::string_view Hdf5Reader::record(int64_t index, std::string& storage) const {
  const size_t file = file_of(index);
  storage.resize(static_cast<size_t>(row_floats_) * sizeof(float));
  open(file)->read(index - starts_[file], reinterpret_cast<float*>(storage.data()));
  return storage;
}

Hdf5Reader::RowsPtr Hdf5Reader::find_open(size_t file) const {
  const auto found = std::ranges::find(open_, file, &Open::file);
  if (found == open_.end()) return nullptr;
  std::rotate(open_.begin(), found, found + 1);
  return open_.front().rows;
}

Hdf5Reader::RowsPtr Hdf5Reader::open(size_t file) const {
  {
    const std::lock_guard lock(mutex_);
    if (RowsPtr rows = find_open(file)) return rows;
  }
  const RowsPtr rows = hdf5_access().open(files_[file], datasets_);
  if (rows->rows() != starts_[file + 1] - starts_[file] || rows->items() != items_) {
    throw Error(ErrorKind::kData, "the file has changed since training began").at(files_[file]);
  }
  RowsPtr closing;  // behind the lock
  const std::lock_guard lock(mutex_);
  if (RowsPtr others = find_open(file)) return others;
  if (open_.size() >= kMostOpen) {
    closing = std::move(open_.back().rows);
    open_.pop_back();
  }
  open_.insert(open_.begin(), {file, rows});
  return rows;
}

}  // namespace robusta
