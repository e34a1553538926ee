// Transposition by blocks of whole cache lines.

#include "layers/kit/recurrent/host_machine.h"

namespace robusta {

void transpose(const float* from, int64_t rows, int64_t columns, float* to) {
  constexpr int64_t kBlock = 16;
  const int64_t blocks = (rows + kBlock - 1) / kBlock;
  parallel_for(blocks, 1 + (1 << 14) / (kBlock * columns), [=](int64_t block) {
    const int64_t first = block * kBlock, last = std::min(first + kBlock, rows);
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t r = first; r < last; ++r) to[c * rows + r] = from[r * columns + c];
    }
  });
}

}  // namespace robusta
