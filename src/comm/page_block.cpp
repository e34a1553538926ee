// Aligned to pages, as memory is pinned and shared page by page.

#include "comm/page_block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

std::shared_ptr<std::byte> allocate_pages(size_t bytes) {
  const size_t whole = whole_pages(std::max<size_t>(bytes, 1));
  void* memory = std::aligned_alloc(kPage, whole);
  if (!memory) {
    throw Error(ErrorKind::kMemory, str("no memory for ", bytes, " bytes of gradients"),
                "use a smaller net or fewer ranks per host");
  }
  std::memset(memory, 0, whole);
  return {static_cast<std::byte*>(memory), [](std::byte* block) { std::free(block); }};
}

}  // namespace robusta
