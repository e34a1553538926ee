// Concat and Slice as copies of bytes: a row of the whole is the rows of the pieces, one behind the other.

#include "layers/kit/pieces.h"

#include <cassert>
#include <cstring>

#include "base/parallel.h"

namespace robusta {
namespace {

constexpr int64_t kPieceGrain = 1 << 16;  // bytes for one thread

}  // namespace

Pieces::Pieces(const TensorDesc& whole, const std::vector<TensorDesc>& pieces, int axis)
    : outer_(whole.shape.count(0, axis)),
      whole_bytes_(static_cast<size_t>(whole.shape.count(axis)) * size_of(whole.dtype)) {
  size_t at = 0;
  for (const TensorDesc& piece : pieces) {
    at_.push_back(at);
    bytes_.push_back(static_cast<size_t>(piece.shape.count(axis)) * size_of(piece.dtype));
    at += bytes_.back();
  }
  assert(at == whole_bytes_);
}

/// move(row, piece) for all rows and pieces.
template <typename Move>
void Pieces::for_rows(const Move& move) const {
  const int64_t grain = kPieceGrain / static_cast<int64_t>(whole_bytes_ + 1) + 1;
  parallel_for(outer_, grain, [&](int64_t row) {
    for (size_t piece = 0; piece < bytes_.size(); ++piece) move(static_cast<size_t>(row), piece);
  });
}

void Pieces::join(std::span<const Tensor> pieces, const Tensor& whole) const {
  if (pieces.size() == 1 && pieces[0].data == whole.data) return;
  for_rows([&](size_t row, size_t k) {
    char* to = whole.as<char>() + row * whole_bytes_ + at_[k];
    if (pieces[k]) {
      std::memcpy(to, pieces[k].as<char>() + row * bytes_[k], bytes_[k]);
    } else {
      std::memset(to, 0, bytes_[k]);
    }
  });
}

void Pieces::cut(const Tensor& whole, std::span<const Tensor> pieces) const {
  if (pieces.size() == 1 && pieces[0].data == whole.data) return;
  for_rows([&](size_t row, size_t k) {
    if (pieces[k])
      std::memcpy(pieces[k].as<char>() + row * bytes_[k], whole.as<char>() + row * whole_bytes_ + at_[k], bytes_[k]);
  });
}

}  // namespace robusta
